/* SPDX-License-Identifier: MIT */
/*
 * event.h - samples and waits by time, in the segment, up to a bound.
 */
#ifndef HP_SAMPLER_SAMPLE_EVENT_H
#define HP_SAMPLER_SAMPLE_EVENT_H

#include "segment/segment.h"
#include "segment/layout/sample.h"

struct hp_sample_events {
	const struct hp_segment *segment;
	struct hp_sampling *record;
	struct hp_event_chunk *newest;
	uint32_t newest_count;	/* events in it, and in total: members may write there */
	uint64_t count;
	uint64_t most;
};

void hp_sample_events_init(struct hp_sample_events *events, const struct hp_segment *segment,
			   struct hp_sampling *record);
/* Returns its place, NULL = no room. */
struct hp_event *hp_sample_events_add(struct hp_sample_events *events,
				      const struct hp_event *event);

#endif
