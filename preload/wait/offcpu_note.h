/* SPDX-License-Identifier: MIT */
/*
 * offcpu_note.h - where a thread waited, for the helper that knows only when.
 *
 * The kernel tells every user when a thread left the CPU and came back, but a
 * stack only to who may sample the kernel.  For others the helper asks for notes
 * (hp_ticking.away_least), and the stand-ins of calls that may wait say after
 * each that took long: from when to when, from where, and a piece of the stack,
 * which is as it was before the call.  Nothing is walked here; the helper does
 * that, and only for calls in which the thread was off the CPU.
 *
 * Not asked, that is a load and a compare; asked, two readings of the clock.
 * Nothing is held across the real call, so a call that is cancelled or left by a
 * jump is one without a note.
 *
 * Folder: preload/wait - when a thread has no processor, and where it is when it has one:
 *   calls that wait, as they are noted by the thread itself, and CPU timers.
 * May use: preload/heap preload/call preload/thread preload/guest segment segment/layout unwind
 */
#ifndef HP_PRELOAD_WAIT_OFFCPU_NOTE_H
#define HP_PRELOAD_WAIT_OFFCPU_NOTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/guest.h"
#include "preload/guest/ticks.h"
#include "segment/clock.h"
#include "segment/layout/sample.h"
#include "segment/setting.h"

#define HP_AWAY_NO_FD (-1)

/* A word that is 0, and how far hp_ticking.away_least is from it, if it is asked for: no pointer (preload/guest/early.h). */
extern __attribute__((visibility("hidden"))) const _Atomic uint32_t hp_away_nobody;
extern __attribute__((visibility("hidden"))) ptrdiff_t hp_away_least_at;

extern const struct hp_recorder hp_away_recorder;

/* The call since then waited: noted.  errno is kept. */
void hp_away_note(uint64_t since, enum hp_wait_on on, int fd);

static inline uint32_t hp_away_least(void)
{
	const char *word = (const char *)&hp_away_nobody + hp_away_least_at;

	return atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

static inline bool hp_away_is_asked(void)
{
	return hp_away_least() != 0;
}

/* In front of the real call: ticks; 0 = nobody asks, or the thread may read no clock. */
static inline uint64_t hp_away_begin(void)
{
	return HP_UNLIKELY(hp_away_is_asked()) ? hp_ticks() : 0;
}

/* Behind it.  `on` 0: what the descriptor `fd` is. */
static inline void hp_away_end(uint64_t since, enum hp_wait_on on, int fd)
{
	if (HP_LIKELY(since == 0))
		return;
	if (hp_clock_between(since, hp_ticks()) >= hp_away_least())
		hp_away_note(since, on, fd);
}

/* A statement with a call that may wait. */
#define HP_AWAY(statement, on, fd) \
	do { \
		uint64_t hp_away_since = hp_away_begin(); \
\
		statement; \
		hp_away_end(hp_away_since, on, fd); \
	} while (0)

#endif
