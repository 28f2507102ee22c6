/* SPDX-License-Identifier: MIT */
/*
 * birth.c - see birth.h.
 */
#include "preload/hook/birth.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/future/future.h"
#include "preload/guest/begin.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/lock/lock.h"
#include "preload/thread/drop.h"
#include "preload/thread/end.h"
#include "preload/thread/level.h"
#include "preload/thread/process.h"
#include "segment/section_key.h"

static bool is_wanted;
static bool counts_forks;	/* a child that does nothing that is recorded counts, too */
static int end_number = -1;	/* of preload/thread/end.h */

static struct hp_free_list ended;	/* struct hp_birth of ended threads */

static void give(struct hp_birth *birth)
{
	hp_free_list_push(&ended, &birth->ended);
}

/* A process that has entered another segment leaves its flights behind, too. */
static void future_end(const struct hp_birth *birth, enum hp_future_state how)
{
	const struct hp_object_flight *object = &birth->flight;

	if (object->flight && hp_segment_holds(&hp_segment, object->flight) &&
	    hp_segment_holds(&hp_segment, object->future))
		hp_flight_end(object->future, object->flight, how, NULL);
}

/*
 * The helper sees a name at its next check of the thread, so a thread that ends
 * earlier records its name itself. Most are named like their process and need
 * no record.
 */
static void name_tell(const struct hp_thread *thread)
{
	struct hp_lockset *set = hp_lock_set();
	char name[sizeof(((struct hp_thread_name *)NULL)->name)] = "";
	struct hp_thread_name *record;
	uint64_t offset;

	if (!set || hp_kernel_call(SYS_prctl, PR_GET_NAME, (long)(uintptr_t)name, 0) != 0 ||
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

static void end_record(const struct hp_birth *birth)
{
	struct hp_thread *thread = birth->thread;
	struct timespec cpu;

	if (!hp_is_confined() && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
		thread->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	future_end(birth, HP_FUTURE_READY);
	thread->end = hp_ticks_about();
	if (!hp_is_confined())
		name_tell(thread);
	hp_channel_thread_ended();
}

/*
 * A forked child inherits the key's value but is another thread.  A record from before the process
 * left the segment does not belong to the next one.
 */
static void end(void *data)
{
	struct hp_birth *birth = data;

	if (hp_self && hp_self->pid == birth->thread->pid &&
	    hp_segment_holds(&hp_segment, birth->thread))
		end_record(birth);
	give(birth);
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks_threads(settings) ||
		    hp_settings_asks(settings, HP_KEY_CHANNELS) ||
		    hp_settings_asks(settings, HP_KEY_FUTURES) ||
		    hp_settings_asks(settings, HP_KEY_POOLS) ||
		    hp_settings_asks(settings, HP_KEY_LOOPS);
	counts_forks = is_wanted || hp_settings_asks(settings, HP_KEY_PROCESSES);
	if (is_wanted)
		end_number = hp_end_new(end);
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

	if (!set || count_of(set) >= HP_THREADS_MAX)
		return NULL;
	if (atomic_fetch_add_explicit(&set->thread_count, 1, memory_order_relaxed) >=
	    HP_THREADS_MAX) {
		atomic_fetch_sub_explicit(&set->thread_count, 1, memory_order_relaxed);
		return NULL;
	}
	offset = hp_segment_take(&hp_segment, sizeof(*thread), HP_LINE);
	thread = hp_segment_at(&hp_segment, offset, sizeof(*thread));
	if (thread)
		hp_list_push(&set->threads, offset, &thread->next);
	return thread;
}

static struct hp_birth *birth_new(void)
{
	struct hp_birth *birth =
		hp_pages_record(&ended, sizeof(*birth), offsetof(struct hp_birth, ended));

	if (!birth)
		return NULL;
	birth->thread = record_new();
	if (birth->thread)
		return birth;
	give(birth);
	return NULL;
}

struct hp_birth *hp_birth(uintptr_t routine, void *argument, uintptr_t at)
{
	struct hp_birth *birth = NULL;
	struct hp_thread *thread;
	int saved = errno;

	hp_drop_check_at_times();
	if (is_recording())
		birth = birth_new();
	if (birth) {
		birth->routine = routine;
		birth->argument = argument;
		thread = birth->thread;
		thread->pid = hp_self->pid;
		thread->maker = hp_tid();
		thread->routine = routine;
		thread->at = at;
		thread->path = hp_lock_path();
		/* Its lifetime includes work before its function, and waiting for a core. */
		thread->start = hp_ticks_about();
		birth->flight = hp_future_thread(at);
	}
	errno = saved;
	return birth;
}

/* The key reports its end. */
static void watch(struct hp_birth *birth)
{
	if (hp_end_watch(end_number, birth))
		return;
	hp_refused();
	give(birth);
}

void *hp_birth_begin(struct hp_birth *birth)
{
	void *argument = birth->argument;
	struct hp_thread *thread = birth->thread;
	/* First: whatever else needs it finds it. */
	uint32_t tid = hp_tid_born();
	int saved = errno;

	hp_channel_thread_began(thread->at);
	if (birth->flight.flight)
		hp_flight_poll(birth->flight.flight);
	watch(birth);
	/* Release: a reader that finds the thread also finds its start. */
	atomic_store_explicit(&thread->tid, tid, memory_order_release);
	errno = saved;
	return argument;
}

void hp_birth_failed(struct hp_birth *birth)
{
	int saved = errno;

	future_end(birth, HP_FUTURE_CANCELLED);
	give(birth);
	errno = saved;
}

void hp_birth_more(uintptr_t at)
{
	int saved = errno;
	struct hp_lockset *set = is_recording() ? hp_lock_set() : NULL;

	if (set && count_of(set) >= HP_THREADS_MAX) {
		atomic_fetch_add_explicit(&set->thread_count, 1, memory_order_relaxed);
		hp_future_thread_lost(at);
	}
	errno = saved;
}

uint64_t hp_birth_forks(void)
{
	int saved;

	if (hp_is_confined())
		return 0;
	/* Otherwise each child would ask the helper for the segment of its new rights. */
	if (hp_level_is_out()) {
		saved = errno;
		hp_self_open();
		errno = saved;
	}
	return counts_forks ? hp_self_boot_ns() : 0;
}

void hp_birth_forked(uint64_t forks)
{
	int saved;

	/* In a child of a resolver even errno does not work. */
	if (!counts_forks || hp_is_confined())
		return;
	saved = errno;
	hp_self_open_forked(forks);
	errno = saved;
}
