/* SPDX-License-Identifier: MIT */
/*
 * extra.c - see extra.h.
 */
#include "report/section/core/extra.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/read/size.h"

void hp_extra_add_elapsed(struct hp_report *report, cJSON *list)
{
	struct hp_text_cell cell;

	cJSON_AddStringToObject(list, "time_elapsed",
				hp_format_time(&cell, (double)report->model.elapsed_ns));
	hp_json_whole(list, "total_elapsed_ns", report->model.elapsed_ns);
}

void hp_extra_add_percentiles(struct hp_report *report, cJSON *list)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *array = cJSON_AddArrayToObject(list, "percentiles");

	for (uint32_t i = 0; i < percentiles->count; i++) {
		double at = percentiles->at[i];
		struct hp_text_cell cell;
		char text[64];

		/* A float for readers that distinguish floats from integers: 95.0. */
		snprintf(text, sizeof(text), "%s%s", hp_format_percentile(&cell, at),
			 at > floor(at) ? "" : ".0");
		cJSON_AddItemToArray(array, cJSON_CreateRaw(text));
	}
}

static void pair_add(cJSON *array, uint64_t ns, uint64_t bytes)
{
	double pair[] = { (double)ns, (double)bytes };

	cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(pair, 2));
}

void hp_extra_add_sizes(struct hp_report *report, cJSON *list)
{
	size_t count;
	struct hp_size_moment *moments = hp_sizes_read(&report->model, &count);
	cJSON *array = count ? cJSON_AddArrayToObject(list, "rss_timeline") : NULL;

	for (size_t i = 0; i < count; i++)
		pair_add(array, moments[i].ns, moments[i].rss_bytes);
	free(moments);
}

void hp_extra_add_live(struct hp_report *report, cJSON *list)
{
	size_t count, with = 0;
	struct hp_size_moment *moments = hp_sizes_read(&report->model, &count);
	cJSON *array;

	while (with < count && !moments[with].live_bytes)
		with++;
	array = with < count ? cJSON_AddArrayToObject(list, "live_timeline") : NULL;
	for (size_t i = 0; array && i < count; i++)
		pair_add(array, moments[i].ns, moments[i].live_bytes);
	free(moments);
}
