/* SPDX-License-Identifier: MIT */
/*
 * page_timeline.h - each thread's activity over time, from the kernel's records,
 * in steps wide enough to be visible.
 */
#ifndef HP_REPORT_VIEW_PAGE_TIMELINE_H
#define HP_REPORT_VIEW_PAGE_TIMELINE_H

#include <cjson/cJSON.h>

#include "report/section/core/report.h"

/*
 * Of the last `span_ns`, 0 = of all.  Fresh:
 *
 *   {"from_ns", "step_ns", "steps", "lost_count", "data": [{"name", "os_tid", "pid",
 *     "parts": {"cpu": [0.5, ...], "lock": [...]}}],
 *     "total_count", "has_more", "message"}
 *
 * Parts are shares of each step, 0 to 1; their sum may be less than 1: the rest was
 * ready or unknown. Waits are exact, `cpu` comes from samples. Threads without a
 * record in that time are omitted.
 */
cJSON *hp_page_timeline(struct hp_report *report, uint64_t span_ns);

#endif
