/* SPDX-License-Identifier: MIT */
/*
 * timer.h - when timerfds are due, and how late they are read.
 *
 * A read says how often the timer has expired since the last read, but not when. So the process
 * keeps a table of when each timerfd is due next. A read advances that by the number of expirations.
 *
 * The lateness is unknown for a timer that a forked child inherited, for one that had expired before
 * it was set, and in a thread that may not read the clock. If several processes read a timer, the
 * lateness may be too low, never too high.
 */
#ifndef HP_PRELOAD_CHANNEL_TIMER_H
#define HP_PRELOAD_CHANNEL_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "preload/guest/guest.h"

/* Set by a recorder that needs reads of timers. */
extern HP_HIDDEN bool hp_timer_is_wanted;

/* The timer was just created, with that clock. */
void hp_timer_made(int fd, int clock);

/* timerfd_settime went well. */
void hp_timer_set(int fd, int flags, const struct itimerspec *value);

struct hp_timer_read {
	uint64_t count; /* expirations since the last read, */
	uint64_t late_ns; /* and how long ago the first of them was, */
	bool is_timed; /* if that is known */
};

/* The result of a read from a descriptor; false = not a timer, or not set by timerfd_settime. */
bool hp_timer_took(int fd, const void *buffer, size_t size, struct hp_timer_read *read);

/* The descriptor is about to be closed. */
void hp_timer_closed(int fd);

#endif
