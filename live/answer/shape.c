/* SPDX-License-Identifier: MIT */
/*
 * shape.c - see shape.h.
 *
 * Keys unknown to 0.18 are removed: its console refuses a function entry with a
 * key that is not a text, except percentiles, and so `sampled_calls`.
 */
#include "live/answer/shape.h"

#include <cjson/cJSON.h>
#include <stddef.h>

#include "report/section/core/list.h"
#include "segment/setting.h"

static const char *const list_late[] = { "total_count", "included_count" };

/* Entry keys added after 0.18. */
static const char *const entry_late[] = {
	"sampled_calls", "location",	       "instances",	      "closed_instances",
	"delay_avg",	 "delay_percentiles",  "delay_sampled_count", "sampled_polls",
	"sampled_count", "read_sampled_count", "write_sampled_count",
};

/* List keys added after 0.18. */
static const char *const threads_late[] = { "rss_bytes_max" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void drop(cJSON *object, const char *const *keys, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cJSON_DeleteItemFromObjectCaseSensitive(object, keys[i]);
}

/* 0.18 has one row per created channel, with its wrapper. */
static void channel_fit(cJSON *entry)
{
	cJSON *average = cJSON_DetachItemFromObjectCaseSensitive(entry, "delay_avg");
	cJSON *percentiles = cJSON_DetachItemFromObjectCaseSensitive(entry, "delay_percentiles");

	cJSON_AddBoolToObject(entry, "wrap", 0);
	if (average)
		cJSON_AddItemToObject(entry, "proc_avg", average);
	if (percentiles)
		cJSON_AddItemToObject(entry, "proc_percentiles", percentiles);
}

void hp_shape_fit(cJSON *list, const struct hp_section *section, uint32_t api)
{
	cJSON *rows = cJSON_GetObjectItemCaseSensitive(list, "data"), *entry;

	if (api != HP_API_OLD)
		return;
	if (!rows)
		rows = cJSON_GetObjectItemCaseSensitive(list, "entries");
	drop(list, list_late, COUNT(list_late));
	if (section == &hp_threads_section)
		drop(list, threads_late, COUNT(threads_late));
	cJSON_ArrayForEach(entry, rows)
	{
		if (section == &hp_channels_section)
			channel_fit(entry);
		drop(entry, entry_late, COUNT(entry_late));
	}
}

void hp_shape_fit_logs(cJSON *list, uint32_t api)
{
	if (api == HP_API_OLD)
		cJSON_DeleteItemFromObjectCaseSensitive(list, "location");
}
