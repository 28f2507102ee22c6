/* SPDX-License-Identifier: MIT */
/*
 * extra.h - common members of several lists in JSON besides their columns.
 */
#ifndef HP_REPORT_SECTION_CORE_EXTRA_H
#define HP_REPORT_SECTION_CORE_EXTRA_H

#include "report/section/core/report.h"

struct cJSON;

/* `time_elapsed` and `total_elapsed_ns`. */
void hp_extra_add_elapsed(struct hp_report *report, struct cJSON *list);

/* `percentiles`, those that were requested. */
void hp_extra_add_percentiles(struct hp_report *report, struct cJSON *list);

/* `rss_timeline`, [ns, bytes] each; omitted if unknown. */
void hp_extra_add_sizes(struct hp_report *report, struct cJSON *list);

/* `live_timeline`, [ns, bytes] each; omitted if no allocations were recorded. */
void hp_extra_add_live(struct hp_report *report, struct cJSON *list);

#endif
