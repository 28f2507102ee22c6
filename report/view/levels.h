/* SPDX-License-Identifier: MIT */
/*
 * levels.h - the segments of a session and their owners, in the head of a report
 * and in `meta` of its JSON.
 */
#ifndef HP_REPORT_VIEW_LEVELS_H
#define HP_REPORT_VIEW_LEVELS_H

#include <stdio.h>

#include "report/read/level.h"

struct cJSON;

/* Nothing if the session has only the usual one. */
void hp_levels_write(const struct hp_model_levels *levels, FILE *out);

void hp_levels_json(const struct hp_model_levels *levels, struct cJSON *meta);

#endif
