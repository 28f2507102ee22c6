/* SPDX-License-Identifier: MIT */
/*
 * owner.h - the owner of a sample or a wait: the function of the program, and its callee.
 *
 * The owner is the innermost function of the program's own code.  Code below it, in
 * the C and C++ libraries and in the kernel, is shown as the owner's callee.  If
 * the program's file has no names, the innermost named function of another library
 * owns the time; if there is none, the file does.  What OpenMP's own threads do between
 * the program's loops is its library's.
 */
#ifndef HP_REPORT_SECTION_ANSWER_OWNER_H
#define HP_REPORT_SECTION_ANSWER_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "report/section/cpu/cpu.h"

struct hp_owner {
	uint32_t function;	/* place in hp_cpu.functions; HP_NONE = no code of the program was on the stack */
	uint32_t frame;	/* where it was: place in hp_cpu.frames; HP_NONE = as above */
	uint32_t callee;	/* its callee outside the program's code; HP_NONE = none */
	uint32_t entry;	/* the kernel's entry function; HP_NONE = none */
	bool is_join;	/* waits for the end of a thread */
	bool is_start;	/* nobody's: a program that is starting or ending */
	bool is_sync;	/* flushes data to the disk */
	uint32_t depth;	/* how often the owner is on the stack, at most 1000 */
};

/* Classes of functions, and the owners of all stacks of the model; [0] owns nothing. */
struct hp_owners {
	struct hp_owner *of_stack;
	size_t count;
};

/* Made on first request; lives as long as the report. */
const struct hp_owners *hp_owners_of(struct hp_report *report);

/* True for a function with a name, not only a file. */
bool hp_owner_is_named(const struct hp_report *report, uint32_t function);

/* True if a function is code of the kernel. */
bool hp_owner_is_kernel(const struct hp_report *report, uint32_t function);

/* True for a file of the program itself: neither a library of the system nor the kernel. */
bool hp_owner_is_program(const struct hp_report *report, uint32_t object);

/* "read", "page faults": the kernel's work, by its function `entry`; fresh. */
char *hp_owner_entry_text(const struct hp_report *report, uint32_t entry);

#endif
