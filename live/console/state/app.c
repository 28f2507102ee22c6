/* SPDX-License-Identifier: MIT */
/*
 * app.c - see app.h: from visible items to wishes, from news to pages.
 */
#include "live/console/state/app.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/cell.h"
#include "segment/setting.h"
#include "segment/clock.h"

#define MESSAGE_NS UINT64_C(6000000000)
#define STATUS_PATH "/profiler_status"
#define THREADS_PATH "/threads"
#define FUNCTIONS_PATH "/functions_timing"
#define CALLERS_ROUTE "/functions_timing/%/callers"

void hp_app_init(struct hp_app *app, const char *source, uint32_t interval_ms)
{
	*app = (struct hp_app){ .source = source, .interval_ms = interval_ms };
	app->phase = HP_PHASE_WAITS;
	app->logs_row = HP_LIMIT_UNSET;
	app->tab = HP_TAB_ANSWERS;
	app->width = 80;
	app->asked_ns = hp_clock_raw_ns();
	hp_trend_init(&app->trend);
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tabs()[tab].views[i]; i++) {
			struct hp_view_state *state = &app->views[tab][i];

			state->view = hp_tabs()[tab].views[i];
			hp_table_init(&state->table, state->view);
		}
}

struct hp_view_state *hp_app_view(struct hp_app *app)
{
	return &app->views[app->tab][app->sub[app->tab]];
}

struct hp_table *hp_app_table(struct hp_app *app)
{
	return app->focus == HP_FOCUS_LOGS && app->has_logs ? &app->logs : &hp_app_view(app)->table;
}

void hp_app_say(struct hp_app *app, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(app->said, sizeof(app->said), format, arguments);
	va_end(arguments);
	app->message_until_ns = hp_clock_raw_ns() + MESSAGE_NS;
}

void hp_app_ask(struct hp_app *app, const char *method, const char *path)
{
	app->asked = (struct hp_asked){ .said = NULL };
	snprintf(app->asked.method, sizeof(app->asked.method), "%s", method);
	snprintf(app->asked.path, sizeof(app->asked.path), "%s", path);
}

void hp_spot_add(struct hp_app *app, int kind, int number, int y, int x, int width)
{
	if (app->spot_count < HP_SPOTS_MAX)
		app->spots[app->spot_count++] =
			(struct hp_spot){ y, x, width, (unsigned)kind, number };
}

double hp_app_age(const struct hp_app *app)
{
	uint64_t last = app->status.news ? app->status.news->at_ns : 0;

	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; i < HP_TAB_VIEWS; i++) {
			const struct hp_news *news = app->views[tab][i].page.news;

			if (news && news->at_ns > last)
				last = news->at_ns;
		}
	return last ? (double)(hp_clock_raw_ns() - last) / 1e9 : -1;
}

/* --- wishes --- */

static struct hp_view_state *view_of(struct hp_app *app, const char *route)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tabs()[tab].views[i]; i++)
			if (strcmp(app->views[tab][i].view->route, route) == 0)
				return &app->views[tab][i];
	return NULL;
}

/* The path of the view's list; the list of functions until one is selected. */
static void list_path_make(const struct hp_app *app, const struct hp_view *view,
			   char path[HP_FEED_PATH])
{
	const char *mark = strchr(view->route, '%');

	size_t size = strlen(view->route);

	if (view->route[size - 1] == '$')
		snprintf(path, HP_FEED_PATH, "%.*s%d", (int)size - 1, view->route, app->width);
	else if (!mark)
		snprintf(path, HP_FEED_PATH, "%s", view->route);
	else if (app->function_id > 0)
		snprintf(path, HP_FEED_PATH, "%.*s%.0f%s", (int)(mark - view->route), view->route,
			 app->function_id, mark + 1);
	else
		snprintf(path, HP_FEED_PATH, "%s", FUNCTIONS_PATH);
}

/* The path of the chosen row's logs; "" = it has none. */
static void logs_path_make(struct hp_app *app, char path[HP_FEED_PATH])
{
	const struct hp_view_state *state = hp_app_view(app);
	const struct hp_table *table = &state->table;
	const char *pattern = state->view->logs;
	const cJSON *id, *word;
	size_t length = 0;

	path[0] = 0;
	if (!pattern || !table->count || !table->rows[table->chosen].data)
		return;
	id = hp_json_at(table->rows[table->chosen].data, "id");
	if (!cJSON_IsNumber(id))
		return;
	while (*pattern && length + 24 < HP_FEED_PATH) {
		if (*pattern == '%') {
			length += (size_t)snprintf(path + length, HP_FEED_PATH - length, "%.0f",
						   id->valuedouble);
			pattern++;
		} else if (*pattern == '@') {
			char key[32];
			size_t size = strcspn(++pattern, "/");

			snprintf(key, sizeof(key), "%.*s", (int)size, pattern);
			word = hp_json_at(table->rows[table->chosen].data, key);
			length += (size_t)snprintf(path + length, HP_FEED_PATH - length, "%.20s",
						   cJSON_IsString(word) ? word->valuestring : "");
			pattern += size;
		} else {
			path[length++] = *pattern++;
		}
	}
	path[length] = 0;
}

static void page_release(struct hp_page *page)
{
	hp_news_free(page->news);
	*page = (struct hp_page){ .news = NULL };
}

/* The panel shows another row's logs: drops the old ones. */
static void logs_follow(struct hp_app *app)
{
	char path[HP_FEED_PATH] = "";

	if (app->has_logs)
		logs_path_make(app, path);
	if (strcmp(path, app->logs_path) == 0 && app->logs.fields)
		return;
	hp_table_release(&app->logs);
	page_release(&app->logs_page);
	hp_table_init_logs(&app->logs, hp_app_view(app)->view);
	strcpy(app->logs_path, path);
}

void hp_app_callers(struct hp_app *app, double id)
{
	struct hp_view_state *callers = view_of(app, CALLERS_ROUTE);

	if (app->function_id < id || app->function_id > id) {
		hp_table_fill(&callers->table, NULL);
		page_release(&callers->page);
	}
	app->function_id = id;
}

/* Without an explicit choice: the selected function, initially the top one. */
static void callers_follow(struct hp_app *app)
{
	const struct hp_table *table = &view_of(app, FUNCTIONS_PATH)->table;
	const cJSON *id = table->chosen < table->count
				  ? hp_json_at(table->rows[table->chosen].data, "id")
				  : NULL;

	if (app->function_id <= 0 && cJSON_IsNumber(id))
		hp_app_callers(app, id->valuedouble);
}

size_t hp_app_wish(struct hp_app *app, char paths[HP_FEED_WISHES][HP_FEED_PATH])
{
	size_t count = 0;

	logs_follow(app);
	callers_follow(app);
	list_path_make(app, hp_app_view(app)->view, paths[count++]);
	if (app->has_logs && *app->logs_path)
		snprintf(paths[count++], HP_FEED_PATH, "%s", app->logs_path);
	snprintf(paths[count++], HP_FEED_PATH, "%s", STATUS_PATH);
	/* For a program without sums, its threads serve for the time line. */
	if (app->status.news && !hp_trend_is_in(app->status.news->json) &&
	    strcmp(hp_app_view(app)->view->route, THREADS_PATH) != 0)
		snprintf(paths[count++], HP_FEED_PATH, "%s", THREADS_PATH);
	return count;
}

/* --- news --- */

static bool is_good(const struct hp_news *news)
{
	return news->json && news->heard.status == 200 &&
	       (news->heard.phase == HP_PHASE_FINE || news->heard.phase == HP_PHASE_OVER);
}

/* The server's error: "error" and "hint". */
static void complaint_take(struct hp_page *page, const struct hp_news *news)
{
	const cJSON *error = hp_json_at(news->json, "error");
	const cJSON *hint = hp_json_at(news->json, "hint");

	if (*news->heard.said && news->heard.phase != HP_PHASE_OVER) {
		memcpy(page->said, news->heard.said, sizeof(page->said));
		memcpy(page->remedy, news->heard.remedy, sizeof(page->remedy));
		return;
	}
	snprintf(page->said, sizeof(page->said), "%s",
		 cJSON_IsString(error) ? error->valuestring : "This server does not have it");
	snprintf(page->remedy, sizeof(page->remedy), "%s",
		 cJSON_IsString(hint)	     ? hint->valuestring
		 : news->heard.status == 404 ? "this server has no such list"
					     : "");
}

/* True: the page has taken over the news. */
static bool page_take(struct hp_page *page, struct hp_news *news)
{
	if (news->heard.status == 0 && news->heard.phase == HP_PHASE_WAITS && !*news->heard.said)
		return false;	/* abandoned for something else */
	page->status = news->heard.status;
	if (!is_good(news)) {
		complaint_take(page, news);
		return false;
	}
	page->said[0] = page->remedy[0] = 0;
	hp_news_free(page->news);
	page->news = news;
	return true;
}

/* Another program answers: discard everything shown. */
static void program_forget(struct hp_app *app)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tabs()[tab].views[i]; i++) {
			struct hp_view_state *state = &app->views[tab][i];

			hp_table_fill(&state->table, NULL);
			page_release(&state->page);
		}
	hp_table_release(&app->logs);
	page_release(&app->logs_page);
	app->logs.fields = NULL;
	app->function_id = 0;
	hp_trend_init(&app->trend);
}

static void status_take(struct hp_app *app, struct hp_news *news)
{
	const cJSON *pid = hp_json_at(news->json, "pid");

	if (cJSON_IsNumber(pid) && news->heard.status == 200) {
		if (app->pid > 0 && (app->pid < pid->valuedouble || app->pid > pid->valuedouble)) {
			program_forget(app);
			hp_app_say(app, "another program: pid %.0f", pid->valuedouble);
		}
		app->pid = pid->valuedouble;
	}
	if (!page_take(&app->status, news)) {
		hp_news_free(news);
		return;
	}
	if (hp_trend_is_in(news->json))
		hp_trend_add_status(&app->trend, news->json);
}

/* At the first list: apply HOTPATH_TUI_AUTO_EXPAND_LOGS. */
static void logs_open(struct hp_app *app, struct hp_view_state *state)
{
	if (app->logs_row == HP_LIMIT_UNSET || app->seeks_log || state != hp_app_view(app) ||
	    !state->table.count)
		return;
	hp_table_move(&state->table, (long)app->logs_row);
	app->has_logs = app->seeks_log = state->view->logs != NULL;
}

/* The top function often has a single open call, and so no log. */
static void log_seek(struct hp_app *app)
{
	struct hp_table *table = &hp_app_view(app)->table;

	if (!app->seeks_log)
		return;
	if (!app->logs.count && table->chosen + 1 < table->count) {
		hp_table_move(table, 1);
		return;
	}
	if (!app->logs.count)
		hp_table_move(table, (long)app->logs_row - (long)table->chosen);
	hp_app_seek_end(app);
}

void hp_app_seek_end(struct hp_app *app)
{
	if (app->seeks_log)
		app->logs_row = HP_LIMIT_UNSET;
	app->seeks_log = false;
}

static void list_take(struct hp_app *app, struct hp_news *news)
{
	char path[HP_FEED_PATH];

	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tabs()[tab].views[i]; i++) {
			struct hp_view_state *state = &app->views[tab][i];

			list_path_make(app, state->view, path);
			if (strcmp(news->path, path) != 0)
				continue;
			if (news->heard.status == 404 && tab == HP_TAB_ANSWERS && !app->is_used)
				app->tab = 0;	/* the crate's server has no report */
			if (app->status.news && strcmp(news->path, THREADS_PATH) == 0 &&
			    news->json && !hp_trend_is_in(app->status.news->json))
				hp_trend_add_threads(&app->trend, news->json);
			if (page_take(&state->page, news))
				hp_table_fill(&state->table, news->json);
			else
				hp_news_free(news);
			logs_open(app, state);
			return;
		}
	if (strcmp(news->path, app->logs_path) == 0 && page_take(&app->logs_page, news)) {
		hp_table_fill(&app->logs, news->json);
		log_seek(app);
	} else {
		hp_news_free(news);
	}
}

/* The answer to a key's request. */
static void once_take(struct hp_app *app, struct hp_news *news)
{
	const cJSON *error = hp_json_at(news->json, "error");
	const cJSON *opened = hp_json_at(news->json, "opened");

	if (news->heard.phase == HP_PHASE_CHOOSE) {
		hp_news_free(app->programs);
		app->programs = news;
		app->popup = HP_POPUP_PROGRAMS;
		app->popup_top = 0;
		return;
	}
	if (news->heard.status == 200 && hp_json_at(news->json, "is_recorded")) {
		hp_news_free(app->stacks);
		app->stacks = news;
		app->popup = HP_POPUP_STACKS;
		app->popup_top = 0;
		return;
	}
	if (app->wants_save) {
		app->wants_save = false;
		hp_news_free(app->to_save);
		app->to_save = news;
		return;
	}
	if (news->heard.status >= 400)
		hp_app_say(app, "%s",
			   cJSON_IsString(error) ? error->valuestring : "It was refused");
	else if (cJSON_IsString(opened))
		hp_app_say(app, "in the browser, as long as this console runs: %s",
			   opened->valuestring);
	else if (news->heard.status == 202)
		hp_app_say(app, "a snapshot of the CPU is being taken");
	else if (news->heard.status == 0)
		hp_app_say(app, "%s", news->heard.said);
	hp_news_free(news);
}

/* Several programs are running and none is selected. */
static void choice_take(struct hp_app *app, struct hp_news *news)
{
	hp_news_free(app->programs);
	app->programs = news;
	if (app->popup == HP_POPUP_NONE) {
		app->popup = HP_POPUP_PROGRAMS;
		app->popup_top = 0;
	}
}

void hp_app_hear(struct hp_app *app, struct hp_news *news)
{
	for (struct hp_news *next; news; news = next) {
		next = news->next;
		news->next = NULL;
		if (news->is_once) {
			once_take(app, news);
			continue;
		}
		if (app->is_paused) {
			hp_news_free(news);
			continue;
		}
		if (news->heard.phase == HP_PHASE_CHOOSE) {
			app->phase = news->heard.phase;
			choice_take(app, news);
			continue;
		}
		if (*news->heard.said || news->heard.status) {
			app->phase = news->heard.phase;
			app->asked_ns = hp_clock_raw_ns();
		}
		if (strcmp(news->path, STATUS_PATH) == 0)
			status_take(app, news);
		else
			list_take(app, news);
	}
}
