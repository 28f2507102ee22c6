/* SPDX-License-Identifier: MIT */
/* cost_json.h - the cost of profiling (report/read/cost.h) in JSON: the same keys in every view. */
#ifndef HP_REPORT_SECTION_CORE_COST_JSON_H
#define HP_REPORT_SECTION_CORE_COST_JSON_H

#include <cjson/cJSON.h>

#include "report/read/model.h"

/* Its keys in `to`, and what the hooks alone cost by calibration. */
void hp_cost_json(cJSON *to, const struct hp_model *model);

#endif
