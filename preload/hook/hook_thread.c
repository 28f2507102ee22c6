/* SPDX-License-Identifier: MIT */
/*
 * hook_thread.c - stand-ins of pthread_create and thrd_create: who made a thread, when
 * it began, what it runs; and of fork.
 *
 * The record of the new thread holds what it is to run; it begins in a function
 * of ours, which jumps there, so no frame of ours is on its stack.  A thread of
 * which there is no record begins as without us.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/begin.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/hook/hook_thread.h"
#include "preload/lock/lock.h"
#include "preload/thread/process.h"
#include "preload/wait/cpu_timer.h"

static bool is_wanted;
static pthread_key_t key;
static bool has_key;

static uint64_t now(void)
{
	return hp_segment.header->clock_kind == HP_CLOCK_MONOTONIC_RAW ? hp_clock_raw_ns()
								       : hp_clock_tsc();
}

/*
 * The helper sees a name at its next look at the thread, so one that ends before
 * that tells its name itself.  Most are called as their process: they need no record.
 */
static void name_tell(const struct hp_thread *thread)
{
	struct hp_lockset *set = hp_lock_set();
	char name[sizeof(((struct hp_thread_name *)NULL)->name)] = "";
	struct hp_thread_name *record;
	uint64_t offset;

	if (!set || syscall(SYS_prctl, PR_GET_NAME, name) != 0 ||
	    strcmp(name, hp_self->process->comm) == 0)
		return;
	offset = hp_segment_take(&hp_segment, sizeof(*record), HP_LINE);
	record = hp_segment_at(&hp_segment, offset, sizeof(*record));
	if (!record)
		return;
	record->pid = thread->pid;
	record->tid = atomic_load_explicit(&thread->tid, memory_order_relaxed);
	record->end = thread->end;
	memcpy(record->name, name, sizeof(record->name));
	hp_list_push(&set->names, offset, &record->next);
}

/* A child of fork has the key's value, too, and is another thread. */
static void end(void *record)
{
	struct hp_thread *thread = record;
	struct timespec cpu;

	if (!hp_self || hp_self->pid != thread->pid)
		return;
	if (!hp_is_confined() && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
		thread->argument = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	thread->end = now();
	if (!hp_is_confined())
		name_tell(thread);
	hp_channel_thread_ended();
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks_threads(settings) || hp_settings_asks(settings, "channels");
	has_key = is_wanted && pthread_key_create(&key, end) == 0;
}

const struct hp_recorder hp_thread_recorder = { .configure = configure };

static uint64_t count_of(struct hp_lockset *set)
{
	return atomic_load_explicit(&set->thread_count, memory_order_relaxed);
}

static bool is_recording(void)
{
	return hp_start() && is_wanted && !hp_is_confined() && hp_self_open();
}

static struct hp_thread *record_new(void)
{
	struct hp_lockset *set = hp_lock_set();
	struct hp_thread *thread;
	uint64_t offset;

	if (!set || count_of(set) >= HP_THREADS_MOST)
		return NULL;
	if (atomic_fetch_add_explicit(&set->thread_count, 1, memory_order_relaxed) >=
	    HP_THREADS_MOST) {
		atomic_fetch_sub_explicit(&set->thread_count, 1, memory_order_relaxed);
		return NULL;
	}
	offset = hp_segment_take(&hp_segment, sizeof(*thread), HP_LINE);
	thread = hp_segment_at(&hp_segment, offset, sizeof(*thread));
	if (thread)
		hp_list_push(&set->threads, offset, &thread->next);
	return thread;
}

/* NULL = it is not recorded. */
static struct hp_thread *birth(uintptr_t routine, void *argument, uintptr_t at)
{
	struct hp_thread *thread = NULL;
	int saved = errno;

	if (is_recording())
		thread = record_new();
	if (thread) {
		thread->pid = hp_self->pid;
		thread->maker = hp_confine_tid();
		thread->routine = routine;
		thread->argument = (uintptr_t)argument;
		thread->at = at;
		thread->path = hp_lock_path();
		/* What it does before its function, and waiting for a core, is of its life. */
		thread->start = now();
	}
	errno = saved;
	return thread;
}

/* Its first words; returns its argument. */
static void *begin(struct hp_thread *thread)
{
	void *argument = (void *)(uintptr_t)thread->argument;
	int saved = errno;

	thread->argument = 0;
	/* Its end comes by the key. */
	if (has_key && pthread_setspecific(key, thread) != 0)
		hp_refused();
	hp_channel_thread_began(thread->at);
	/* Release: who finds the thread finds when it began. */
	atomic_store_explicit(&thread->tid, hp_confine_tid(), memory_order_release);
	errno = saved;
	return argument;
}

static void *run(void *record)
{
	struct hp_thread *thread = record;
	uintptr_t address = thread->routine;
	void *(*routine)(void *);

	memcpy(&routine, &address, sizeof(routine));
	return routine(begin(thread));
}

static int run_c11(void *record)
{
	struct hp_thread *thread = record;
	uintptr_t address = thread->routine;
	thrd_start_t routine;

	memcpy(&routine, &address, sizeof(routine));
	return routine(begin(thread));
}

/* Those beyond the records are counted, so that the report can say that they are in no list. */
static void made_more(void)
{
	int saved = errno;
	struct hp_lockset *set = is_recording() ? hp_lock_set() : NULL;

	if (set && count_of(set) >= HP_THREADS_MOST)
		atomic_fetch_add_explicit(&set->thread_count, 1, memory_order_relaxed);
	errno = saved;
}

HP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			     void *(*routine)(void *), void *argument)
{
	struct hp_thread *record = birth((uintptr_t)routine, argument, HP_CALLER);

	if (record)
		return hp_timer_create(thread, attributes, run, record);
	int error = hp_timer_create(thread, attributes, routine, argument);

	if (!error)
		made_more();
	return error;
}

HP_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct hp_thread *record = birth((uintptr_t)routine, argument, HP_CALLER);

	if (record)
		return hp_timer_create_c11(thread, run_c11, record);
	int result = hp_timer_create_c11(thread, routine, argument);

	if (result == thrd_success)
		made_more();
	return result;
}

/* --- processes --- */

/* In a child of fork(), before it goes on: it is one of the session's, whether it ever calls us or not. */
static void forked(void)
{
	int saved;

	/* Not even errno is there in a child of a resolver. */
	if (!is_wanted || hp_is_confined())
		return;
	saved = errno;
	hp_self_open();
	errno = saved;
}

HP_EXPORT pid_t fork(void)
{
	pid_t child;

	hp_channel_fork();
	child = hp_real()->fork();
	if (child < 0)
		hp_channel_fork_failed();
	if (child == 0)
		forked();
	return child;
}
