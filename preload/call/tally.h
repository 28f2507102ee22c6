/* SPDX-License-Identifier: MIT */
/*
 * tally.h - what calls of instrumented functions allocate.
 *
 * A call that allocates gets a tally, and a bit in its frame's weight, which
 * brings its exit to the long way; all others cost nothing.  When it ends, its
 * sum is charged to its function, and its tally goes on to its caller, with the
 * sum as what callees took.  So there is a tally for each frame that is charged,
 * at most, and a recursion is no trouble.
 *
 * Highest net (HOTPATH_ALLOC_METRIC=bytes-max, count-max): what the thread has
 * allocated less what it has freed, above what that was at entry.  As nothing
 * happened between a frame's entry and the tally that it gets first, its caller
 * without one began with the same figure.
 */
#ifndef HP_PRELOAD_CALL_TALLY_H
#define HP_PRELOAD_CALL_TALLY_H

#include "preload/guest/guest.h"
#include "preload/heap/heap.h"

/* The net is followed, too: set before any thread has a heap. */
extern bool hp_tally_has_most;

/* The call on top gets its tally; NULL = no room. */
struct hp_tally *hp_tally_attach(struct hp_local *local, struct hp_frame *f);

/*
 * The frame on top is of a call that `sp` has left, or of another stack: the one
 * that is charged instead; NULL = none.
 */
struct hp_frame *hp_tally_frame(struct hp_local *local, uintptr_t sp);

/* A block of `size` bytes is going to be recorded, or one to be freed: the net. */
void hp_tally_follow(struct hp_heap_local *me, struct hp_tally *tally, uint64_t size);
void hp_tally_free(struct hp_heap_local *me);

/* `f`, with HP_WEIGHT_TALLY, ends.  Returns what this cost, fine ticks. */
uint64_t hp_tally_end(struct hp_local *local, struct hp_frame *f, uint64_t now);

/* What `f` has goes to `to`, which stands for the same call or its caller. */
void hp_tally_pass(struct hp_local *local, struct hp_frame *f, struct hp_frame *to);

/* `f` is dropped: it was never seen as a call. */
void hp_tally_drop(struct hp_local *local, struct hp_frame *f);

/* A block of `size` bytes was allocated in the call on top; its record comes after this. */
static inline void hp_tally_add(struct hp_heap_local *me, uint64_t size)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct hp_local *local = me->calls;
	struct hp_frame *f = local->top - 1;
	struct hp_tally *tally;

	if (HP_UNLIKELY(f->cfa < sp || sp < local->low)) {
		f = hp_tally_frame(local, sp);
		if (!f)
			return;
	}
	tally = (struct hp_tally *)(uintptr_t)f->tally;
	if (HP_UNLIKELY(!(f->weight & HP_WEIGHT_TALLY))) {
		tally = hp_tally_attach(local, f);
		if (!tally)
			return;
	}
	tally->bytes += size;
	tally->count++;
	if (HP_UNLIKELY(hp_tally_has_most))
		hp_tally_follow(me, tally, size);
}

#endif
