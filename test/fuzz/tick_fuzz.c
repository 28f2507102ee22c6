/* SPDX-License-Identifier: MIT */
/*
 * tick_fuzz.c - rings that threads of a profiled program write and the helper reads:
 * samples of CPU timers and off-CPU notes, as left by a program that writes out of
 * bounds.  The input is the rings' contents: head, tail, then words.
 */
#include <stdlib.h>

#include "sampler/session/size.h"
#include "sampler/session/cpu_timer.h"
#include "segment/segment.h"
#include "test/fuzz/fuzz.h"

#define SEGMENT_SIZE (4 << 20)
#define MOMENT UINT64_C(1000000000000)

static void *record_new(const struct hp_segment *segment, size_t size, uint64_t *at)
{
	*at = hp_segment_take(segment, size, HP_LINE);
	return hp_segment_at(segment, *at, size);
}

static void words_put(uint64_t *words, size_t most, const uint8_t *data, size_t size)
{
	memcpy(words, data, size < most * sizeof(*words) ? size : most * sizeof(*words));
}

/* One ring of each kind; the input decides where the second one's list leads. */
static void rings_make(const struct hp_segment *segment, const uint8_t *data, size_t size)
{
	struct hp_ticking *ticking = (struct hp_ticking *)((char *)segment->header + HP_TICKING_AT);
	uint64_t first[4] = { 0 }, ticker_at, ring_at;
	struct hp_ticker *ticker = record_new(segment, sizeof(*ticker), &ticker_at);
	struct hp_offcpu_ring *ring = record_new(segment, sizeof(*ring), &ring_at);

	if (!ticker || !ring)
		abort();
	memcpy(first, data, size < sizeof(first) ? size : sizeof(first));
	data += size < sizeof(first) ? size : sizeof(first);
	size -= size < sizeof(first) ? size : sizeof(first);
	ticker->head = ring->head = first[0];
	ticker->tail = ring->tail = first[1];
	ticker->next = ring->next = first[2];
	ticker->process = ring->process = first[3];
	ticker->state = ring->state = HP_TAKEN;
	ring->pid = ring->tid = (uint32_t)first[3];
	words_put(ticker->words, HP_TICKER_WORDS, data, size);
	words_put(ring->words, HP_OFFCPU_WORDS, data, size);
	ticking->interval_ns = 1000000;
	ticking->tickers = ticker_at;
	ticking->offcpu_rings = ring_at;
	ticking->is_on = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hp_samples samples;
	static struct hp_members members;
	static struct hp_ticks ticks;
	static struct hp_perf perf;
	static struct hp_settings settings;
	struct hp_segment_wish wish = { .size = SEGMENT_SIZE, .token = "0123456789abcdef" };
	struct hp_segment segment;
	struct hp_offcpu_notes notes;
	uint64_t at;

	if (hp_segment_create(&segment, &wish) < 0)
		abort();
	members = (struct hp_members){ .segment = &segment,
				       .segments = { .at = { &segment }, .count = 1 },
				       .epoll = -1 };
	perf = (struct hp_perf){ .segment = &segment, .settings = &settings, .members = &members };
	perf.record = record_new(&segment, sizeof(*perf.record), &at);
	if (!perf.record || !hp_samples_init(&samples, &segment, perf.record))
		abort();
	rings_make(&segment, data, size);
	hp_offcpu_notes_ask(&notes, &members.segments, &samples);
	hp_offcpu_notes_read(&notes, MOMENT);
	hp_samples_release(&samples);
	memset(&ticks, 0, sizeof(ticks));
	hp_ticks_init(&ticks, &perf);
	hp_ticks_read(&ticks);
	hp_members_scan(&members);
	hp_sizes_live(&segment);
	hp_samples_release(&ticks.samples);
	hp_segment_release(&segment);
	return 0;
}
