/* SPDX-License-Identifier: MIT */
/*
 * hook_api.c - HOTPATH_NAME, HOTPATH_RESULT, HOTPATH_LOCK and the macros
 * for channels, streams and event loops of include/hotpath.h.
 *
 * The shadow stack identifies the current call. A function's hook is called
 * with the stack pointer of its body, so frames of different functions differ
 * unless one was inlined into the other; for that case the report compares
 * names (report/read/label.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/call/block.h"
#include "preload/call/clock.h"
#include "preload/call/leave.h"
#include "preload/call/logged.h"
#include "preload/call/row.h"
#include "preload/call/stack.h"
#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/lock/lock.h"
#include "preload/loop/loop.h"
#include "preload/stream/stream.h"
#include "preload/thread/state.h"

/* The function of a call; NULL = none that is reported. */
static struct hp_function *function_of(const struct hp_local *me, const struct hp_frame *f)
{
	const struct hp_row *row = (const struct hp_row *)(uintptr_t)f->row;

	return row == me->root || row == me->other_row ? NULL : hp_row_function(me, row);
}

/* The frame below `f`, also in another part of the same stack; NULL = `f` is the lowest. */
static struct hp_frame *below(const struct hp_part **part, struct hp_frame *f)
{
	if (--f > (*part)->frames)
		return f;
	f = (struct hp_frame *)(uintptr_t)(*part)->resume;
	*part = (const struct hp_part *)(uintptr_t)(*part)->below;
	return *part ? f - 1 : NULL;
}

/* The function whose body has the stack pointer `cfa`, below its blocks; NULL = not recorded. */
static struct hp_function *function_at(const struct hp_local *me, uintptr_t cfa)
{
	const struct hp_part *part = me->stack->part;
	struct hp_frame *f = below(&part, me->top);

	while (f && (f->cfa & ~HP_GUEST_TAG) == cfa) {
		struct hp_function *function = function_of(me, f);

		if (!function || !hp_block_label(function->fn))
			return function;
		f = below(&part, f);
	}
	return NULL;
}

HP_EXPORT void hotpath_name(struct hotpath_block *name)
{
	struct hp_local *me = hp_local();
	struct hp_function *function;
	struct hp_label *label;
	int saved = errno;
	uint64_t since;

	if (me->state != HP_THREAD_OPEN)
		return;
	function = function_at(me, (uintptr_t)__builtin_dwarf_cfa());
	if (!function)
		return;
	since = hp_clock(me);
	hp_gate_shut(me);
	label = hp_block_name(name);
	if (label)
		function->label = (uint32_t)(hp_segment_offset(&hp_segment, label) / HP_LINE);
	hp_gate_open(me, since);
	errno = saved;
}

/* --- results --- */

static struct hp_results *results_of(struct hp_local *me, struct hp_function *function)
{
	struct hp_results *results;

	if (function->results)
		return (struct hp_results *)(me->base + (uint64_t)function->results * HP_LINE);
	results = hp_row_take(me, sizeof(*results) + me->logs_limit * sizeof(struct hp_result));
	if (!results)
		return NULL;
	results->capacity = me->logs_limit;
	function->results = (uint32_t)((uint64_t)((char *)results - me->base) / HP_LINE);
	return results;
}

/*
 * The place of a new result, or of the call's existing one. Its number may be
 * reused: readers get the number from the log, which only has ended calls.
 */
static struct hp_result *result_place(struct hp_results *results, struct hp_frame *f)
{
	struct hp_result *place = &results->ring[f->result % results->capacity];

	if (!(f->weight & HP_WEIGHT_RESULT) || place->number != (uint32_t)f->result) {
		/* 0 means none. */
		results->last += results->last == UINT32_MAX ? 2 : 1;
		f->result = results->last;
		place = &results->ring[f->result % results->capacity];
	}
	return place;
}

static void result_store(struct hp_local *me, struct hp_frame *f, const char *text)
{
	struct hp_results *results = results_of(me, function_of(me, f));
	struct hp_result *place;

	if (!results)
		return;
	place = result_place(results, f);
	hp_result_put(place, (uint32_t)f->result, text,
		      (uint32_t)hp_block_text(text, HP_RESULT_MAX));
	f->weight |= HP_WEIGHT_RESULT;
}

/* The innermost call that is recorded, seen from a body with the stack pointer `cfa`. */
static struct hp_frame *frame_at(struct hp_local *me, uintptr_t cfa)
{
	struct hp_frame *f;

	/* A different stack than at the last hook. */
	if (cfa < me->stack->low || cfa > me->stack->high)
		return NULL;
	if (me->top[-1].cfa < cfa)
		hp_leave_below(cfa);
	f = me->top - 1;
	return f > me->stack->part->frames ? f : NULL;
}

HP_EXPORT void hotpath_result(const char *text)
{
	struct hp_local *me = hp_local();
	int saved = errno;
	struct hp_frame *f;
	uint64_t since;

	if (me->state != HP_THREAD_OPEN || !text || !me->logs_limit)
		return;
	f = frame_at(me, (uintptr_t)__builtin_dwarf_cfa());
	/* An untimed call has no log entry. */
	if (!f || (f->weight & ~HP_WEIGHT_TALLY) == 0 || !function_of(me, f))
		return;
	since = hp_clock(me);
	hp_gate_shut(me);
	result_store(me, f, text);
	hp_gate_open(me, since);
	errno = saved;
}

HP_EXPORT void hotpath_label(int what, const void *object, const char *label)
{
	int saved = errno;

	if (what == HOTPATH_LABEL_LOCK && object && label && label[0])
		hp_lock_label((uintptr_t)object, label);
	else if ((what & 0xff) == HOTPATH_MARK_LOOP)
		hp_loop_label(label);
	else if ((what & 0xff) >= HOTPATH_MARK_STREAM)
		hp_stream_mark(what, object, label, HP_CALLER);
	else
		hp_channel_mark(what, object, label, HP_CALLER);
	errno = saved;
}
