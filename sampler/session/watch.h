/* SPDX-License-Identifier: MIT */
/*
 * watch.h - cost of the session's threads, measured from outside.
 *
 * Each scan walks /proc/PID/task of every member and writes struct hp_watch and
 * its rows.  A scan may cost 0.1 % of a core on average, so its own cost
 * determines the time to the next one: 250 ms with ten threads, seconds with thousands.
 *
 * Rows of ended threads are kept, up to HP_WATCH_ENDED; then the oldest is
 * added to another ended one of the same name and executable, or, if there is
 * none, to the row `<other>`, and its place is used for the next new thread.
 */
#ifndef HP_SAMPLER_SESSION_WATCH_H
#define HP_SAMPLER_SESSION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/session/member.h"
#include "sampler/session/size.h"

#define HP_WATCH_ENDED 256
#define HP_WATCH_FOLDED 65536	/* ids that are kept of threads in others' rows */

struct hp_watch_thread;

struct hp_watcher {
	const struct hp_segment *segment;
	const struct hp_members *members;
	struct hp_watch *area;	/* the first; NULL = the segment is full */
	struct hp_sizes sizes;
	struct hp_watch *newest;	/* the one with room */
	uint32_t newest_count;	/* its rows, where no member can write it */
	uint32_t newest_capacity;
	struct hp_watch_thread *other;	/* `<other>`, made when needed */
	struct hp_watch_thread *threads;	/* open addressing by tid */
	uint32_t room;	/* slots of it, a power of two */
	uint32_t count;
	uint32_t ended;
	struct hp_watch_folded *folded;	/* the newest chunk; */
	uint32_t folded_count;	/* its ids, where no member can write it; */
	uint32_t folded_all;	/* of all chunks */
	uint32_t fds;	/* descriptors of threads kept open */
	uint32_t fds_most;
	uint32_t interval_ms;	/* wished, the least */
	bool has_schedstat;	/* it is in the kernel */
	uint64_t sampling;	/* offset of hp_sampling, for the area; 0 = none */
	uint64_t busy_ns;	/* CPU time of all threads, by their scans, */
	uint64_t switches;	/* and their time slices */
	bool has_threads;	/* false: only sizes and CPU of processes are recorded, */
	bool counts_threads;	/* with the sums of threads' CPU time and slices, or without */
};

/* What is wanted about threads. */
struct hp_watch_wish {
	bool rows;	/* one for each */
	bool sums;	/* of CPU time and time slices; rows have them, too */
};

void hp_watcher_init(struct hp_watcher *watcher, const struct hp_segment *segment,
		     const struct hp_members *members, uint32_t interval_ms,
		     struct hp_watch_wish wish);

/* One scan. Returns how many ms later the next one is due. */
uint32_t hp_watcher_look(struct hp_watcher *watcher);

#endif
