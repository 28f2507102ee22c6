/* SPDX-License-Identifier: MIT */
/*
 * inspect.c - all data of a row as lines: formatted values first, then plain
 * numbers, then the call path.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/cell.h"
#include "live/console/state/popup.h"
#include "report/base/memory.h"

#define LINES_MAX 400
#define DEPTH_MAX 6

struct pad {
	char **lines;
	size_t count;
	size_t room;
};

static void line_add(struct pad *pad, char *line)
{
	if (pad->count >= LINES_MAX) {
		free(line);
		return;
	}
	pad->lines = hp_xgrow(pad->lines, pad->count, &pad->room, sizeof(*pad->lines));
	pad->lines[pad->count++] = line;
}

static void value_add(struct pad *pad, const cJSON *value, int depth);

static void children_add(struct pad *pad, const cJSON *value, int depth)
{
	const cJSON *child;

	if (depth >= DEPTH_MAX)
		return;
	cJSON_ArrayForEach(child, value) value_add(pad, child, depth);
}

static void value_add(struct pad *pad, const cJSON *value, int depth)
{
	const char *name = value->string ? value->string : "-";
	int pads = depth * 2, rest = 24 - pads > 1 ? 24 - pads : 1;

	if (cJSON_IsArray(value) || cJSON_IsObject(value)) {
		if (!value->child)
			return;
		line_add(pad, hp_xprintf("%*s%s", pads, "", name));
		children_add(pad, value, depth + 1);
	} else if (cJSON_IsString(value)) {
		line_add(pad, hp_xprintf("%*s%-*s %s", pads, "", rest, name, value->valuestring));
	} else if (cJSON_IsNumber(value)) {
		line_add(pad,
			 hp_xprintf("%*s%-*s %.15g", pads, "", rest, name, value->valuedouble));
	} else if (cJSON_IsBool(value)) {
		line_add(pad, hp_xprintf("%*s%-*s %s", pads, "", rest, name,
					 cJSON_IsTrue(value) ? "yes" : "no"));
	} else {
		line_add(pad, hp_xprintf("%*s%-*s -", pads, "", rest, name));
	}
}

/* Keys of the formatted row are not repeated. */
static void raw_add(struct pad *pad, const struct hp_table_row *row)
{
	const cJSON *child;
	bool has_title = false;

	cJSON_ArrayForEach(child, row->raw)
	{
		if (hp_json_at(row->data, child->string) || strcmp(child->string, "frames") == 0)
			continue;
		if (!has_title) {
			line_add(pad, hp_xstrdup(""));
			line_add(pad, hp_xstrdup("Plain numbers"));
			has_title = true;
		}
		value_add(pad, child, 1);
	}
}

static void frames_add(struct pad *pad, const cJSON *frames)
{
	const cJSON *frame;

	if (!cJSON_IsArray(frames) || !frames->child)
		return;
	line_add(pad, hp_xstrdup(""));
	line_add(pad, hp_xstrdup("Call path, innermost first"));
	cJSON_ArrayForEach(frame, frames)
	{
		const struct hp_field field = { .kind = HP_KIND_NAME };
		const struct hp_table_column column = { .field = &field };
		const struct hp_table_row row = { .frame = frame };
		const struct hp_table table = { .list = NULL };
		char room[HP_CELL_SIZE];

		line_add(pad, hp_xprintf("  %s", hp_table_cell(&table, &row, &column, room)));
	}
}

char **hp_inspect_lines(const struct hp_app *app, size_t *count)
{
	const struct hp_table *table = app->focus == HP_FOCUS_LOGS && app->has_logs
					       ? &app->logs
					       : &app->views[app->tab][app->sub[app->tab]].table;
	struct pad pad = { .lines = NULL };
	size_t place = table->chosen;

	while (place < table->count && table->rows[place].frame &&
	       table->rows[place].parent < table->count)
		place = table->rows[place].parent;
	if (place < table->count) {
		const struct hp_table_row *row = &table->rows[place];

		children_add(&pad, row->data, 0);
		if (row->raw != row->data)
			raw_add(&pad, row);
		frames_add(&pad, hp_json_at(row->raw, "frames"));
	}
	*count = pad.count;
	return pad.lines;
}

void hp_lines_free(char **lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(lines[i]);
	free(lines);
}
