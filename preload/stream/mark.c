/* SPDX-License-Identifier: MIT */
/*
 * mark.c - HOTPATH_STREAM and the other macros for streams in include/hotpath.h.
 */
#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/stream/stream.h"

static struct hp_stream_open *opens(uint64_t key, enum hp_stream_origin origin, const char *label,
				    uintptr_t caller)
{
	const struct hp_stream_wish wish = {
		.kind = HP_STREAM_CUSTOM, .origin = origin, .caller = caller, .label = label
	};

	return hp_stream_is_on() ? hp_stream_opens(key, &wish) : NULL;
}

/*
 * An unknown object starts a stream.  Most bytes of a large item are reported before it and
 * kept in `start`, which other streams use for positions.
 */
static void item(uint64_t key, uint64_t size, bool is_more, const char *text, uintptr_t caller)
{
	struct hp_stream_open *open = hp_stream_of(key);
	struct hp_stream_part *part;

	open = open ? open : opens(key, HP_STREAM_FIRST, NULL, caller);
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (!part)
		return;
	if (is_more) {
		atomic_fetch_add_explicit(&open->start, size << HOTPATH_MORE_BITS,
					  memory_order_relaxed);
		return;
	}
	if (HP_UNLIKELY(atomic_load_explicit(&open->start, memory_order_relaxed)))
		size += atomic_exchange_explicit(&open->start, 0, memory_order_relaxed);
	hp_stream_items(part, 1, size, text);
}

static void ends(uint64_t key, enum hp_stream_end how)
{
	struct hp_stream_open *open = hp_stream_of(key);

	if (open)
		hp_stream_ends(open, how);
}

void hp_stream_mark(int what, const void *object, const char *text, uintptr_t caller)
{
	uint64_t key = (uint64_t)(uintptr_t)object | HP_STREAM_KEY_CUSTOM;
	uint64_t size = (unsigned)what >> 8;

	switch (what & 0xff) {
	case HOTPATH_MARK_STREAM:
		opens(key, HP_STREAM_OPENED, text, caller);
		break;
	case HOTPATH_MARK_ITEM:
	case HOTPATH_MARK_MORE:
		item(key, size, (what & 0xff) == HOTPATH_MARK_MORE, text, caller);
		break;
	case HOTPATH_MARK_ENDED:
		ends(key, HP_STREAM_ENDED);
		break;
	case HOTPATH_MARK_FAILED:
		ends(key, HP_STREAM_FAILED);
		break;
	}
}
