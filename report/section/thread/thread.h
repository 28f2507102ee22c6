/* SPDX-License-Identifier: MIT */
/*
 * thread.h - each thread's use of its time, from all sources: the sampler (CPU,
 * queue, lifetime), the thread itself (waits for locks), the kernel's switch
 * records (other waits), its creator.
 *
 * Folder: report/section/thread - threads: their resources, and what
 *   they waited for
 * May use: report/section/wait report/section/memory report/section/cpu
 *   report/section/core report/read report/base segment/layout util
 */
#ifndef HP_REPORT_SECTION_THREAD_THREAD_H
#define HP_REPORT_SECTION_THREAD_THREAD_H

#include "report/section/wait/lock.h"
#include "report/section/core/section.h"
#include "segment/layout/lock.h"

/* A thread's waits by cause; the first ones are enum hp_wait_class. */
enum hp_thread_wait {
	HP_THREAD_CHANNEL = HP_WAIT_CLASSES,	/* pipes, sockets */
	HP_THREAD_DISK,
	HP_THREAD_POLL,
	HP_THREAD_SLEEP,
	HP_THREAD_OTHER,	/* children, signals, memory, ... */
	HP_THREAD_WAITS
};

struct hp_thread_row {
	const struct hp_model_thread *thread;
	const struct hp_lock_birth *birth;	/* NULL = not known */
	const struct hp_lock_thread *waiter;	/* NULL = it waited for no lock */
	double life_ns;
	double ran_ns;
	double ready_ns;	/* ready, but without a CPU, until its last scan */
	double stopped_ns;	/* by a signal */
	double unwatched_ns;	/* after its last scan: blocked or ready, or running if ran_ns does not cover it */
	double blocked_ns;	/* the rest */
	double waits_ns[HP_THREAD_WAITS];	/* of that, as far as known */
	bool is_seen;	/* by the sampler: otherwise name, queue and hence waits are not known */
	bool is_life_least;	/* when it ended is not known */
	bool is_ran_least;	/* its CPU time is known up to its last scan only */
	bool has_switches;	/* waits other than for locks are known, except short ones */
};

/* A process's threads except its first. */
struct hp_thread_others {
	uint32_t pid;
	uint32_t firsts;	/* rows of its first thread */
	uint64_t unknown;	/* threads without a record of their end */
	double cpu_ns;	/* of those with one */
};

struct hp_threads {
	struct hp_thread_row *rows;	/* of threads that are not several folded into one */
	size_t count;
	struct hp_model_thread *
		unseen;	/* those that ended between two scans, known from their recorded start and end */
	size_t unseen_count;
	size_t unlisted;	/* created beyond HP_THREADS_MAX, and not scanned by the sampler */
	const struct hp_model_process **images;	/* by pid and start */
	size_t image_count;
	struct hp_thread_others *others;	/* by pid */
	size_t other_count;
};

struct hp_threads *hp_threads_of(struct hp_report *report);

/*
 * What a thread's waits are to be multiplied with. A wait is recorded when the thread runs again, so
 * it includes the time for which the thread was ready, which is counted as that, too; their sum is
 * at most the time for which it did wait. 0 to 1.
 */
double hp_thread_wait_scale(const struct hp_thread_row *row);

/*
 * Threads that ended between two scans of the sampler, in a report about the past.  Also 0
 * if several were folded into one and it is not known which.
 */
size_t hp_threads_unseen(struct hp_report *report);

/* It was scanned until shortly before its end: how long it waited is nearly known. */
bool hp_thread_is_watched(const struct hp_thread_row *row);

/* So much of its time is unknown that what is known of it is a lower bound. */
bool hp_thread_is_least(const struct hp_thread_row *row);

/* For the threads that were watched for most of their lifetime, without the rest of it; `count` is for all. */
struct hp_thread_sums {
	uint64_t life_ns;
	uint64_t ready_ns;	/* ready, but without a CPU */
	uint64_t stopped_ns;	/* by a signal; of all threads */
	uint64_t blocked_ns;	/* the rest of the time that they did not run */
	size_t watched;
	size_t count;
	size_t unlisted;	/* of them, those that are in no list */
};

void hp_threads_sum(struct hp_report *report, struct hp_thread_sums *sums);

/* The cause of a wait for a lock of that kind: enum hp_wait_class or hp_thread_wait. */
int hp_thread_wait_of(uint32_t kind);

#endif
