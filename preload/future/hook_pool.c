/* SPDX-License-Identifier: MIT */
/*
 * hook_pool.c - stand-ins of GLib's GThreadPool, if the program has it (preload/guest/absent.h):
 * jobs as futures, by the code that pushes them.
 *
 * Nothing that can be interposed runs a job, so the pool gets our function in place of the
 * program's, which it calls.  A program that reads its pool's `func` or `user_data` sees that:
 * hence only with HOTPATH_LOOP_CALLBACKS=1.  The job itself, which the program may compare and
 * sort, stays as it is.
 *
 * Jobs are recognised by their address and pool.  Those with one address are distinguished by an
 * index; which of them runs does not matter, since nobody can tell.  A job leaves the table as soon
 * as it runs, so the table has those that wait.
 */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "preload/future/future.h"
#include "preload/future/pool.h"
#include "preload/guest/absent.h"
#include "preload/guest/bulky.h"
#include "preload/lock/glib.h"
#include "util/hash.h"

HP_POOL_LIST(HP_ABSENT_REAL)

#define FIND HP_ABSENT_FIND

#define POOLS 256	/* at a time: as many as 8 bits distinguish; others stay as they are */
#define SAME_MAX 64	/* waiting jobs of one address; further ones have no identity */
#define TRIES 1000	/* to get `pushing`, which is held for a fraction of a microsecond */

/* A pool whose function was exchanged.  It stays if jobs may run after the pool was freed. */
struct exchanged {
	_Atomic uint32_t is_taken;
	_Atomic uint32_t pushing;	/* pid while a thread adds a job; after a fork maybe its parent */
	void (*run)(void *job, void *data);	/* the program's */
	void *data;
};

HP_BULKY static struct exchanged pools[POOLS];

static bool is_counted(void)
{
	return !hp_is_early() && hp_future_is_wanted() && hp_future_exchanges &&
	       !hp_glib_is_without;
}

/* --- jobs --- */

static uint64_t pool_bits(const struct exchanged *pool)
{
	return (uint64_t)(pool - pools) << 8 | HP_FUTURE_JOB;
}

static uint64_t key_of(const struct exchanged *pool, const void *job, uint64_t index)
{
	return hp_hash_mix(hp_hash_mix((uintptr_t)job) + index) << 16 | pool_bits(pool);
}

/* Two that add one address at once would get one index. */
static bool lock(struct exchanged *pool)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t other = atomic_load_explicit(&pool->pushing, memory_order_relaxed);

		if (other != hp_self->pid && atomic_compare_exchange_strong_explicit(
						     &pool->pushing, &other, hp_self->pid,
						     memory_order_acquire, memory_order_relaxed))
			return true;
		sched_yield();
	}
	return false;
}

static void unlock(struct exchanged *pool)
{
	atomic_store_explicit(&pool->pushing, 0, memory_order_release);
}

static bool begin_known(const struct exchanged *pool, const void *job, struct hp_future *future)
{
	struct hp_object_flight found;

	for (uint64_t i = 0; i < SAME_MAX; i++) {
		uint64_t key = key_of(pool, job, i);

		if (hp_objects_find(key, &found))
			continue;
		hp_future_begin_at(future, key);
		return true;
	}
	return false;
}

/* Before the real call: the job may run before that returns. */
static void begin(struct exchanged *pool, const void *job, uintptr_t caller)
{
	int saved = errno;
	struct hp_future *future = hp_future_of_code(HP_FUTURE_JOB, caller);
	bool is_known = false;

	if (future && lock(pool)) {
		is_known = begin_known(pool, job, future);
		unlock(pool);
	}
	if (future && !is_known) {
		atomic_fetch_add_explicit(&future->calls, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
	}
	errno = saved;
}

static bool take(const struct exchanged *pool, const void *job, struct hp_object_flight *taken)
{
	for (uint64_t i = 0; i < SAME_MAX; i++)
		if (hp_objects_take(key_of(pool, job, i), taken))
			return true;
	return false;
}

/* The pool's function.  A job that forks returns in the child, too, which has no flights. */
static void run(void *job, void *data)
{
	const struct exchanged *pool = data;
	const void *process = hp_self->process;
	struct hp_object_flight taken;
	int saved = errno;
	bool is_known = take(pool, job, &taken);

	if (is_known)
		hp_flight_poll(taken.flight);
	errno = saved;
	pool->run(job, pool->data);
	saved = errno;
	if (is_known && hp_self->process == process && hp_self_is_me() &&
	    hp_segment_holds(&hp_segment, taken.flight))
		hp_flight_end(taken.future, taken.flight, HP_FUTURE_READY, NULL);
	errno = saved;
}

/* --- pools --- */

static struct exchanged *exchange(void (*real)(void *, void *), void *data)
{
	for (int i = 0; real && real != run && i < POOLS; i++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&pools[i].is_taken, &none, 1))
			continue;
		pools[i].run = real;
		pools[i].data = data;
		return &pools[i];
	}
	return NULL;
}

static struct exchanged *exchanged_of(const struct hp_gpool *pool)
{
	uintptr_t place = (uintptr_t)pool->data - (uintptr_t)pools;

	return pool->run == run && place < sizeof(pools) ? &pools[place / sizeof(pools[0])] : NULL;
}

static void release(struct exchanged *pool)
{
	if (pool)
		atomic_store_explicit(&pool->is_taken, 0, memory_order_release);
}

static void cancel(uint64_t key)
{
	hp_future_end_at(key, HP_FUTURE_CANCELLED, NULL);
}

/* --- stand-ins --- */

HP_EXPORT struct hp_gpool *g_thread_pool_new(void (*function)(void *, void *), void *data,
					     int threads, int is_exclusive, void *error)
{
	g_thread_pool_new_type real = FIND(g_thread_pool_new);
	struct exchanged *ours = real && is_counted() ? exchange(function, data) : NULL;
	struct hp_gpool *pool;

	if (!real)
		return NULL;
	if (!ours)
		return real(function, data, threads, is_exclusive, error);
	pool = real(run, ours, threads, is_exclusive, error);
	if (!pool)
		release(ours);
	return pool;
}

HP_EXPORT struct hp_gpool *g_thread_pool_new_full(void (*function)(void *, void *), void *data,
						  void (*drop)(void *), int threads,
						  int is_exclusive, void *error)
{
	g_thread_pool_new_full_type real = FIND(g_thread_pool_new_full);
	struct exchanged *ours = real && is_counted() ? exchange(function, data) : NULL;
	struct hp_gpool *pool;

	if (!real)
		return NULL;
	if (!ours)
		return real(function, data, drop, threads, is_exclusive, error);
	pool = real(run, ours, drop, threads, is_exclusive, error);
	if (!pool)
		release(ours);
	return pool;
}

/* It is in the queue even if GLib reports that it got no thread for it. */
HP_EXPORT int g_thread_pool_push(struct hp_gpool *pool, void *job, void *error)
{
	g_thread_pool_push_type real = FIND(g_thread_pool_push);
	struct exchanged *ours = pool && is_counted() ? exchanged_of(pool) : NULL;

	if (!real)
		return 0;
	if (ours)
		begin(ours, job, HP_CALLER);
	return real(pool, job, error);
}

/* After a wait none runs or waits, except those that were dropped.  Without it some may still run. */
HP_EXPORT void g_thread_pool_free(struct hp_gpool *pool, int is_immediate, int waits)
{
	g_thread_pool_free_type real = FIND(g_thread_pool_free);
	struct exchanged *ours = pool ? exchanged_of(pool) : NULL;
	int saved;

	if (!real)
		return;
	real(pool, is_immediate, waits);
	if (!ours || !waits)
		return;
	saved = errno;
	hp_objects_each(pool_bits(ours), UINT16_MAX, cancel);
	errno = saved;
	release(ours);
}
