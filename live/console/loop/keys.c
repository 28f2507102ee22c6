/* SPDX-License-Identifier: MIT */
/*
 * keys.c - see keys.h.
 */
#include "live/console/loop/keys.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "live/console/state/cell.h"
#include "live/console/state/popup.h"
#include "segment/clock.h"

#define CTRL(letter) ((letter)-64)
#define GG_NS UINT64_C(500000000)

typedef void (*action)(struct hp_app *app);

/* --- destinations --- */

static void view_go(struct hp_app *app, unsigned tab, unsigned view)
{
	app->tab = tab;
	app->sub[tab] = view;
	app->focus = HP_FOCUS_LIST;
}

static unsigned view_count(unsigned tab)
{
	unsigned count = 0;

	while (hp_tabs()[tab].views[count])
		count++;
	return count;
}

/* The same key again: next view. */
static void tab_press(struct hp_app *app, unsigned tab)
{
	if (tab >= HP_TAB_COUNT)
		return;
	view_go(app, tab, tab == app->tab ? (app->sub[tab] + 1) % view_count(tab) : app->sub[tab]);
}

static void view_next(struct hp_app *app)
{
	view_go(app, app->tab, (app->sub[app->tab] + 1) % view_count(app->tab));
}

static void view_before(struct hp_app *app)
{
	unsigned count = view_count(app->tab);

	view_go(app, app->tab, (app->sub[app->tab] + count - 1) % count);
}

/* --- moving --- */

static void line_up(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), -1);
}

static void line_down(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), 1);
}

static long page_of(const struct hp_app *app)
{
	const struct hp_area *area =
		app->focus == HP_FOCUS_LOGS && app->has_logs ? &app->logs_area : &app->list_area;

	return area->height > 2 ? area->height - 1 : 1;
}

static void page_up(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), -page_of(app));
}

static void page_down(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), page_of(app));
}

static void first(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), INT32_MIN);
}

static void last(struct hp_app *app)
{
	hp_table_move(hp_app_table(app), INT32_MAX);
}

static void first_by_two(struct hp_app *app)
{
	uint64_t now = hp_clock_raw_ns();

	if (app->first_g_ns && now - app->first_g_ns < GG_NS)
		first(app);
	app->first_g_ns = now;
}

/* --- panel and popups --- */

static void logs_toggle(struct hp_app *app)
{
	if (!app->has_logs && !hp_app_view(app)->view->logs)
		hp_app_say(app, "this list has no logs; i inspects a row");
	app->has_logs = !app->has_logs && hp_app_view(app)->view->logs;
	app->focus = HP_FOCUS_LIST;
}

static void popup_open(struct hp_app *app, enum hp_popup popup)
{
	app->popup = popup;
	app->popup_top = 0;
}

static void inspect(struct hp_app *app)
{
	if (hp_app_table(app)->count)
		popup_open(app, HP_POPUP_INSPECT);
}

static void help(struct hp_app *app)
{
	popup_open(app, HP_POPUP_HELP);
}

static void sort_menu(struct hp_app *app)
{
	if (hp_app_table(app)->column_count)
		popup_open(app, HP_POPUP_SORT);
}

static void chosen_fold(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);
	size_t row = table->chosen;

	if (row < table->count && table->rows[row].frame)
		row = table->rows[row].parent;
	if (row < table->count && table->rows[row].has_children)
		hp_table_fold(table, row, !table->rows[row].is_open);
	else
		inspect(app);
}

static void enter(struct hp_app *app)
{
	if (hp_app_table(app)->form == HP_FORM_LIST)
		inspect(app);
	else
		chosen_fold(app);
}

static void all_fold(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);
	bool has_closed = false;

	for (size_t i = 0; i < table->count; i++)
		has_closed = has_closed || (table->rows[i].has_children && !table->rows[i].is_open);
	hp_table_fold_all(table, has_closed);
}

/* To the right: into the row, then into its logs. */
static void right(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);

	if (table->chosen < table->count && table->rows[table->chosen].has_children &&
	    !table->rows[table->chosen].is_open)
		hp_table_fold(table, table->chosen, true);
	else if (app->has_logs)
		app->focus = HP_FOCUS_LOGS;
}

/* To the left: out of the logs, then up the tree. */
static void left(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);

	if (app->focus == HP_FOCUS_LOGS) {
		app->focus = HP_FOCUS_LIST;
		return;
	}
	if (table->chosen >= table->count)
		return;
	if (table->rows[table->chosen].is_open)
		hp_table_fold(table, table->chosen, false);
	else if (table->rows[table->chosen].parent < table->count)
		hp_table_move(table, (long)table->rows[table->chosen].parent - (long)table->chosen);
}

static void focus_next(struct hp_app *app)
{
	if (!app->has_logs)
		view_next(app);
	else
		app->focus = app->focus == HP_FOCUS_LIST ? HP_FOCUS_LOGS : HP_FOCUS_LIST;
}

static void focus_before(struct hp_app *app)
{
	if (!app->has_logs)
		view_before(app);
	else
		app->focus = HP_FOCUS_LIST;
}

/* --- order and filter --- */

static void sort_left(struct hp_app *app)
{
	hp_table_sort_by_next(hp_app_table(app), -1);
}

static void sort_right(struct hp_app *app)
{
	hp_table_sort_by_next(hp_app_table(app), 1);
}

static void sort_invert(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);

	table->is_ascending = !table->is_ascending;
	hp_table_renew(table);
}

static void filter_begin(struct hp_app *app)
{
	app->focus = HP_FOCUS_LIST;
	app->is_typing = true;
}

static void escape(struct hp_app *app)
{
	struct hp_table *table = &hp_app_view(app)->table;

	app->message_until_ns = 0;
	if (*table->filter) {
		table->filter[0] = 0;
		hp_table_renew(table);
	} else if (app->focus == HP_FOCUS_LOGS) {
		app->focus = HP_FOCUS_LIST;
	} else {
		app->has_logs = false;
	}
}

/* --- the rest --- */

static void pause_toggle(struct hp_app *app)
{
	app->is_paused = !app->is_paused;
}

static void save(struct hp_app *app)
{
	const char *path = app->status.news && hp_trend_is_in(app->status.news->json)
				   ? "/report"
				   : hp_app_view(app)->view->route;

	hp_app_ask(app, "GET", path);
	app->asked.is_to_save = true;
}

static bool is_cpu(struct hp_app *app)
{
	if (strcmp(hp_app_view(app)->view->route, "/functions_cpu") == 0)
		return true;
	hp_app_say(app, "this key is for the view CPU of Functions; ? lists all keys");
	return false;
}

static void snapshot(struct hp_app *app)
{
	if (!is_cpu(app))
		return;
	hp_app_view(app)->table.skips_first = false;
	hp_app_ask(app, "POST", "/functions_cpu/snapshot");
}

/* Toggles between the snapshot and the running samples. */
static void snapshot_leave(struct hp_app *app)
{
	struct hp_view_state *state = hp_app_view(app);

	if (!is_cpu(app) || !state->page.news || !hp_json_at(state->page.news->json, "report"))
		return;
	if (!hp_json_at(state->page.news->json, "now")) {
		hp_app_say(app, "this server only has snapshots; c takes another one");
		return;
	}
	state->table.skips_first = !state->table.skips_first;
	hp_table_renew(&state->table);
	hp_app_say(app, state->table.skips_first
				? "samples up to now; n shows the snapshot again"
				: "the snapshot; n continues with samples up to now");
}

static void profile_open(struct hp_app *app)
{
	const struct hp_view_state *state = hp_app_view(app);
	const cJSON *path =
		state->page.news ? hp_json_at(state->page.news->json, "report/profile_path") : NULL;
	char ask[HP_FEED_PATH];

	if (!is_cpu(app))
		return;
	/* Only our server has samples up to now, and provides their profile over HTTP. */
	if (app->is_local || (state->page.news && hp_json_at(state->page.news->json, "now")))
		snprintf(ask, sizeof(ask), "%s%.0f", HP_VIEWER_PATH, app->pid);
	else if (cJSON_IsString(path) && strlen(path->valuestring) < HP_FEED_PATH - 32)
		snprintf(ask, sizeof(ask), "%s%s", HP_VIEWER_PATH, path->valuestring);
	else {
		hp_app_say(app, "no profile yet; c takes a snapshot");
		return;
	}
	hp_app_ask(app, "POST", ask);
	app->asked.said = "making the profile";
}

/* Shows the callers of the selected function. */
static void callers(struct hp_app *app)
{
	const struct hp_table *table = &hp_app_view(app)->table;
	const cJSON *id = table->chosen < table->count
				  ? hp_json_at(table->rows[table->chosen].data, "id")
				  : NULL;
	unsigned view = 0;

	if (strcmp(hp_app_view(app)->view->name, "Timing") != 0 || !cJSON_IsNumber(id)) {
		hp_app_say(app, "u works on a function in Timing: shows its callers");
		return;
	}
	while (!strstr(hp_tabs()[0].views[view]->route, "/callers"))
		view++;
	hp_app_callers(app, id->valuedouble);
	view_go(app, 0, view);
}

static void programs(struct hp_app *app)
{
	if (app->is_local)
		hp_app_ask(app, "GET", HP_PROGRAMS_PATH);
	else
		hp_app_say(app, "over HTTP there is one program; hotpath console without "
				"--metrics-host shows all");
}

static void stacks(struct hp_app *app)
{
	hp_app_say(app, "taking the stacks of all threads");
	hp_app_ask(app, "GET", "/stacks");
}

static void quit(struct hp_app *app)
{
	app->is_over = true;
}

static void nothing(struct hp_app *app)
{
	(void)app;
}

static const struct {
	uint32_t key;
	action act;
} actions[] = {
	{ 'q', quit },
	{ HP_KEY_F10, quit },
	{ 'k', line_up },
	{ HP_KEY_UP, line_up },
	{ 'j', line_down },
	{ HP_KEY_DOWN, line_down },
	{ HP_KEY_WHEEL_UP, line_up },
	{ HP_KEY_WHEEL_DOWN, line_down },
	{ HP_KEY_PAGE_UP, page_up },
	{ HP_KEY_PAGE_DOWN, page_down },
	{ CTRL('B'), page_up },
	{ CTRL('F'), page_down },
	{ 'g', first_by_two },
	{ HP_KEY_HOME, first },
	{ 'G', last },
	{ HP_KEY_END, last },
	{ '[', view_before },
	{ ']', view_next },
	{ HP_KEY_TAB, focus_next },
	{ HP_KEY_BACK_TAB, focus_before },
	{ 'l', right },
	{ HP_KEY_RIGHT, right },
	{ 'h', left },
	{ HP_KEY_LEFT, left },
	{ 'o', logs_toggle },
	{ 'i', inspect },
	{ '\n', enter },
	{ ' ', chosen_fold },
	{ '*', all_fold },
	{ '<', sort_left },
	{ ',', sort_left },
	{ '>', sort_right },
	{ '.', sort_right },
	{ HP_KEY_F6, sort_menu },
	{ 'S', sort_menu },
	{ 'I', sort_invert },
	{ '/', filter_begin },
	{ HP_KEY_F3, filter_begin },
	{ HP_KEY_F4, filter_begin },
	{ HP_KEY_ESCAPE, escape },
	{ 'p', pause_toggle },
	{ 's', save },
	{ 'c', snapshot },
	{ 'n', snapshot_leave },
	{ 'f', profile_open },
	{ 'u', callers },
	{ 'a', programs },
	{ 't', stacks },
	{ '?', help },
	{ HP_KEY_F1, help },
	{ HP_KEY_F5, nothing },
	{ HP_KEY_RESIZE, nothing },
};

/* --- popups --- */

static void sort_take(struct hp_app *app)
{
	struct hp_table *table = hp_app_table(app);
	size_t line = 0;
	int column = -1;

	for (int i = 0; i < (int)table->column_count; i++)
		if (table->columns[i].is_there && ++line == app->popup_top)
			column = i;
	table->sort = column;
	table->is_ascending = column >= 0 && hp_kind_is_text(table->columns[column].field->kind);
	hp_table_renew(table);
}

static void program_take(struct hp_app *app)
{
	const cJSON *list = app->programs ? hp_json_at(app->programs->json, "data") : NULL;
	const cJSON *one = cJSON_GetArrayItem(list, (int)app->popup_top);
	const cJSON *token = hp_json_at(one, "session");
	char path[HP_FEED_PATH];

	if (!cJSON_IsString(token))
		return;
	snprintf(path, sizeof(path), "%s%.40s", HP_ATTACH_PATH, token->valuestring);
	hp_app_ask(app, "POST", path);
}

static void popup_press(struct hp_app *app, uint32_t key)
{
	size_t lines = hp_popup_lines(app);
	bool is_down = key == 'j' || key == HP_KEY_DOWN || key == HP_KEY_WHEEL_DOWN;
	bool is_up = key == 'k' || key == HP_KEY_UP || key == HP_KEY_WHEEL_UP;

	if (is_down && app->popup_top + 1 < lines)
		app->popup_top++;
	if (is_up && app->popup_top)
		app->popup_top--;
	if (key == HP_KEY_PAGE_DOWN || key == HP_KEY_PAGE_UP || key == 'G' || key == HP_KEY_END)
		app->popup_top = key == HP_KEY_PAGE_UP
					 ? (app->popup_top > 10 ? app->popup_top - 10 : 0)
				 : key == HP_KEY_PAGE_DOWN && app->popup_top + 10 < lines
					 ? app->popup_top + 10
					 : (lines ? lines - 1 : 0);
	if (is_down || is_up || key == HP_KEY_PAGE_DOWN || key == HP_KEY_PAGE_UP || key == 'G' ||
	    key == HP_KEY_END || key == HP_KEY_RESIZE || key == HP_KEY_NONE)
		return;
	if (key == 'q' && app->popup == HP_POPUP_PROGRAMS)
		app->is_over = app->phase == HP_PHASE_CHOOSE;
	if (key == 't' && app->popup == HP_POPUP_STACKS)
		stacks(app);
	if (key == '\n' && app->popup == HP_POPUP_SORT)
		sort_take(app);
	if (key == '\n' && app->popup == HP_POPUP_PROGRAMS)
		program_take(app);
	/* Other keys close a menu. */
	if (app->popup == HP_POPUP_HELP || key == '\n' || key == HP_KEY_ESCAPE || key == 'q' ||
	    key == 'i' || key == 'o' || key == 'h' || key == HP_KEY_F6 || key == HP_KEY_MOUSE)
		app->popup = HP_POPUP_NONE;
}

/* --- typing --- */

static void filter_add(struct hp_table *table, uint32_t key)
{
	char bytes[16];
	mbstate_t state = { 0 };
	size_t size = wcrtomb(bytes, (wchar_t)key, &state), length = strlen(table->filter);

	if (size == (size_t)-1 || length + size >= sizeof(table->filter))
		return;
	memcpy(table->filter + length, bytes, size);
	table->filter[length + size] = 0;
}

static void typing_press(struct hp_app *app, uint32_t key)
{
	struct hp_table *table = &hp_app_view(app)->table;
	size_t length = strlen(table->filter);

	if (key == '\n') {
		app->is_typing = false;
	} else if (key == HP_KEY_ESCAPE) {
		app->is_typing = false;
		table->filter[0] = 0;
	} else if (key == HP_KEY_UP || key == HP_KEY_DOWN) {
		hp_table_move(table, key == HP_KEY_UP ? -1 : 1);
	} else if (key == HP_KEY_BACKSPACE && length) {
		do
			length--;
		while (length && ((unsigned char)table->filter[length] & 0xc0) == 0x80);
		table->filter[length] = 0;
	} else if (key >= ' ' && key < HP_KEY_NONE) {
		filter_add(table, key);
	}
	hp_table_renew(table);
}

/* --- mouse --- */

static bool is_in(const struct hp_area *area, const struct hp_press *press)
{
	return press->y >= area->y && press->y < area->y + area->height && press->x >= area->x &&
	       press->x < area->x + area->width;
}

static void row_click(struct hp_app *app, struct hp_table *table, const struct hp_area *area,
		      const struct hp_press *press)
{
	long row = (long)table->top + press->y - area->y;

	if (row >= (long)table->count)
		return;
	app->focus = table == &app->logs ? HP_FOCUS_LOGS : HP_FOCUS_LIST;
	if (row != (long)table->chosen || !table->chosen_key)
		hp_table_move(table, row - (long)table->chosen);
	if (press->is_double)
		enter(app);
}

static void spot_click(struct hp_app *app, const struct hp_spot *spot)
{
	struct hp_table *table = &hp_app_view(app)->table;

	if (spot->kind == HP_SPOT_TAB)
		tab_press(app, (unsigned)spot->number);
	else if (spot->kind == HP_SPOT_VIEW)
		view_go(app, app->tab, (unsigned)spot->number);
	else if (table->sort == spot->number)
		sort_invert(app);
	else
		table->sort = spot->number - 1, hp_table_sort_by_next(table, 1);
}

static void click(struct hp_app *app, const struct hp_press *press)
{
	for (size_t i = 0; i < app->spot_count; i++) {
		const struct hp_spot *spot = &app->spots[i];

		if (press->y != spot->y || press->x < spot->x || press->x >= spot->x + spot->width)
			continue;
		spot_click(app, spot);
		return;
	}
	if (app->has_logs && is_in(&app->logs_area, press))
		row_click(app, &app->logs, &app->logs_area, press);
	else if (is_in(&app->list_area, press))
		row_click(app, &hp_app_view(app)->table, &app->list_area, press);
}

void hp_app_press(struct hp_app *app, const struct hp_press *press)
{
	if (press->key != HP_KEY_RESIZE) {
		hp_app_seek_end(app);
		app->is_used = true;
	}
	if (app->popup != HP_POPUP_NONE) {
		popup_press(app, press->key);
		return;
	}
	if (app->is_typing && press->key != HP_KEY_MOUSE) {
		typing_press(app, press->key);
		return;
	}
	if (press->key == HP_KEY_MOUSE) {
		app->is_typing = false;
		click(app, press);
		return;
	}
	if (press->key >= '0' && press->key < '0' + HP_TAB_COUNT) {
		tab_press(app, HP_TAB_OF(press->key - '0'));
		return;
	}
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (actions[i].key != press->key)
			continue;
		actions[i].act(app);
		return;
	}
}
