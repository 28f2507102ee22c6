/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - the current stacks of all threads of a process: taken, unwound,
 * named, and merged if equal.
 *
 * Stacks are equal if all callers are at the same places and the innermost
 * functions are the same. Frames of our own library are omitted.
 */
#ifndef HP_REPORT_STACKS_STACKS_H
#define HP_REPORT_STACKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/name/frame.h"
#include "report/stacks/process.h"
#include "report/stacks/known.h"
#include "report/stacks/take.h"
#include "report/stacks/unwind.h"

/* A displayed function: an inlined one, or the frame's own. */
struct hp_stack_line {
	const char *function;	/* never NULL */
	const char *file;	/* NULL = not known */
	int line;
	uint32_t frame;	/* place in the stack's frames */
	bool is_inlined;
};

/* Equal stacks. */
struct hp_stack_group {
	uint32_t *threads;	/* places in take.threads */
	size_t count;
	struct hp_stack_line *lines;	/* innermost first; empty: unknown */
	size_t line_count;
	size_t common;	/* number of outer lines shared with the previous group */
};

struct hp_stacks {
	struct hp_stack_process process;
	struct hp_take take;
	struct hp_stack *stacks;	/* beside take.threads */
	struct hp_model model;	/* has the process's objects, for names */
	struct hp_symbols *symbols;
	struct hp_frames *frames;
	struct hp_stack_group *groups;
	size_t group_count;
	struct hp_stack_known *recorded;	/* hotpath's records on the process; NULL = none */
	uint64_t still_median_ns;
	uint64_t still_longest_ns;
	size_t taken;	/* threads whose stacks are here, */
	size_t busy;	/* threads that did not stop, */
	size_t refused;	/* threads without permission */
};

/*
 * `started`: start time of the process that is meant, field 22 of /proc/PID/stat; 0 = whichever has
 * the pid. Returns 0, or -errno with *why set to a static text (perhaps NULL). Then the
 * stacks are missing, but recorded data may exist.
 */
int hp_stacks_init(struct hp_stacks *stacks, pid_t pid, uint64_t started, const char **why);
void hp_stacks_release(struct hp_stacks *stacks);

/* merge.c */

/* The object that a frame is in; NULL = none. */
const struct hp_stack_object *hp_stacks_object(const struct hp_stacks *stacks,
					       const struct hp_stack_frame *frame);

/* The frames of a group's first thread. */
const struct hp_stack *hp_stacks_first(const struct hp_stacks *stacks,
				       const struct hp_stack_group *group);

void hp_stacks_merge(struct hp_stacks *stacks);
void hp_stacks_unmerge(struct hp_stacks *stacks);

struct hp_stacks_look {
	size_t width;	/* columns */
	size_t groups_most;	/* 0 = all */
	size_t lines_most;	/* of a group; 0 = all, including those that every thread has */
};

/* text.c, json.c */
void hp_stacks_write(struct hp_stacks *stacks, const struct hp_stacks_look *look, FILE *out);
void hp_stacks_write_json(struct hp_stacks *stacks, bool is_pretty, FILE *out);

/* Without stacks: prints the recorded data. */
void hp_stacks_write_recorded(const struct hp_stacks *stacks, FILE *out);
void hp_stacks_write_json_error(const struct hp_stacks *stacks, pid_t pid, const char *error,
				FILE *out);

/* True if a thread's recorded wait matches its stack. */
bool hp_stacks_is_waiting(const struct hp_stacks *stacks, const struct hp_taken *thread);

#endif
