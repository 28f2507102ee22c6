/* SPDX-License-Identifier: MIT */
/*
 * json.c - a comparison as JSON.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/json.h"
#include "report/compare/lines.h"
#include "report/section/core/section.h"

static const char *const units[] = { "ns", "bytes", "count" };

static void number_add(cJSON *json, const char *key, double value)
{
	if (isfinite(value))
		cJSON_AddNumberToObject(json, key, value);
	else
		cJSON_AddNullToObject(json, key);
}

static void values_add(cJSON *json, const char *key, const double *values, size_t count)
{
	cJSON *list = cJSON_AddArrayToObject(json, key);

	for (size_t i = 0; i < count; i++)
		cJSON_AddItemToArray(list, isnan(values[i]) ? cJSON_CreateNull()
							    : cJSON_CreateNumber(values[i]));
}

static void figures_add(cJSON *json, const struct hp_compare *compare,
			const struct hp_compare_row *row, const struct hp_compare_ask *ask)
{
	cJSON_AddStringToObject(json, "verdict", hp_compare_word(row->verdict));
	number_add(json, "a", row->a);
	number_add(json, "b", row->b);
	number_add(json, "change", row->b - row->a);
	number_add(json, "change_percent", hp_compare_percent(row));
	cJSON_AddBoolToObject(json, "is_varying", row->is_varying);
	if (!isnan(row->chance)) {
		number_add(json, "chance", row->chance);
		number_add(json, "unseen_percent", 100 * row->unseen);
		cJSON_AddBoolToObject(json, "is_relative", !isnan(row->relative));
	}
	if (compare->run_count > 2) {
		values_add(json, "values_a", row->values, compare->a.count);
		values_add(json, "values_b", row->values + compare->a.count, compare->b.count);
	}
	cJSON_AddBoolToObject(json, "fails", hp_compare_fails(compare, row, ask));
}

static cJSON *row_json(const struct hp_compare *compare, const struct hp_compare_row *row,
		       const struct hp_compare_ask *ask)
{
	cJSON *json = cJSON_CreateObject();

	hp_json_text(json, "name", row->name);
	cJSON_AddStringToObject(json, "metric", row->measure->metric);
	cJSON_AddStringToObject(json, "unit", units[row->measure->unit]);
	figures_add(json, compare, row, ask);
	return json;
}

static void side_add(cJSON *json, const char *key, const struct hp_compare_side *side)
{
	cJSON *one = cJSON_AddObjectToObject(json, key);

	hp_json_text(one, "name", side->name);
	cJSON_AddNumberToObject(one, "runs", (double)side->count);
	number_add(one, "ready_percent", 100 * side->ready);
}

/* Differences worth a line: a change, or an unsure one; for times, the verdict as well. */
static bool is_told(const struct hp_compare_row *row)
{
	return row->verdict != HP_COMPARE_SAME || !isnan(row->chance);
}

static void section_add(cJSON *sections, const struct hp_compare *compare, size_t measure,
			const struct hp_compare_ask *ask)
{
	const struct hp_section *section = hp_compare_measures[measure].section;
	cJSON *one, *rows;
	size_t count = 0, changed = 0, shown = 0;

	if (cJSON_GetObjectItemCaseSensitive(sections, section->json))
		return;
	one = cJSON_CreateObject();
	rows = cJSON_CreateArray();
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hp_compare_row *row = &compare->rows[i];

		if (row->measure->section != section)
			continue;
		count++;
		changed += hp_compare_is_change(row);
		if (is_told(row) && (!ask->rows || shown < ask->rows)) {
			cJSON_AddItemToArray(rows, row_json(compare, row, ask));
			shown++;
		}
	}
	cJSON_AddNumberToObject(one, "total_count", (double)count);
	cJSON_AddNumberToObject(one, "changed_count", (double)changed);
	if (compare->sections[measure])
		cJSON_AddStringToObject(one, "left_out", compare->sections[measure]);
	cJSON_AddItemToObject(one, "rows", rows);
	cJSON_AddItemToObject(sections, section->json, one);
}

void hp_compare_json_write(const struct hp_compare *compare, const struct hp_compare_ask *ask,
			   FILE *out)
{
	cJSON *json = cJSON_CreateObject(), *summary, *sections;
	char *text;

	side_add(json, "a", &compare->a);
	side_add(json, "b", &compare->b);
	cJSON_AddBoolToObject(json, "times_judged", !compare->refused);
	if (compare->refused)
		cJSON_AddStringToObject(json, "times_refused", compare->refused);
	else
		cJSON_AddBoolToObject(json, "times_weak", compare->is_weak);
	summary = cJSON_AddObjectToObject(json, "summary");
	for (size_t i = 0; i < compare->row_count; i++)
		if (!compare->rows[i].measure->section)
			figures_add(cJSON_AddObjectToObject(summary,
							    compare->rows[i].measure->value),
				    compare, &compare->rows[i], ask);
	sections = cJSON_AddObjectToObject(json, "sections");
	for (size_t i = 0; i < hp_compare_measure_count; i++)
		if (hp_compare_measures[i].section)
			section_add(sections, compare, i, ask);
	text = cJSON_PrintUnformatted(json);
	fprintf(out, "%s\n", text ? text : "{}");
	cJSON_free(text);
	cJSON_Delete(json);
}
