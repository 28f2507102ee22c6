/* SPDX-License-Identifier: MIT */
/*
 * draw.c - a frame, from top to bottom: target, tabs, views, time lines, list
 * title, the list with its panel, keys.
 */
#include "live/console/draw/draw.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "live/console/draw/wrap.h"
#include "live/console/state/cell.h"
#include "report/base/format.h"
#include "segment/clock.h"

#define STALE_S 3.0	/* and three intervals */

/* --- the first line --- */

static const char *text_at(const struct hp_page *page, const char *key)
{
	const cJSON *value = page->news ? hp_json_at(page->news->json, key) : NULL;

	return cJSON_IsString(value) ? value->valuestring : NULL;
}

struct state {
	const char *text;
	enum hp_ink ink;
};

static struct state state_of(const struct hp_app *app)
{
	static char text[64];
	double age = hp_app_age(app), stale = 3.0 * app->interval_ms / 1000;

	if (app->phase == HP_PHASE_OVER)
		return (struct state){ "● Ended", HP_INK_WARN };
	if (app->is_paused)
		return (struct state){ "● PAUSED", HP_INK_WARN };
	if (age < 0 && app->phase == HP_PHASE_FAILS)
		return (struct state){ "● No answer", HP_INK_BAD };
	if (age < 0)
		return (struct state){ "● Waiting", HP_INK_WARN };
	if (age > (stale > STALE_S ? stale : STALE_S)) {
		snprintf(text, sizeof(text), "● Stale, %.0f s old", age);
		return (struct state){ text, HP_INK_WARN };
	}
	return (struct state){ "● Live", HP_INK_GOOD };
}

/* 1:02:03 from a minute on; servers that only send text are shown as they are. */
static const char *uptime_text(const struct hp_page *page, const char *words)
{
	static char text[32];
	const cJSON *ns = hp_json_at(page->news->json, "uptime_ns");
	uint64_t seconds = cJSON_IsNumber(ns) ? hp_whole(ns->valuedouble / 1e9) : 0;

	if (seconds < 60)
		return words;
	snprintf(text, sizeof(text), "%u:%02u:%02u", (unsigned)(seconds / 3600),
		 (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60));
	return text;
}

static void title_draw(const struct hp_app *app)
{
	const char *comm = text_at(&app->status, "comm"), *uptime = text_at(&app->status, "uptime");
	struct state state = state_of(app);
	int x = 1 + hp_print(0, 0, HP_INK_TITLE, "hotpath") + 1;
	char text[320];

	if (app->pid > 0 && comm)
		snprintf(text, sizeof(text), "%s  pid %.0f", comm, app->pid);
	else if (app->pid > 0)
		snprintf(text, sizeof(text), "pid %.0f at %s", app->pid, app->source);
	else
		snprintf(text, sizeof(text), "%s", app->source);
	x += hp_print(0, x, HP_INK_STRONG, "%s", text) + 2;
	x += hp_print(0, x, state.ink, "%s", state.text) + 2;
	if (uptime && x < hp_screen.width)
		x += hp_print(0, x, HP_INK_PLAIN, "up %s", uptime_text(&app->status, uptime)) + 2;
	snprintf(text, sizeof(text), "every %.1f s", app->interval_ms / 1000.0);
	if (x + (int)strlen(text) < hp_screen.width)
		hp_print(0, hp_screen.width - (int)strlen(text), HP_INK_DIM, "%s", text);
}

/* --- tabs and views --- */

static int tabs_width(bool is_brief)
{
	int width = 0;

	for (size_t i = 0; i < HP_TAB_COUNT; i++)
		width += hp_width(is_brief ? hp_tabs()[i].brief : hp_tabs()[i].name) + 3;
	return width;
}

static void tabs_draw(struct hp_app *app)
{
	bool is_brief = tabs_width(false) > hp_screen.width;
	int x = 0;

	hp_put(1, 0, hp_screen.width, HP_INK_TAB, HP_LEFT, HP_CUT_END, "");
	for (size_t i = 0; i < HP_TAB_COUNT; i++) {
		size_t tab = (i + HP_TAB_ANSWERS) % HP_TAB_COUNT;
		int width = hp_print(1, x, tab == app->tab ? HP_INK_TAB_ON : HP_INK_TAB, "%zu %s",
				     i, is_brief ? hp_tabs()[tab].brief : hp_tabs()[tab].name);

		hp_spot_add(app, HP_SPOT_TAB, (int)tab, 1, x, width);
		x += width + 1;
	}
}

static int views_width(const struct hp_tab *tab, bool is_brief)
{
	int width = 1;

	for (size_t i = 0; tab->views[i]; i++) {
		const struct hp_view *view = tab->views[i];

		width += hp_width(is_brief && view->brief ? view->brief : view->name) + 2;
	}
	return width;
}

static void views_draw(struct hp_app *app)
{
	const struct hp_tab *tab = &hp_tabs()[app->tab];
	const struct hp_table *table = &hp_app_view(app)->table;
	bool is_brief = views_width(tab, false) + 16 > hp_screen.width;
	char text[160] = "";
	int x = 1, used = 0;

	for (unsigned i = 0; tab->views[i]; i++) {
		const struct hp_view *view = tab->views[i];
		int width = hp_print(2, x, i == app->sub[app->tab] ? HP_INK_SUB_ON : HP_INK_PLAIN,
				     "%s", is_brief && view->brief ? view->brief : view->name);

		hp_spot_add(app, HP_SPOT_VIEW, (int)i, 2, x, width);
		x += width + 2;
	}
	if (*table->filter)
		used = snprintf(text, sizeof(text), "/%s  ", table->filter);
	if (table->total)
		snprintf(text + used, sizeof(text) - (size_t)used, "[%zu/%zu]",
			 table->count ? table->chosen + 1 : 0, table->count);
	hp_put(2, x, hp_screen.width - x, *table->filter ? HP_INK_WARN : HP_INK_DIM, HP_RIGHT,
	       HP_CUT_END, text);
}

/* --- list title --- */

static void note_add(char *text, size_t size, const cJSON *list, const struct hp_note *note)
{
	size_t done = strlen(text);
	char room[HP_CELL_SIZE];

	if (note->title && *hp_value_text(hp_json_at(list, note->key), note->kind, room))
		snprintf(text + done, size - done, "%s%s %s", done ? "  " : "", note->title, room);
}

/* Also for nested lists, such as CPU's. */
static const char *description_of(const cJSON *list)
{
	static const char *const paths[] = { "description", "report/description",
					     "now/description" };

	for (size_t i = 0; i < 3; i++) {
		const cJSON *value = hp_json_at(list, paths[i]);

		if (cJSON_IsString(value))
			return value->valuestring;
	}
	return "";
}

static void notes_draw(const struct hp_app *app, int y)
{
	const struct hp_view_state *state = &app->views[app->tab][app->sub[app->tab]];
	const cJSON *list = state->page.news ? state->page.news->json : NULL;
	char text[1024] = "", line[1536];

	if (app->message_until_ns > hp_clock_raw_ns()) {
		hp_put(y, 0, hp_screen.width, HP_INK_WARN, HP_LEFT, HP_CUT_END, app->said);
		return;
	}
	if (*state->page.said && list) {
		snprintf(line, sizeof(line), "%s%s%s", state->page.said,
			 *state->page.remedy ? ": " : "", state->page.remedy);
		hp_put(y, 0, hp_screen.width, HP_INK_BAD, HP_LEFT, HP_CUT_END, line);
		return;
	}
	if (app->phase == HP_PHASE_OVER) {
		hp_put(y, 0, hp_screen.width, HP_INK_WARN, HP_LEFT, HP_CUT_END,
		       "The program has ended; these are its last figures. "
		       "a: another program");
		return;
	}
	for (size_t i = 0; i < HP_VIEW_NOTES && list; i++)
		note_add(text, sizeof(text), list, &state->view->notes[i]);
	snprintf(line, sizeof(line), " %s%s%s",
		 !list		      ? ""
		 : state->view->about ? state->view->about
				      : description_of(list),
		 *text ? "  " : "", text);
	hp_put(y, 0, hp_screen.width, HP_INK_DIM, HP_LEFT, HP_CUT_END, line);
}

/* --- the list, or the reason why it is missing --- */

/* The message for a page without an answer; server-wide problems come first. */
static const char *missing_text(const struct hp_page *page, const struct hp_app *app,
				const char **remedy, enum hp_ink *ink)
{
	static char text[400];
	double waited = (double)(hp_clock_raw_ns() - app->asked_ns) / 1e9;
	const struct hp_page *who = !app->status.news && *app->status.said ? &app->status : page;

	if (*who->said) {
		*remedy = who->remedy;
		*ink = who == page && page->status ? HP_INK_PLAIN : HP_INK_BAD;
		return who->said;
	}
	if (app->phase == HP_PHASE_OVER)
		return "The program ended before this was read.";
	if (waited < 2)
		return "Asking …";
	snprintf(text, sizeof(text), "%s%shas not answered for %.0f s.",
		 app->is_local ? "The program's record" : app->source, " ", waited);
	*remedy = app->is_local ? "Large programs take a while: their symbols are read first."
				: "The next attempt is in 5 s.";
	return text;
}

static void absence_draw(const struct hp_page *page, const char *empty, struct hp_area area,
			 const struct hp_app *app)
{
	const cJSON *message = page->news ? hp_json_at(page->news->json, "message") : NULL;
	const char *text = empty, *remedy = "";
	enum hp_ink ink = HP_INK_PLAIN;
	int y = area.y + (area.height > 6 ? 2 : 1), width = area.width - 4;

	if (!page->news)
		text = missing_text(page, app, &remedy, &ink);
	else if (cJSON_IsString(message))
		text = message->valuestring;
	y += hp_draw_wrapped(y, area.x + 2, width, 4, ink, text);
	hp_draw_wrapped(y, area.x + 2, width, 4, HP_INK_DIM, remedy);
}

static void list_draw(struct hp_app *app, struct hp_area area)
{
	struct hp_view_state *state = hp_app_view(app);

	app->list_area = (struct hp_area){ .height = 0 };
	if (state->page.news && (state->table.count || *state->table.filter))
		hp_draw_table(&state->table, area, app->focus == HP_FOCUS_LIST || !app->has_logs,
			      app, &app->list_area);
	else
		absence_draw(&state->page, state->view->empty, area, app);
}

static void logs_draw(struct hp_app *app, struct hp_area area)
{
	const struct hp_table *list = &hp_app_view(app)->table;
	const char *empty = "this list has no logs";
	char name[HP_CELL_SIZE] = "", title[HP_CELL_SIZE + 16];
	struct hp_area inside = { area.y + 1, area.x + 1, area.height - 2, area.width - 2 };

	if (list->count)
		for (size_t i = 0; i < list->column_count; i++)
			if (list->columns[i].field->kind == HP_KIND_NAME)
				hp_table_cell(list, &list->rows[list->chosen], &list->columns[i],
					      name);
	snprintf(title, sizeof(title), "Log of %s", *name ? name : "nothing");
	hp_box(area.y, area.x, area.height, area.width, title);
	app->logs_area = (struct hp_area){ .height = 0 };
	if (*app->logs_path)
		empty = "no log yet";
	if (app->logs_page.news && app->logs.count)
		hp_draw_table(&app->logs, inside, app->focus == HP_FOCUS_LOGS, NULL,
			      &app->logs_area);
	else if (*app->logs_path)
		absence_draw(&app->logs_page, empty, inside, app);
	else
		hp_draw_wrapped(inside.y + 1, inside.x + 1, inside.width - 2, 2, HP_INK_PLAIN,
				empty);
}

/* Beside the list if there is room, else below it. */
static void main_draw(struct hp_app *app, struct hp_area area)
{
	struct hp_area other = area;

	if (!app->has_logs) {
		list_draw(app, area);
		return;
	}
	if (area.width >= 120) {
		area.width = area.width / 2;
		other.x += area.width + 1;
		other.width -= area.width + 1;
	} else {
		area.height = area.height / 2;
		other.y += area.height;
		other.height -= area.height;
	}
	list_draw(app, area);
	logs_draw(app, other);
}

/* --- the last line --- */

static const char *const keys_shown[][2] = {
	{ "F1", "Help" },    { "q", "Quit" },	  { "/", "Filter" },   { "<>", "Sort" },
	{ "o", "Logs" },     { "i", "Inspect" },  { "p", "Pause" },    { "s", "Save" },
	{ "Space", "Fold" }, { "c", "Snapshot" }, { "a", "Programs" },
};

static void keys_draw(const struct hp_app *app)
{
	const struct hp_view_state *state = &app->views[app->tab][app->sub[app->tab]];
	enum hp_form form = state->view->form;
	int y = hp_screen.height - 1, x = 0;

	if (app->is_typing) {
		x = hp_print(y, 0, HP_INK_KEY, " Filter: ");
		x += hp_print(y, x, HP_INK_PLAIN, "%s", state->table.filter);
		hp_cursor(y, x < hp_screen.width ? x : hp_screen.width - 1);
		return;
	}
	for (size_t i = 0; i < sizeof(keys_shown) / sizeof(keys_shown[0]); i++) {
		const char *key = keys_shown[i][0], *what = keys_shown[i][1];
		bool is_of_rows = strcmp(key, "<>") == 0 || strcmp(key, "i") == 0;
		bool is_of_form = strcmp(key, "Space") == 0, is_of_cpu = strcmp(key, "c") == 0;

		if ((is_of_form && (form == HP_FORM_LIST || form == HP_FORM_TEXT)) ||
		    (is_of_rows && form == HP_FORM_TEXT) ||
		    (is_of_cpu && strcmp(state->view->name, "CPU") != 0) ||
		    (strcmp(key, "o") == 0 && !state->view->logs) ||
		    (strcmp(key, "a") == 0 && !app->is_local))
			continue;
		if (x + hp_width(key) + hp_width(what) + 3 > hp_screen.width)
			break;
		x += hp_print(y, x, HP_INK_KEY, " %s ", key);
		x += hp_print(y, x, HP_INK_PLAIN, "%s ", what);
	}
}

void hp_app_draw(struct hp_app *app)
{
	int height = hp_screen.height, y = 3, trend = height >= 34 ? 4 : height >= 12 ? 1 : 0;
	struct hp_area area;

	hp_screen_begin();
	app->spot_count = 0;
	app->width = hp_screen.width;
	title_draw(app);
	tabs_draw(app);
	views_draw(app);
	if (trend)
		hp_draw_trend(app, y, trend);
	y += trend;
	notes_draw(app, y++);
	area = (struct hp_area){ y, 0, height - 1 - y, hp_screen.width };
	if (area.height > 0)
		main_draw(app, area);
	keys_draw(app);
	hp_draw_popup(app);
	hp_screen_end();
}
