/* SPDX-License-Identifier: MIT */
/*
 * truth.c - sums and durations of the build that judges its own estimates.
 *
 * HOTPATH_TRUTH_PATH names a file; at the process's end it gets
 *
 *   "function" address calls outer_ticks self_ticks     a line for each function
 *   "tick_ns" nanoseconds                               one line
 *
 * and FILE.log the last durations of all calls, pairs of uint64_t {address, ticks}.
 */
#include "preload/call/truth.h"

#ifdef HP_TRUTH

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/call/row.h"
#include "preload/guest/self.h"
#include "segment/clock.h"
#include "segment/layout/process.h"

#define HP_TRUTH_CALLS (UINT64_C(1) << 22)

/* In a mirror of the segment, at the place of its function. */
struct truth {
	uint64_t fn;
	uint64_t calls;
	int64_t outer;	/* ticks */
	int64_t self;
};

struct truth_call {
	uint64_t fn;
	uint64_t ticks;
};

static char *mirror;
static struct truth_call *calls;
static _Atomic uint64_t call_count;

static bool prepare(void)
{
	static _Atomic int once;
	int expected = 0;

	if (atomic_compare_exchange_strong(&once, &expected, 1)) {
		calls = mmap(NULL, HP_TRUTH_CALLS * sizeof(*calls), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		mirror = mmap(NULL, hp_segment.size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	return mirror && mirror != MAP_FAILED && calls != MAP_FAILED;
}

void hp_truth_enter(struct hp_local *me, struct hp_frame *f, uint64_t start)
{
	(void)me;
	f->reserved[0] = start;
	f->tally = 0;	/* its callees' time; no allocations are recorded in such a run */
}

/* The time of a counted call around nothing: unlike a sampled one, the processor predicts it. */
static int64_t inside;
static int64_t nothing_ticks;
static int64_t nothing_calls;

void hp_truth_settle(void)
{
	inside = nothing_calls ? nothing_ticks / nothing_calls : 0;
}

static void log_call(uint64_t fn, uint64_t ticks)
{
	uint64_t at = atomic_fetch_add_explicit(&call_count, 1, memory_order_relaxed);

	calls[at % HP_TRUTH_CALLS] = (struct truth_call){ fn, ticks };
}

void hp_truth_leave(struct hp_local *me, struct hp_frame *f, int64_t ticks)
{
	struct hp_row *row = (struct hp_row *)(uintptr_t)f->row;
	struct hp_function *function = hp_row_function(me, row);
	struct truth *truth;

	/* During calibration, no segment follows the records; a good time to prepare. */
	if (!prepare() || me->base != (char *)hp_segment.header) {
		static char room[sizeof(struct truth)];

		truth = (struct truth *)room;
		if (f->weight == 0) {
			nothing_calls++;
			nothing_ticks += ticks;
		} else {
			nothing_calls = nothing_ticks = 0;
		}
	} else {
		ticks -= f->weight == 0 ? inside : 0;
		truth = (struct truth *)(mirror + ((char *)function - me->base));
		log_call(row->fn, ticks > 0 ? (uint64_t)ticks : 1);
	}
	truth->fn = row->fn;
	truth->calls++;
	truth->self += ticks - (int64_t)f->tally;
	if (hp_row_gist(row)->active == 1)
		truth->outer += ticks;
	f[-1].tally += (uint64_t)ticks;
}

static void dump_functions(FILE *out)
{
	uint64_t process = atomic_load(&hp_segment.header->processes);
	struct hp_process *p = hp_segment_at(&hp_segment, process, sizeof(*p));
	uint64_t block = p ? atomic_load(&p->blocks) : 0;

	while (block) {
		struct hp_block *b = hp_segment_at(&hp_segment, block, sizeof(*b));
		uint64_t at = atomic_load(&b->functions);

		while (at) {
			struct truth *t = (struct truth *)(mirror + at);

			if (t->calls)
				fprintf(out, "function %#lx %lu %ld %ld\n", (unsigned long)t->fn,
					(unsigned long)t->calls, (long)t->outer, (long)t->self);
			at = ((struct hp_function *)hp_segment_at(&hp_segment, at, 64))->next;
		}
		block = b->next;
	}
}

static void dump_log(const char *path)
{
	char name[4096];
	uint64_t count = atomic_load(&call_count);
	FILE *out;

	snprintf(name, sizeof(name), "%s.log", path);
	out = fopen(name, "w");
	if (!out)
		return;
	fwrite(calls, sizeof(*calls), count < HP_TRUTH_CALLS ? count : HP_TRUTH_CALLS, out);
	fclose(out);
}

static __attribute__((destructor)) void dump(void)
{
	const char *path = getenv("HOTPATH_TRUTH_PATH");
	struct hp_moment now;
	FILE *out;

	if (!path || !hp_segment.header || !prepare())
		return;
	out = fopen(path, "w");
	if (!out)
		return;
	now = hp_clock_moment(hp_segment.header->clock_kind);
	dump_functions(out);
	fprintf(out, "tick_ns %.9f\n",
		(double)(now.ns - hp_segment.header->start.ns) /
			(double)(now.ticks - hp_segment.header->start.ticks));
	fclose(out);
	dump_log(path);
}

#endif

/* ISO C requires a declaration in every file. */
typedef int hp_truth_unused;
