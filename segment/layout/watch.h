/* SPDX-License-Identifier: MIT */
/*
 * watch.h - threads as the sampler sees them from outside: threads, sizes.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_WATCH_H
#define HP_SEGMENT_LAYOUT_WATCH_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/*
 * The sampler's observations of threads.  Written by the sampler only; a row of
 * an ended thread folds into the row of its name once there are many.
 *
 * No seq.h: each word is valid on its own. A row is given to another thread when more than
 * HP_WATCH_ENDED have ended; a concurrent reader sees some of both, for one refresh.
 */
struct hp_watch {
	uint64_t next;	/* sampler: further hp_watch, 0 = none */
	uint32_t interval_ms;	/* sampler: current time between scans */
	uint32_t count;	/* sampler: rows in use below */
	uint32_t capacity;	/* set once */
	uint32_t sizes;	/* sampler: offset / HP_LINE of hp_size_line; 0 = none */
	uint64_t looks;	/* sampler: number of scans so far */
	uint64_t rss_kb;	/* sampler: resident size of all live members, last scan */
	uint64_t rss_peak_kb;	/* sampler: VmHWM of the root, last scan */
	uint64_t root_cpu_ns;	/* sampler: CPU of the root process, last scan */
	uint64_t sampling;	/* sampler: offset of hp_sampling; 0 = nobody requested it */
};

/* Total size of all processes of the session over time. */
struct hp_size_point {
	uint64_t ns;	/* CLOCK_MONOTONIC_RAW */
	uint64_t rss_kb;
};

/* When it is full, every second point is dropped, and `every` doubles. */
struct hp_size_line {
	uint32_t capacity;	/* set once */
	uint32_t count;	/* sampler: points in use */
	uint32_t every;	/* sampler: scans for one point */
	uint32_t looks;	/* sampler: so far */
	uint64_t live;	/* sampler: offset of `capacity` u64 beside `points`: bytes of blocks; 0 = none */
	uint32_t descriptors;	/* sampler: open in all live members, last scan; 0 = unknown */
	uint32_t descriptors_most;	/* sampler: the most in one scan */
	uint64_t reserved[4];
	struct hp_size_point
		points[];	/* sampler: in order of time; one that is not later must be skipped */
};

struct hp_watch_row {	/* follows struct hp_watch */
	uint32_t tid;	/* sampler */
	uint32_t pid;	/* sampler */
	char name[20];	/* sampler: 0-terminated */
	char state;	/* sampler: letter of /proc/PID/stat; 'x' = exited */
	char reserved0[3];
	uint64_t first_ns;	/* sampler: CLOCK_MONOTONIC_RAW when it began, or was first seen if that was before us */
	uint64_t seen_ns;	/* sampler: when last seen */
	uint64_t cpu_ns;	/* sampler: on a CPU, at seen_ns (schedstat where there is one) */
	uint64_t first_cpu_ns;	/* sampler: the same at first_ns */
	uint64_t wait_ns;	/* sampler: runnable without a CPU, at seen_ns */
	uint32_t percent_last;	/* sampler: of one core between the last two scans, tenths */
	uint32_t percent_max;	/* sampler: highest of these, tenths; UINT32_MAX = never known */
	uint32_t folded;	/* sampler: further ended threads of this name included here */
	uint32_t is_member;	/* sampler: 0 = process without our library */
	uint64_t start_time;	/* sampler: field 22 of stat; tells a reused tid */
	uint64_t user_ns;	/* sampler: fields 14 and 15 of stat, as coarse as the kernel has them */
	uint64_t system_ns;
	uint64_t reserved[2];
};

struct hp_watch_id {
	uint32_t tid;
	uint32_t pid;
};

/*
 * Which threads are folded into rows of others, so that a reader can tell them from those that were
 * never scanned. Complete if there are as many as the rows have.
 */
struct hp_watch_folded {
	uint64_t next;	/* sampler: the chunk before, 0 = none */
	uint32_t count;	/* sampler: in use below */
	uint32_t capacity;	/* set once */
	uint64_t reserved[6];
	struct hp_watch_id ids[];
};

static_assert(sizeof(struct hp_watch_folded) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_watch) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_size_line) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_watch_row) == 128, "format: readers rely on it");

#endif
