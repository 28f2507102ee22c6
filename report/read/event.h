/* SPDX-License-Identifier: MIT */
/*
 * event.h - single samples and waits with their time stamps.
 */
#ifndef HP_REPORT_READ_EVENT_H
#define HP_REPORT_READ_EVENT_H

#include "report/read/model.h"
#include "segment/layout/sample.h"

/*
 * Calls `add` for each event in the record, in the order in which the sampler wrote them. Their
 * nodes may be out of range, since a segment may be damaged.
 */
void hp_events_each(const struct hp_model *model,
		    void (*add)(void *context, const struct hp_event *event), void *context);

#endif
