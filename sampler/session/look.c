/* SPDX-License-Identifier: MIT */
/*
 * look.c - see look.h.
 *
 * Gaps are random, from half to one and a half times the mean, so that no program's own period
 * coincides with them. The mean is 1 ms at first and 4 ms after the first second of scans: a short
 * run needs many scans, and a long one gets them anyway. Where many threads make a scan expensive,
 * it is longer.
 */
#include "sampler/session/look.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/slice.h"
#include "segment/clock.h"
#include "segment/layout/process.h"
#include "segment/mark.h"
#include "util/random.h"

#define GAP_MIN_NS UINT64_C(1000000)
#define GAP_USUAL_NS UINT64_C(4000000)
#define GAP_PART 250	/* of the scanning time so far */
#define SHARE 200	/* scans take at most 1/200 of the processor */
#define QUIET_NS UINT64_C(100000000)	/* without work, until it stops */
#define STEPS_MAX 100000	/* records, in one scan: a damaged list must not cause an endless loop */
#define TRIES 3	/* attempts to read a hold and the time together */
#define NEAR_TICKS 4096	/* which are together if this close */
#define STACK_SIZE (64 << 10)

static pthread_mutex_t pause_lock = PTHREAD_MUTEX_INITIALIZER;

void hp_looker_pause(void)
{
	pthread_mutex_lock(&pause_lock);
}

void hp_looker_go_on(void)
{
	pthread_mutex_unlock(&pause_lock);
}

/* --- one scan --- */

static uint64_t ticks_now(const struct hp_look *look)
{
	return hp_clock_read(look->segment->header->clock_kind);
}

static struct hp_use *use_of(const struct hp_look *look, const struct hp_waiter *waiter,
			     const struct hp_held *held)
{
	uint64_t use = __atomic_load_n(&held->use, __ATOMIC_RELAXED);

	return hp_segment_at(look->segment, use - waiter->base, sizeof(struct hp_use));
}

/*
 * Reads the hold and its number, then the clock, then both again: if they are the same,
 * the hold existed at that time.
 */
static uint64_t when_held(const struct hp_look *look, struct hp_held *held, uint64_t address,
			  const struct hp_use *use, uint64_t count)
{
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = ticks_now(look);
		bool is_same =
			__atomic_load_n(&use->count, __ATOMIC_ACQUIRE) == count &&
			atomic_load_explicit(&held->address, memory_order_acquire) == address &&
			!__atomic_load_n(&held->start, __ATOMIC_ACQUIRE);

		if (!is_same)
			return 0;
		if (hp_clock_between(before, ticks_now(look)) < NEAR_TICKS)
			return before;
	}
	return 0;
}

static void mark(struct hp_look *look, struct hp_waiter *waiter, int i)
{
	struct hp_held *held = &waiter->held[i];
	struct hp_mark *place = &waiter->marks[i];
	uint64_t address = atomic_load_explicit(&held->address, memory_order_acquire);
	struct hp_use *use = use_of(look, waiter, held);
	uint64_t count, hash, at;

	if (!use || !address)
		return;
	count = __atomic_load_n(&use->count, __ATOMIC_ACQUIRE);
	hash = hp_mark_hash(hp_segment_offset(look->segment, use), count);
	if (hp_seen_is_of(atomic_load_explicit(&place->seen, memory_order_relaxed), hash))
		return;
	at = when_held(look, held, address, use, count);
	if (!at)
		return;
	atomic_store_explicit(&place->seen, 0, memory_order_relaxed);
	__atomic_store_n(&place->seen_at, at, __ATOMIC_RELEASE);
	atomic_store_explicit(&place->seen, hp_seen_word(hash, look->gap), memory_order_release);
	__atomic_fetch_or(&held->asked, HP_ASKED_END, __ATOMIC_RELEASE);
	look->marked++;
}

static void look_at_waiter(struct hp_look *look, struct hp_waiter *waiter)
{
	uint64_t samples = atomic_load_explicit(&waiter->samples, memory_order_relaxed);

	if (!samples || atomic_load_explicit(&waiter->state, memory_order_acquire) != HP_TAKEN)
		return;
	look->samples += samples;
	for (int i = 0; i < HP_HELD_MAX; i++) {
		if (!atomic_load_explicit(&waiter->held[i].address, memory_order_acquire))
			break;
		if (!__atomic_load_n(&waiter->held[i].start, __ATOMIC_RELAXED))
			mark(look, waiter, i);
	}
}

/* A record of a list, or NULL at its end. */
static void *step(struct hp_look *look, uint64_t offset, uint64_t bytes)
{
	return look->steps++ < STEPS_MAX ? hp_segment_at(look->segment, offset, bytes) : NULL;
}

/* Calls `visit` for each waiter of processes that live. */
static void each_waiter(struct hp_look *look,
			void (*visit)(struct hp_look *look, struct hp_waiter *waiter))
{
	uint64_t at = atomic_load_explicit(&look->segment->header->processes, memory_order_acquire);
	struct hp_process *process;

	look->steps = 0;
	for (; (process = step(look, at, sizeof(*process))); at = process->next) {
		struct hp_lockset *set = NULL;
		struct hp_waiter *waiter;

		if (atomic_load_explicit(&process->state, memory_order_acquire) == HP_TAKEN)
			set = hp_segment_at(look->segment,
					    atomic_load_explicit(&process->lockset,
								 memory_order_acquire),
					    sizeof(*set));
		uint64_t next = set ? atomic_load_explicit(&set->waiters, memory_order_acquire) : 0;
		for (; (waiter = step(look, next, sizeof(*waiter))); next = waiter->next)
			visit(look, waiter);
	}
}

bool hp_look_once(struct hp_look *look, uint64_t now)
{
	uint64_t samples = look->samples;

	look->gap = look->last ? hp_clock_between(look->last, now) : 0;
	look->last = now;
	look->samples = 0;
	look->marked = 0;
	each_waiter(look, look_at_waiter);
	return look->marked || look->samples != samples;
}

static void end_waiter(struct hp_look *look, struct hp_waiter *waiter)
{
	uint64_t at = atomic_load_explicit(&waiter->uses, memory_order_acquire);
	struct hp_use *use;

	if (!atomic_load_explicit(&waiter->samples, memory_order_relaxed))
		return;
	for (; (use = step(look, at, sizeof(*use))); at = use->next)
		if (__atomic_load_n(&use->is_sampled, __ATOMIC_RELAXED))
			__atomic_store_n(&use->next_timed, 0, __ATOMIC_RELAXED);
}

void hp_look_end(struct hp_look *look)
{
	each_waiter(look, end_waiter);
}

/* --- a scanning thread --- */

struct rhythm {
	uint64_t looked_ns;	/* in all */
	uint64_t looks;
	uint64_t gap_ns;	/* the intended mean */
	double gaps;	/* sum of gaps, ticks, and of their squares */
	double squares;
};

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void rhythm_next(struct rhythm *rhythm)
{
	uint64_t gap_ns = rhythm->looked_ns / GAP_PART;
	uint64_t dear_ns = rhythm->looks ? cpu_ns() / rhythm->looks * SHARE : 0;

	gap_ns = gap_ns < GAP_MIN_NS ? GAP_MIN_NS : gap_ns;
	gap_ns = gap_ns > GAP_USUAL_NS ? GAP_USUAL_NS : gap_ns;
	rhythm->gap_ns = gap_ns > dear_ns || rhythm->looks < 100 ? gap_ns : dear_ns;
}

static void nap(struct hp_look *look, uint64_t mean_ns)
{
	uint64_t ns = mean_ns / 2 + (hp_random_next(&look->random) >> 32) * mean_ns / UINT32_MAX;
	struct timespec time = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&time, NULL);
}

/* The gaps, published to processes. */
static void publish(struct hp_looks *looks, struct rhythm *rhythm, uint64_t gap)
{
	rhythm->gaps += (double)gap;
	rhythm->squares += (double)gap * (double)gap;
	if (rhythm->gaps > 0)
		atomic_store_explicit(&looks->gap, (uint64_t)(rhythm->squares / rhythm->gaps),
				      memory_order_relaxed);
	if (gap > atomic_load_explicit(&looks->gap_most, memory_order_relaxed))
		atomic_store_explicit(&looks->gap_most, gap, memory_order_relaxed);
	atomic_store_explicit(&looks->count, ++rhythm->looks, memory_order_relaxed);
}

static void turn_on(struct hp_look *look, struct hp_looks *looks)
{
	uint64_t now = ticks_now(look);

	look->last = now;
	atomic_store_explicit(&looks->since, now, memory_order_relaxed);
	atomic_store_explicit(&looks->last, now, memory_order_relaxed);
	atomic_store_explicit(&looks->is_on, 1, memory_order_release);
}

/* A thread that samples a hold after that wakes us again. */
static void turn_off(struct hp_look *look, struct hp_looks *looks)
{
	atomic_store_explicit(&looks->asked, 0, memory_order_relaxed);
	atomic_store_explicit(&looks->is_on, 0, memory_order_release);
	hp_look_end(look);
}

static void look_while_needed(struct hp_look *look, struct hp_looks *looks, struct rhythm *rhythm)
{
	uint64_t busy_ns = hp_clock_raw_ns(), before_ns = busy_ns;

	hp_looker_pause();
	turn_on(look, looks);
	hp_looker_go_on();
	for (;;) {
		rhythm_next(rhythm);
		nap(look, rhythm->gap_ns);
		uint64_t now_ns = hp_clock_raw_ns();
		rhythm->looked_ns += now_ns - before_ns;
		before_ns = now_ns;
		hp_looker_pause();
		if (hp_look_once(look, ticks_now(look)))
			busy_ns = now_ns;
		publish(looks, rhythm, look->gap);
		atomic_store_explicit(&looks->last, look->last, memory_order_relaxed);
		bool is_quiet = now_ns - busy_ns > QUIET_NS;
		if (is_quiet)
			turn_off(look, looks);
		hp_looker_go_on();
		if (is_quiet)
			return;
	}
}

static void *look_for_ever(void *argument)
{
	const struct hp_segment *segment = argument;
	struct hp_looks *looks = hp_segment_looks(segment);
	struct hp_look look = { .segment = segment, .random = hp_clock_raw_ns() };
	struct rhythm rhythm = { .gap_ns = GAP_MIN_NS };

	hp_slice_shorten(true);	/* a computing thread does not delay scans */
	for (;;) {
		if (atomic_load_explicit(&looks->asked, memory_order_acquire))
			look_while_needed(&look, looks, &rhythm);
		else if (syscall(SYS_futex, &looks->asked, FUTEX_WAIT, 0, NULL, NULL, 0) < 0 &&
			 errno != EAGAIN && errno != EINTR)
			return NULL;
	}
}

static void start(const struct hp_segment *segment)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_SIZE);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)!pthread_create(&thread, &attributes, look_for_ever, (void *)(uintptr_t)segment);
	pthread_attr_destroy(&attributes);
}

void hp_looker_do(struct hp_looker *looker, const struct hp_segments *segments)
{
	for (uint32_t i = 0; i < looker->count; i++) {
		struct hp_looks *looks = hp_segment_looks(segments->at[i]);

		if (atomic_load_explicit(&looks->asked, memory_order_relaxed) &&
		    !atomic_load_explicit(&looks->is_on, memory_order_relaxed))
			syscall(SYS_futex, &looks->asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	while (looker->count < segments->count)
		start(segments->at[looker->count++]);
}
