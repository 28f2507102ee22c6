/* SPDX-License-Identifier: MIT */
/*
 * picture_part.h - what the files of picture.h share, and nobody else looks at:
 * picture.c takes questions, picture_work.c answers them.
 */
#ifndef HP_LIVE_CACHE_PICTURE_PART_H
#define HP_LIVE_CACHE_PICTURE_PART_H

#include <pthread.h>

#include "live/answer/scene.h"
#include "live/cache/slot.h"

#define HP_NAMES_WHOLE_NS \
	UINT64_C(3000000000)	/* so long what is read once waits for names: it is not read again */

/* A question that takes its time. */
struct hp_job {
	struct hp_job *next;
	struct hp_request request;
	struct hp_client client;
	uint64_t due_ns;	/* 0 = has not begun */
	uint64_t until_ns;	/* so long it waits for names; 0 = does not yet */
	void *begun;
};

/*
 * The worker alone touches the scene; all else is under the lock, which nobody
 * holds while something is read or made.
 */
struct hp_picture {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t worker;
	bool is_over;
	struct hp_slots slots;
	struct hp_job *jobs;
	size_t job_count;
	uint64_t asked_ns;
	struct hp_scene scene;	/* the worker's */
	uint64_t snapshot_until_ns;	/* the worker's: so long a snapshot waits for names; 0 = does not */
	bool is_lost;	/* the worker's: nothing can be read any more */
};

/* The worker: a thread's function, argument is the picture. */
void *hp_picture_work(void *argument);

/* What is said where nothing can be read. */
struct hp_answer *hp_picture_no_target(void);

#endif
