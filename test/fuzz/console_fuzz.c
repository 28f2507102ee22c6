/* SPDX-License-Identifier: MIT */
/*
 * console_fuzz.c - the console, with arbitrary answers from the server and
 * arbitrary keys. Everything except the terminal, the requesting thread and the
 * loop between them, which this file simulates. A line of the input is one of
 *
 *   k KEYS      each character a key, from \x80 on those that aren't characters
 *   0 … 3 JSON  the answer to the first … of the paths that are wished for
 *   e JSON      the same to the first one, with status 404
 *   c JSON      several programs run: which one?
 *   o JSON      the answer to what a key requested
 */
#include <cjson/cJSON.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>

#include "live/console/draw/draw.h"
#include "live/console/draw/screen.h"
#include "live/console/loop/keys.h"
#include "live/console/state/app.h"
#include "segment/clock.h"
#include "test/fuzz/fuzz.h"

#define WIDTH 100
#define HEIGHT 30

/* --- the terminal --- */

struct hp_screen hp_screen = { WIDTH, HEIGHT, true, 256 };

static void is_printable(const char *text)
{
	char room[4 * WIDTH + 1];

	if (hp_console_fit(room, sizeof(room), text, WIDTH, HP_CUT_MIDDLE, true) > WIDTH)
		abort();
	for (const char *at = room; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			abort();
}

void hp_screen_begin(void)
{
}

void hp_screen_end(void)
{
}

void hp_put(int y, int x, int width, enum hp_ink ink, enum hp_side side, enum hp_cut cut,
	    const char *text)
{
	(void)y, (void)x, (void)width, (void)ink, (void)side, (void)cut;
	is_printable(text);
}

int hp_print(int y, int x, enum hp_ink ink, const char *format, ...)
{
	char text[512];
	va_list arguments;

	(void)y, (void)x, (void)ink;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	is_printable(text);
	return (int)hp_console_width(text, true);
}

int hp_width(const char *text)
{
	return (int)hp_console_width(text, true);
}

void hp_box(int y, int x, int height, int width, const char *title)
{
	(void)y, (void)x, (void)height, (void)width;
	is_printable(title);
}

void hp_bar(int y, int x, int width, enum hp_ink ink, double share)
{
	(void)y, (void)x, (void)width, (void)ink, (void)share;
}

void hp_graph(int y, int x, int height, enum hp_ink ink, double share)
{
	(void)y, (void)x, (void)height, (void)ink, (void)share;
}

void hp_cursor(int y, int x)
{
	(void)y, (void)x;
}

/* --- the client --- */

static char wished[HP_FEED_WISHES][HP_FEED_PATH];
static size_t wished_count;

static void wish(struct hp_app *app)
{
	wished_count = hp_app_wish(app, wished);
	for (size_t i = 0; i < wished_count; i++)
		if (strlen(wished[i]) >= HP_FEED_PATH)
			abort();
}

/* A key may have requested something, which is always accepted. */
static void hand_on(struct hp_app *app)
{
	struct hp_asked asked = app->asked;

	if (strlen(asked.method) >= sizeof(asked.method) || strlen(asked.path) >= HP_FEED_PATH)
		abort();
	app->asked.path[0] = 0;
	if (*asked.path && asked.is_to_save)
		app->wants_save = true;
	if (*asked.path && asked.said)
		hp_app_say(app, "%s", asked.said);
}

static void save(struct hp_app *app)
{
	if (!app->to_save)
		return;
	hp_app_say(app, "%zu bytes", app->to_save->heard.size);
	hp_news_free(app->to_save);
	app->to_save = NULL;
}

/* --- the input --- */

static void news_give(struct hp_app *app, char kind, const char *json)
{
	size_t which = kind >= '0' && kind <= '3' ? (size_t)(kind - '0') : 0;
	struct hp_news *news = calloc(1, sizeof(*news));

	if (!news || which >= wished_count) {
		free(news);
		return;
	}
	snprintf(news->path, sizeof(news->path), "%s", wished[which]);
	news->is_once = kind == 'o';
	news->heard.status = kind == 'e' ? 404 : 200;
	news->heard.phase = kind == 'c' ? HP_PHASE_CHOOSE : HP_PHASE_FINE;
	news->json = cJSON_Parse(json);
	news->heard.body = strdup(json);
	news->heard.size = strlen(json);
	news->at_ns = hp_clock_raw_ns();
	hp_app_hear(app, news);
	save(app);
}

static void keys_press(struct hp_app *app, const char *keys)
{
	for (; *keys && !app->is_over; keys++) {
		unsigned char c = (unsigned char)*keys;
		struct hp_press press = { .key = c < 0x80 ? c : HP_KEY_NONE + (c & 0x1f),
					  .x = c % WIDTH,
					  .y = c % HEIGHT,
					  .is_double = c & 1 };

		hp_app_press(app, &press);
		hand_on(app);
		wish(app);
		hp_app_draw(app);
	}
}

static void app_release(struct hp_app *app)
{
	struct hp_page *pages[] = { &app->status, &app->threads, &app->logs_page };

	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; i < HP_TAB_VIEWS; i++) {
			hp_table_release(&app->views[tab][i].table);
			hp_news_free(app->views[tab][i].page.news);
		}
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		hp_news_free(pages[i]->news);
	hp_table_release(&app->logs);
	hp_news_free(app->programs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hp_app app;
	char *text = fuzz_text(data, size), *rest = text, *line;

	setlocale(LC_CTYPE, "C.UTF-8");
	memset(&app, 0, sizeof(app));
	hp_app_init(&app, "a server", 1000);
	wish(&app);
	while ((line = strsep(&rest, "\n")) != NULL && !app.is_over) {
		if (line[0] == 'k')
			keys_press(&app, line + 1);
		else if (line[0])
			news_give(&app, line[0], line + 1);
		wish(&app);
		hp_app_draw(&app);
	}
	app_release(&app);
	free(text);
	return 0;
}
