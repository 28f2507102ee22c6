/* SPDX-License-Identifier: MIT */
/*
 * events.h - single waits, in the order of their times.
 */
#ifndef HP_REPORT_SECTION_FINDING_EVENTS_H
#define HP_REPORT_SECTION_FINDING_EVENTS_H

#include "report/section/finding/rule.h"
#include "segment/layout/sample.h"

/* Calls `add` for each wait that was recorded; for none if some had no room. */
void hp_survey_events(struct hp_survey *survey,
		      void (*add)(void *context, const struct hp_event *event), void *context);

#endif
