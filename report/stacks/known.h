/* SPDX-License-Identifier: MIT */
/*
 * known.h - hotpath's records on a running process: its threads' waits, and the
 * locks they hold.
 */
#ifndef HP_REPORT_STACKS_KNOWN_H
#define HP_REPORT_STACKS_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/stacks/process.h"

struct hp_stack_known_wait {
	const char *object;	/* the lock's name */
	const char *kind;	/* "mutex" */
	uint64_t since_ns;	/* duration so far */
	uint32_t holder;	/* tid; 0 = not known */
	char *holder_at;	/* where that thread acquired it; NULL = unknown */
	char *path;	/* this thread's wait path, innermost first */
	size_t cycle;	/* number of threads in the wait cycle; 0 = none */
};

struct hp_stack_known_hold {
	const char *object;
	const char *kind;
	char *at;	/* where it was acquired */
	uint64_t since_ns;	/* 0 = not known */
};

struct hp_stack_known_thread {
	uint32_t tid;
	bool is_waiting;
	struct hp_stack_known_wait wait;
	struct hp_stack_known_hold *holds;
	size_t hold_count;
	size_t hold_room;
};

struct hp_stack_known;

/* NULL = the process is in no session. */
struct hp_stack_known *hp_stack_known_new(const struct hp_stack_process *process);
void hp_stack_known_free(struct hp_stack_known *recorded);

/* NULL = nothing known about that thread. Unordered. */
const struct hp_stack_known_thread *hp_stack_known_thread(const struct hp_stack_known *recorded,
							  uint32_t tid);
const struct hp_stack_known_thread *hp_stack_known_threads(const struct hp_stack_known *recorded,
							   size_t *count);

/* CLOCK_MONOTONIC_RAW: the end of all durations. */
uint64_t hp_stack_known_ns(const struct hp_stack_known *recorded);

/* A line for each deadlock, after "note ". */
void hp_stack_known_deadlocks(struct hp_stack_known *recorded, FILE *out);

#endif
