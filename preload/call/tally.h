/* SPDX-License-Identifier: MIT */
/*
 * tally.h - allocations of calls of instrumented functions.
 *
 * A call that allocates gets a tally, and a bit in its frame's weight, which
 * sends its exit to the slow path; all others cost nothing.  When it ends, its
 * sum is charged to its function, and its tally continues to its caller, with
 * the sum as its callees' part.  So each charged frame has at most one tally,
 * and recursion is harmless.
 *
 * Highest net (HOTPATH_ALLOC_METRIC=bytes-max, count-max): bytes that the
 * thread has allocated minus those freed, above the value at entry.  Nothing
 * happened between a frame's entry and its first tally, so its caller without
 * one began with the same figure.
 */
#ifndef HP_PRELOAD_CALL_TALLY_H
#define HP_PRELOAD_CALL_TALLY_H

#include "preload/guest/guest.h"
#include <stdbool.h>
#include <stdint.h>

#include "preload/call/local.h"

/* The net is tracked, too: set before any thread has a heap. */
extern bool hp_tally_has_most;

/*
 * Gives the top call its tally; NULL = no room.  `live`, `blocks`: bytes that the thread has
 * allocated minus those freed.
 */
struct hp_tally *hp_tally_attach(struct hp_local *local, struct hp_frame *f, int64_t live,
				 int64_t blocks);

/* `f`, with HP_WEIGHT_TALLY, ends.  Returns its own cost, fine ticks. */
uint64_t hp_tally_end(struct hp_local *local, struct hp_frame *f, uint64_t now);

/* `to`, which stands for the same call or its caller, gets the sums of `f`. */
void hp_tally_pass(struct hp_local *local, struct hp_frame *f, struct hp_frame *to);

/* `f` is dropped: it was never counted as a call. */
void hp_tally_drop(struct hp_local *local, struct hp_frame *f);

#endif
