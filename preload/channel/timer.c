/* SPDX-License-Identifier: MIT */
/*
 * timer.c - see timer.h.
 *
 * The table exists once a timerfd is made or set: as static data it would be in each core dump.
 */
#include "preload/channel/timer.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/timerfd.h>

#include "preload/channel/channel.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"

#define BILLION 1000000000

/* `busy`: one thread sets it, or reads from it; another one that comes meanwhile leaves STALE. */
#define BUSY 1
#define STALE 2

struct timer {
	_Atomic uint32_t busy;
	uint32_t clock; /* 1 + the one that `due_ns` is of; 0 = not known */
	uint64_t due_ns; /* 0 = not known, or not set */
	uint64_t interval_ns; /* 0 = it expires once */
	uint32_t pid; /* that set it; 0 = not a timer */
	uint32_t made; /* 1 + the clock of timerfd_create; 0 = not known */
};

bool hp_timer_is_wanted;
static struct timer *timers; /* HP_FDS; NULL = no timerfd yet */

static struct timer *timer_of(int fd)
{
	struct timer *table = __atomic_load_n(&timers, __ATOMIC_ACQUIRE);

	return table && (unsigned)fd < HP_FDS ? &table[fd] : NULL;
}

/* NULL = no such descriptor here, or no table. */
static struct timer *timer_make(int fd)
{
	return hp_pages_table(&timers, sizeof(struct timer) * HP_FDS, false) ? timer_of(fd) : NULL;
}

static bool take(struct timer *timer)
{
	uint32_t busy = 0;

	/* Acquire: it is as the last thread left it. */
	if (atomic_compare_exchange_strong_explicit(&timer->busy, &busy, BUSY, memory_order_acquire,
						    memory_order_relaxed))
		return true;
	atomic_fetch_or_explicit(&timer->busy, STALE, memory_order_relaxed);
	return false;
}

static void give(struct timer *timer)
{
	uint32_t busy = BUSY;

	if (atomic_compare_exchange_strong_explicit(&timer->busy, &busy, 0, memory_order_release,
						    memory_order_relaxed))
		return;
	timer->due_ns = 0;
	atomic_store_explicit(&timer->busy, 0, memory_order_release);
}

static uint64_t of_timespec(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * BILLION + (uint64_t)time->tv_nsec;
}

/* 0 = not known: where the counter faults, so does the C library's clock (ticks.h). */
static uint64_t now_ns(int clock)
{
	struct timespec now;

	if (hp_is_confined() || hp_ticks_are_forbidden())
		return 0;
	return clock_gettime(clock, &now) == 0 ? of_timespec(&now) : 0;
}

/* Alarms wake the machine, and are due by the same clocks.  A span is not changed by setting the time. */
static int clock_of(int made, bool is_absolute)
{
	switch (made) {
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		return CLOCK_BOOTTIME;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_ALARM:
		return is_absolute ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	default:
		return CLOCK_MONOTONIC;
	}
}

void hp_timer_made(int fd, int clock)
{
	struct timer *timer = hp_timer_is_wanted ? timer_make(fd) : NULL;

	if (timer)
		timer->made = (uint32_t)clock + 1;
}

/* The clock is read after the timer was set, so the lateness reported is never too long. */
static void set(struct timer *timer, int flags, const struct itimerspec *value)
{
	bool is_absolute = flags & TFD_TIMER_ABSTIME;
	uint64_t first_ns = of_timespec(&value->it_value), now;

	timer->pid = hp_self->pid;
	timer->interval_ns = of_timespec(&value->it_interval);
	timer->due_ns = 0;
	if (!first_ns || !timer->made)
		return;
	timer->clock = (uint32_t)clock_of((int)timer->made - 1, is_absolute) + 1;
	now = now_ns((int)timer->clock - 1);
	if (now)
		timer->due_ns = is_absolute ? first_ns : now + first_ns;
	/* It had expired before it was set: that is not lateness. */
	if (is_absolute && first_ns <= now)
		timer->due_ns = 0;
}

void hp_timer_set(int fd, int flags, const struct itimerspec *value)
{
	struct timer *timer = hp_timer_is_wanted && value ? timer_make(fd) : NULL;

	if (!timer || !take(timer))
		return;
	set(timer, flags, value);
	give(timer);
	hp_channel_tell(fd);
}

/*
 * Returns when the first of `count` expirations was due, and moves `due_ns` to the next one. If at least
 * one more interval has passed than this read reports, another process has read the expirations before.
 */
static uint64_t first_due(struct timer *timer, uint64_t count, uint64_t now)
{
	uint64_t due = timer->due_ns, interval = timer->interval_ns;

	if (interval && now >= due + (count + 1) * interval)
		due += ((now - due) / interval + 1 - count) * interval;
	timer->due_ns = interval ? due + count * interval : 0;
	return due;
}

bool hp_timer_took(int fd, const void *buffer, size_t size, struct hp_timer_read *read)
{
	struct timer *timer = timer_of(fd);
	uint64_t now, due;

	if (!timer || !timer->pid || size != sizeof(read->count))
		return false;
	*read = (struct hp_timer_read){ 0 };
	memcpy(&read->count, buffer, sizeof(read->count));
	if (!take(timer))
		return read->count != 0;
	if (timer->due_ns && timer->clock && timer->pid == hp_self->pid) {
		now = now_ns((int)timer->clock - 1);
		due = first_due(timer, read->count, now);
		read->late_ns = now > due ? now - due : 0;
		read->is_timed = now != 0;
	}
	give(timer);
	return read->count != 0;
}

void hp_timer_closed(int fd)
{
	struct timer *timer = timer_of(fd);

	if (!timer || !timer->pid || !take(timer))
		return;
	timer->pid = timer->made = 0;
	timer->due_ns = 0;
	give(timer);
}
