/* SPDX-License-Identifier: MIT */
/*
 * events.h - single waits, in chronological order.
 */
#ifndef HP_REPORT_SECTION_FINDING_EVENTS_H
#define HP_REPORT_SECTION_FINDING_EVENTS_H

#include "report/section/finding/rule.h"
#include "segment/layout/sample.h"

/* Calls `add` for each recorded wait; for none if some were dropped. */
void hp_survey_events(struct hp_survey *survey,
		      void (*add)(void *context, const struct hp_event *event), void *context);

#endif
