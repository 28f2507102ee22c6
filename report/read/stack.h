/* SPDX-License-Identifier: MIT */
/*
 * stack.h - open calls: the live frames of shadow stacks (segment/FORMAT.md,
 * section 7).
 */
#ifndef HP_REPORT_READ_STACK_H
#define HP_REPORT_READ_STACK_H

#include "report/read/model.h"

struct hp_stack_call {
	uint64_t row;	/* offset of its hp_row */
	uint64_t function;	/* offset of its hp_function */
	struct hp_frame frame;
};

/* One machine stack of a thread, outermost call first. */
struct hp_stack {
	const struct hp_block *block;
	const struct hp_process *process;
	struct hp_stack_call *calls;
	size_t count;	/* not 0 */
};

typedef void (*hp_stack_see)(void *context, const struct hp_stack *stack);

/* Calls `show` for each. The model must know all records. */
void hp_stacks_each(struct hp_model *model, hp_stack_see see, void *context);

#endif
