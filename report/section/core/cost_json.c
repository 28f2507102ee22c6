/* SPDX-License-Identifier: MIT */
/* cost_json.c - see cost_json.h. */
#include "report/section/core/cost_json.h"

#include <math.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/read/cost.h"

void hp_cost_json(cJSON *to, const struct hp_model *model)
{
	struct hp_cost cost = hp_cost_of(model);

	hp_json_whole(to, "profiling_cost_ns", hp_whole(rint(cost.ns)));
	hp_json_whole(to, "profiling_cost_low_ns", hp_whole(floor(cost.low_ns)));
	if (!cost.is_least) {
		hp_json_whole(to, "profiling_cost_high_ns", hp_whole(ceil(cost.high_ns)));
		hp_json_whole(to, "profiling_cost_error_ns", hp_whole(rint(cost.error_ns)));
	}
	hp_json_whole(to, "profiling_hooks_ns", model->overhead_ns);
	if (cost.helper_ns > 0)
		hp_json_whole(to, "profiling_helper_ns", hp_whole(cost.helper_ns));
}
