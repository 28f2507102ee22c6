/* SPDX-License-Identifier: MIT */
/*
 * cache_part.h - private to the files of cache.h: cache.c takes requests,
 * cache_work.c answers them.
 */
#ifndef HP_LIVE_CACHE_CACHE_PART_H
#define HP_LIVE_CACHE_CACHE_PART_H

#include <pthread.h>

#include "live/answer/report_snapshot.h"
#include "live/cache/cache_entry.h"

/* Limit of waiting for names for one-time requests */
#define HP_NAMES_WHOLE_NS UINT64_C(3000000000)

/* A timed request. */
struct hp_job {
	struct hp_job *next;
	struct hp_request request;
	struct hp_client client;
	uint64_t due_ns;	/* 0 = not started */
	uint64_t until_ns;	/* end of waiting for names; 0 = not waiting yet */
	void *begun;
};

/*
 * Only the worker uses the snapshot; the lock guards everything else and is never
 * held while reading or rendering.
 */
struct hp_cache {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t worker;
	bool is_over;
	struct hp_cache_entries entries;
	struct hp_job *jobs;
	size_t job_count;
	uint64_t asked_ns;
	struct hp_snapshot snapshot;	/* the worker's */
	uint64_t snapshot_until_ns;	/* the worker's: end of a snapshot's wait for names; 0 = none */
	bool is_lost;	/* the worker's: the target is unreadable */
};

/* The worker: a thread's function, argument is the cache. */
void *hp_cache_work(void *argument);

/* The answer if nothing can be read. */
struct hp_answer *hp_cache_no_target(void);

#endif
