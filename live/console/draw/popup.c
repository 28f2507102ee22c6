/* SPDX-License-Identifier: MIT */
/*
 * popup.c - popups: help, a row in full, sort columns, list of programs.
 */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "live/console/draw/draw.h"
#include "live/console/draw/wrap.h"
#include "live/console/state/cell.h"
#include "live/console/state/help.h"
#include "live/console/state/popup.h"
#include "report/base/format.h"

/* A centred box; returns its inside. */
static struct hp_area box_draw(int height, int width, const char *title)
{
	int most = hp_screen.height - 2, wide = hp_screen.width - 2, y, x;

	height = height < most ? height : most;
	width = width < wide ? width : wide;
	y = (hp_screen.height - height) / 2;
	x = (hp_screen.width - width) / 2;
	hp_box(y, x, height, width, title);
	return (struct hp_area){ y + 1, x + 2, height - 2, width - 4 };
}

static void help_draw(struct hp_app *app)
{
	struct hp_area area =
		box_draw((int)hp_key_help_count + 2, 76, "Keys (press any key to return)");

	if (app->popup_top + (size_t)area.height > hp_key_help_count)
		app->popup_top = hp_key_help_count > (size_t)area.height
					 ? hp_key_help_count - (size_t)area.height
					 : 0;
	for (int i = 0; i < area.height && app->popup_top + (size_t)i < hp_key_help_count; i++) {
		const struct hp_key_help *help = &hp_key_helps[app->popup_top + (size_t)i];

		hp_put(area.y + i, area.x, 16, HP_INK_STRONG, HP_LEFT, HP_CUT_END, help->keys);
		hp_put(area.y + i, area.x + 17, area.width - 17, HP_INK_PLAIN, HP_LEFT, HP_CUT_END,
		       help->what);
	}
}

/* Takes over the lines; `none` is there if there are none. */
static void lines_draw(struct hp_app *app, char **lines, size_t count, const char *title,
		       const char *none)
{
	struct hp_area area = box_draw(hp_screen.height * 4 / 5, hp_screen.width * 4 / 5, title);
	int y = 0;

	if (app->popup_top >= count)
		app->popup_top = count ? count - 1 : 0;
	for (size_t i = app->popup_top; i < count && y < area.height; i++) {
		int used =
			hp_draw_wrapped(area.y + y, area.x, area.width, area.height - y,
					lines[i][0] == ' ' ? HP_INK_DIM : HP_INK_PLAIN, lines[i]);

		y += used ? used : 1;
	}
	if (!count)
		hp_print(area.y, area.x, HP_INK_PLAIN, "%s", none);
	hp_lines_free(lines, count);
}

static void inspect_draw(struct hp_app *app)
{
	size_t count;
	char **lines = hp_inspect_lines(app, &count);

	lines_draw(app, lines, count, "Inspect (Esc returns)", "No row is selected.");
}

static void stacks_draw(struct hp_app *app)
{
	size_t count;
	char **lines = hp_stacks_lines(app, &count);

	lines_draw(app, lines, count, "Stacks of all threads (Esc returns, t refreshes)",
		   "No thread has a stack.");
}

/* Line 0 is the report's own order. */
static void sort_draw(struct hp_app *app)
{
	const struct hp_table *table = hp_app_table(app);
	struct hp_area area = box_draw((int)hp_popup_lines(app) + 2, 30, "Sort by");
	int y = 0;
	size_t line = 0;

	for (int i = -1; i < (int)table->column_count && y < area.height; i++) {
		if (i >= 0 && !table->columns[i].is_there)
			continue;
		if (hp_popup_lines(app) <= (size_t)area.height ||
		    line + (size_t)area.height > app->popup_top)
			hp_put(area.y + y++, area.x, area.width,
			       line == app->popup_top ? HP_INK_CHOSEN : HP_INK_PLAIN, HP_LEFT,
			       HP_CUT_END,
			       i < 0 ? "(order of the report)" : table->columns[i].title);
		line++;
	}
}

static void programs_draw(struct hp_app *app)
{
	const cJSON *list = app->programs ? hp_json_at(app->programs->json, "data") : NULL;
	struct hp_area area =
		box_draw((int)hp_popup_lines(app) + 4, 66, "Profiled programs (Enter selects one)");
	size_t i = 0;
	const cJSON *one;

	hp_put(area.y, area.x, area.width, HP_INK_HEAD, HP_LEFT, HP_CUT_END,
	       "Program                 PID       Runs for    Port");
	cJSON_ArrayForEach(one, list)
	{
		const cJSON *name = hp_json_at(one, "name"), *pid = hp_json_at(one, "pid");
		const cJSON *ns = hp_json_at(one, "elapsed_ns"), *port = hp_json_at(one, "port");
		struct hp_text_cell cell;
		char line[160];

		if ((int)i + 1 >= area.height)
			break;
		snprintf(line, sizeof(line), "%-18.18s %8.0f  %13s  %6.0f",
			 cJSON_IsString(name) ? name->valuestring : "?",
			 cJSON_IsNumber(pid) ? pid->valuedouble : 0,
			 hp_format_time(&cell, cJSON_IsNumber(ns) ? ns->valuedouble : 0),
			 cJSON_IsNumber(port) ? port->valuedouble : 0);
		hp_put(area.y + 1 + (int)i, area.x, area.width,
		       i == app->popup_top ? HP_INK_CHOSEN : HP_INK_PLAIN, HP_LEFT, HP_CUT_END,
		       line);
		i++;
	}
}

void hp_draw_popup(struct hp_app *app)
{
	static void (*const draws[])(struct hp_app *) = {
		[HP_POPUP_HELP] = help_draw,	 [HP_POPUP_INSPECT] = inspect_draw,
		[HP_POPUP_SORT] = sort_draw,	 [HP_POPUP_PROGRAMS] = programs_draw,
		[HP_POPUP_STACKS] = stacks_draw,
	};

	if (app->popup != HP_POPUP_NONE)
		draws[app->popup](app);
}
