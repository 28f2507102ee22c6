/* SPDX-License-Identifier: MIT */
/*
 * birth.h - records a thread's creator, start, end and function.
 */
#ifndef HP_PRELOAD_HOOK_BIRTH_H
#define HP_PRELOAD_HOOK_BIRTH_H

#include <stdint.h>

#include "preload/future/future.h"
#include "preload/guest/above.h"
#include "preload/guest/free_list.h"

struct hp_thread;

extern const struct hp_recorder hp_thread_recorder;

/*
 * What its creator passes to a thread, in our own memory: other processes write to the segment, too.
 * The next thread gets it.
 */
struct hp_birth {
	struct hp_thread *thread;
	uintptr_t routine;
	void *argument;
	struct hp_object_flight flight;	/* as a future */
	struct hp_free_node ended;
};

/* A thread is being created at `at` to run `routine`; NULL = not recorded. */
struct hp_birth *hp_birth(uintptr_t routine, void *argument, uintptr_t at);

/* Runs first in the thread; returns its argument. */
void *hp_birth_begin(struct hp_birth *birth);

/* Threads without a record are counted, so that the report can mention them. */
void hp_birth_more(uintptr_t at);

/* The thread was not created after all. */
void hp_birth_failed(struct hp_birth *birth);

/*
 * Before fork(), and in its child before that continues, with the result: the child belongs to
 * the session even if it never calls us.
 */
uint64_t hp_birth_forks(void);
void hp_birth_forked(uint64_t forks);

#endif
