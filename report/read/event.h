/* SPDX-License-Identifier: MIT */
/*
 * event.h - single samples and waits with their time stamps.
 */
#ifndef HP_REPORT_READ_EVENT_H
#define HP_REPORT_READ_EVENT_H

#include "report/read/model.h"
#include "segment/layout/sample.h"

/*
 * Called with the events of each chunk, `count` of them; the events need not be aligned. False =
 * none of them is of interest.
 */
typedef bool hp_events_want(void *context, const struct hp_event_chunk *chunk, const char *events);

/*
 * Calls `add` for each event in the record, in the order in which the sampler wrote them. Their
 * nodes may be out of range, since a segment may be damaged.
 */
void hp_events_each(const struct hp_model *model,
		    void (*add)(void *context, const struct hp_event *event), void *context);

/* The same, but only for the chunks that are wanted; NULL = all. */
void hp_events_each_wanted(const struct hp_model *model, hp_events_want *want,
			   void (*add)(void *context, const struct hp_event *event), void *context);

#endif
