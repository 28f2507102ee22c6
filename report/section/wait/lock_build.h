/* SPDX-License-Identifier: MIT */
/*
 * lock_build.h - shared by the files that make a struct hp_locks of a segment.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_BUILD_H
#define HP_REPORT_SECTION_WAIT_LOCK_BUILD_H

#include "report/section/wait/lock.h"
#include "report/base/map.h"

struct hp_process;

/* The code's place in a process that still has it. */
struct hp_lock_module {
	uint64_t offset;	/* of its record */
	uint64_t begin;
	uint64_t end;
	uint64_t bias;
};

struct hp_lock_build {
	struct hp_model *model;
	struct hp_locks *locks;
	struct hp_map sets;	/* offsets of the locksets that were read */
	struct hp_map rows;	/* offset of a hp_lock -> place + 1 */
	struct hp_map same;	/* its identity -> place + 1 */
	struct hp_map uses;	/* offset of a hp_use -> place of its lock + 1 */
	struct hp_map objects;	/* offset of a hp_object -> place in model->objects, or HP_NONE */
	uint32_t waiter;	/* number of the one being read, from 1 */
	const struct hp_process *process;	/* of that one */
	size_t room;
	size_t contest_room;
	size_t hold_room;
	size_t span_room;
	size_t wait_room;
	size_t order_room;
	size_t thread_room;
	size_t party_room;
	size_t poster_room;
	size_t birth_room;
	uint64_t modules_at;	/* the list that is in `modules` */
	struct hp_lock_module *modules;
	size_t module_count;
	size_t module_room;
};

static inline uint64_t hp_lock_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- lock_build.c --- */

/* An address in a module of the segment, by its object. */
struct hp_lock_place hp_lock_build_place(struct hp_lock_build *b, uint64_t module,
					 uint64_t address);

/* A plain address of a running process, in one of its modules. */
struct hp_lock_place hp_lock_build_plain(struct hp_lock_build *b, uint64_t modules,
					 uint64_t address);

/* Place in locks->paths of the path that ends with this step; HP_NONE = not known. */
uint32_t hp_lock_build_path(struct hp_lock_build *b, uint32_t step);

/* Place + 1 of an equal row, which is created if none exists: a copy, whose label is taken over. */
uint32_t hp_lock_build_row(struct hp_lock_build *b, const struct hp_lock_row *row);

/* Place of an equal row, HP_NONE = none exists. */
uint32_t hp_lock_build_find(const struct hp_lock_build *b, const struct hp_lock_row *row);

/* Adds a thread's use of locks to their rows. */
void hp_lock_read_uses(struct hp_lock_build *b, const struct hp_waiter *waiter);

/* --- waiter.c: the lists that begin at an offset --- */

void hp_lock_read_waiters(struct hp_lock_build *b, uint64_t at, uint64_t modules);
void hp_lock_read_births(struct hp_lock_build *b, uint64_t at, uint64_t modules);

/* --- span.c: of the waiter at that offset, whose uses were read --- */

void hp_lock_read_spans(struct hp_lock_build *b, const struct hp_waiter *waiter, uint64_t at,
			uint64_t modules);

/* --- lock_fold.c --- */

/* Rows of one place become one; each pair of an order is kept once, sorted. */
void hp_lock_fold(struct hp_lock_build *b);

#endif
