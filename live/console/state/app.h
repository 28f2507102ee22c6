/* SPDX-License-Identifier: MIT */
/*
 * app.h - the state of the console: the visible part, its data, and the
 * keyboard focus.
 *
 * Folder: live/console/state - the console's state: tabs, tables, data, key requests; no terminal
 * May use: report/base report/section report/section/core segment util
 *
 * Keys and news change it. live/console/draw/draw.c draws it and stores the
 * visible part of lists and the positions of items, for keys and mouse.
 * Requests and files to write are left in it for the loop.
 */
#ifndef HP_LIVE_CONSOLE_STATE_APP_H
#define HP_LIVE_CONSOLE_STATE_APP_H

#include <stdbool.h>
#include <stdint.h>

#include "live/console/state/news.h"
#include "live/console/state/tab.h"
#include "live/console/state/table.h"
#include "live/console/state/trend.h"

/* Data from one path. */
struct hp_page {
	struct hp_news *news;	/* the last good answer; NULL = none yet */
	char said[320];	/* why the last attempt failed; "" = it succeeded */
	char remedy[320];
	int status;	/* of HTTP, of the last attempt */
};

struct hp_view_state {
	const struct hp_view *view;
	struct hp_page page;
	struct hp_table table;
};

enum hp_popup {
	HP_POPUP_NONE = 0,
	HP_POPUP_HELP,
	HP_POPUP_INSPECT,
	HP_POPUP_SORT,
	HP_POPUP_PROGRAMS,
	HP_POPUP_STACKS,
};

enum hp_focus { HP_FOCUS_LIST, HP_FOCUS_LOGS };

/* Positions of painted items, for the mouse. */
struct hp_spot {
	int y, x, width;
	enum { HP_SPOT_TAB, HP_SPOT_VIEW, HP_SPOT_COLUMN } kind;
	int number;
};

#define HP_SPOTS_MAX 96

struct hp_area {
	int y, x, height, width;	/* of rows; height 0 = not shown */
};

/* A key's one-time request to the source; the loop sends it. */
struct hp_asked {
	char method[8];
	char path[HP_FEED_PATH];	/* "" = none */
	bool is_to_save;	/* write its answer to a file */
	const char *said;	/* message to the user once sent; NULL = none */
};

struct hp_app {
	const char *source;	/* display name of the source */
	uint32_t interval_ms;
	bool is_local;	/* by its segment; else over HTTP */

	int width;	/* of the screen */
	bool is_used;	/* a key was pressed */
	unsigned tab;
	unsigned sub[HP_TAB_COUNT];
	struct hp_view_state views[HP_TAB_COUNT][HP_TAB_VIEWS];

	struct hp_page status;	/* /profiler_status */
	struct hp_page threads;	/* /threads, for the time line of programs without sums */
	struct hp_trend trend;
	double pid;	/* of the program; 0 = not known yet */
	enum hp_phase phase;	/* of the last request */
	bool is_paused;
	uint64_t asked_ns;	/* time of the first unanswered request for the visible data */

	double function_id;	/* function whose callers are shown; 0 = none selected */
	uint64_t logs_row;	/* open the first log from this row on; HP_LIMIT_UNSET = none */
	bool seeks_log;	/* the panel advances until a row has a log, or a key is pressed */
	bool has_logs;	/* the panel is open */
	enum hp_focus focus;
	char logs_path[HP_FEED_PATH];	/* "" = the row has none */
	struct hp_page logs_page;
	struct hp_table logs;

	enum hp_popup popup;
	size_t popup_top;	/* first line, or the selected one */
	struct hp_news *programs;	/* list of programs */
	struct hp_news *stacks; /* the last answer of /stacks; NULL = none */
	bool is_typing;	/* the filter */
	char said[320];	/* message to the user, shown briefly */
	uint64_t message_until_ns;
	struct hp_asked asked;	/* set by the last key */
	bool wants_save;	/* answer to a key's request, to be written to a file; */
	struct hp_news *to_save;	/* NULL = not there yet */
	bool is_over;	/* end the loop */

	uint64_t first_g_ns;	/* of gg */
	struct hp_spot spots[HP_SPOTS_MAX];
	size_t spot_count;
	struct hp_area list_area;
	struct hp_area logs_area;
};

void hp_app_init(struct hp_app *app, const char *source, uint32_t interval_ms);

struct hp_view_state *hp_app_view(struct hp_app *app);

/* The table with the keyboard focus. */
struct hp_table *hp_app_table(struct hp_app *app);

/* Shows the callers of this function, an id of /functions_timing. */
void hp_app_callers(struct hp_app *app, double id);

/* The paths of the visible data; returns their number. */
size_t hp_app_wish(struct hp_app *app, char paths[HP_FEED_WISHES][HP_FEED_PATH]);

/* Takes news, oldest first. */
void hp_app_hear(struct hp_app *app, struct hp_news *news);

/* The user selected something other than the first log. */
void hp_app_seek_end(struct hp_app *app);

/* Sets a one-time request. */
void hp_app_ask(struct hp_app *app, const char *method, const char *path);

/* A message to the user, shown for a few seconds. Printf. */
void hp_app_say(struct hp_app *app, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Records the position of a painted item. */
void hp_spot_add(struct hp_app *app, int kind, int number, int y, int x, int width);

/* The age of the shown data, in seconds; < 0 = none yet. */
double hp_app_age(const struct hp_app *app);

#endif
