/* SPDX-License-Identifier: MIT */
/*
 * offcpu_note.h - where a thread waited, for the helper, which only knows when.
 *
 * The kernel tells every user when a thread left the CPU and returned, but
 * provides a stack only to users who may sample the kernel. For others the
 * helper requests notes (hp_ticking.offcpu_least), and stand-ins of calls that
 * may wait record after each long one: start and end, the caller, and a piece of
 * the stack, which is the same as before the call. The helper walks the stack,
 * and only for calls in which the thread was off the CPU.
 *
 * Without a request, that costs a load and a comparison; with one, two clock
 * readings. Nothing is held across the real call, so a call that is cancelled or
 * left by a jump merely has no note.
 *
 * Folder: preload/wait - when a thread is off the CPU, and where it is when it runs:
 *   notes that threads write about their waiting calls, and CPU timers.
 * May use: preload/heap preload/call preload/thread preload/guest segment segment/layout unwind util
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

#define HP_OFFCPU_NO_FD (-1)

/*
 * A word that is 0, and the distance of hp_ticking.offcpu_least from it, if requested:
 * not a pointer (preload/guest/early.h).
 */
extern __attribute__((visibility("hidden"))) const _Atomic uint32_t hp_offcpu_note_off;
extern __attribute__((visibility("hidden"))) ptrdiff_t hp_offcpu_note_least_at;

extern const struct hp_recorder hp_offcpu_note_recorder;

/* Records a wait of the call since then. errno is kept. */
void hp_offcpu_note_write(uint64_t since, enum hp_wait_on on, int fd);

static inline uint32_t hp_offcpu_note_least(void)
{
	const char *word = (const char *)&hp_offcpu_note_off + hp_offcpu_note_least_at;

	return atomic_load_explicit((const _Atomic uint32_t *)word, memory_order_relaxed);
}

static inline bool hp_offcpu_note_is_wanted(void)
{
	return hp_offcpu_note_least() != 0;
}

/* Before the real call: ticks; 0 = not requested, or the thread may not read the clock. */
static inline uint64_t hp_offcpu_note_begin(void)
{
	return HP_UNLIKELY(hp_offcpu_note_is_wanted()) ? hp_ticks() : 0;
}

/* After it.  `on` 0: the kind of descriptor `fd`. */
static inline void hp_offcpu_note_end(uint64_t since, enum hp_wait_on on, int fd)
{
	if (HP_LIKELY(since == 0))
		return;
	if (hp_clock_between(since, hp_ticks()) >= hp_offcpu_note_least())
		hp_offcpu_note_write(since, on, fd);
}

/* A statement with a call that may wait. */
#define HP_OFFCPU_NOTED(statement, on, fd) \
	do { \
		uint64_t hp_offcpu_note_since = hp_offcpu_note_begin(); \
\
		statement; \
		hp_offcpu_note_end(hp_offcpu_note_since, on, fd); \
	} while (0)

#endif
