/* SPDX-License-Identifier: MIT */
/*
 * unwind.h - unwinds a copied stack through libunwind's remote interface.
 *
 * libunwind is loaded on first use, and only by this command: it must not get
 * into the target, and other commands do not need it.
 */
#ifndef HP_REPORT_STACKS_UNWIND_H
#define HP_REPORT_STACKS_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/stacks/process.h"
#include "report/stacks/take.h"

#define HP_STACK_FRAMES_MAX 20000	/* of one stack */

struct hp_stack_frame {
	uint64_t pc;
	uint64_t sp;
	bool is_exact;	/* pc is the next instruction, not a return address */
	bool is_signal;	/* the kernel's frame for a signal handler */
};

enum hp_stack_end {
	HP_STACK_WHOLE = 0,	/* complete up to the thread's first function */
	HP_STACK_CUT,	/* needs a part that was not copied: `missing` */
	HP_STACK_LOST,	/* no information for the next step */
	HP_STACK_DEEP,	/* more than HP_STACK_FRAMES_MAX */
};

struct hp_stack {
	struct hp_stack_frame *frames;	/* the innermost first */
	size_t count;
	size_t room;
	enum hp_stack_end end;
	uint64_t missing;
};

struct hp_unwinder;

/* NULL = libunwind is unavailable; sets *why, a static text. */
struct hp_unwinder *hp_unwinder_new(struct hp_stack_process *process, const char **why);
void hp_unwinder_free(struct hp_unwinder *unwinder);

/* Fills an empty stack. */
void hp_unwind(struct hp_unwinder *unwinder, const struct hp_taken *thread, struct hp_stack *stack);
void hp_stack_release(struct hp_stack *stack);

#endif
