/* SPDX-License-Identifier: MIT */
/*
 * event.c - see event.h.
 */
#include "sampler/sample/event.h"
#include "util/assert.h"

#define CHUNK_SIZE UINT64_C(65536)
#define CHUNK_EVENTS \
	(uint32_t)((CHUNK_SIZE - sizeof(struct hp_event_chunk)) / sizeof(struct hp_event))
#define SHARE_OF_SEGMENT 8	/* the largest share of it that events take */
#define EVENTS_MAX (UINT64_C(1) << 22)

void hp_sample_events_init(struct hp_sample_events *events, const struct hp_segment *segment,
			   struct hp_sampling *record)
{
	*events = (struct hp_sample_events){ .segment = segment, .record = record };
	events->most = segment->size / SHARE_OF_SEGMENT / sizeof(struct hp_event);
	if (events->most > EVENTS_MAX)
		events->most = EVENTS_MAX;
}

static bool chunk_new(struct hp_sample_events *events)
{
	uint64_t offset = hp_segment_take(events->segment, CHUNK_SIZE, HP_LINE);
	struct hp_event_chunk *chunk = hp_segment_at(events->segment, offset, CHUNK_SIZE);

	if (!chunk)
		return false;
	chunk->capacity = CHUNK_EVENTS;
	if (events->newest)
		events->newest->next = offset;
	else
		events->record->events = offset;
	events->newest = chunk;
	events->newest_count = 0;
	return true;
}

struct hp_event *hp_sample_events_add(struct hp_sample_events *events, const struct hp_event *event)
{
	bool is_full = !events->newest || events->newest_count == CHUNK_EVENTS;

	if (events->count >= events->most || (is_full && !chunk_new(events))) {
		events->record->event_lost++;
		return NULL;
	}
	HP_ASSERT(events->newest_count < CHUNK_EVENTS);
	struct hp_event *place = &events->newest->events[events->newest_count++];
	*place = *event;
	/* Readers see an event once it is complete. */
	__atomic_store_n(&events->newest->count, events->newest_count, __ATOMIC_RELEASE);
	events->record->event_count = ++events->count;
	return place;
}
