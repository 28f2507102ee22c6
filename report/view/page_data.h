/* SPDX-License-Identifier: MIT */
/*
 * page_data.h - the web page's data, in JSON.
 */
#ifndef HP_REPORT_VIEW_PAGE_DATA_H
#define HP_REPORT_VIEW_PAGE_DATA_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "report/section/core/report.h"

/*
 * The complete run, fresh: program, times, memory, and `sections`: each one's
 * data, or why it is empty.
 */
cJSON *hp_page_overview(struct hp_report *report);

/*
 * {"overview": ..., "flame": ..., "timeline": ..., "sections": {"functions_timing": ...}}, with no
 * character that could close the enclosing element of a page.
 */
void hp_page_data_write(struct hp_report *report, FILE *out);

#endif
