/* SPDX-License-Identifier: MIT */
/*
 * console_fuzz.c - the console, whose server may answer anything, and whose user
 * presses any keys.  The whole of it but the terminal and the thread that asks; those
 * are played here.  A line of the input is one of
 *
 *   k KEYS      each character a key, from \x80 on those that are no characters
 *   0 … 3 JSON  the answer to the first … of the paths that are wished for
 *   e JSON      the same to the first one, with status 404
 *   c JSON      several programs run: which one?
 *   o JSON      the answer to what a key asked for
 */
#include <cjson/cJSON.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>

#include "live/console/state/app.h"
#include "live/console/draw/draw.h"
#include "live/console/draw/screen.h"
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

int hp_screen_wait(int fd, int timeout_ms)
{
	(void)fd, (void)timeout_ms;
	return 0;
}

bool hp_screen_press(struct hp_press *press)
{
	(void)press;
	return false;
}

const char *hp_screen_open(void)
{
	return NULL;
}

void hp_screen_close(void)
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

/* --- who asks --- */

static char wished[HP_FEED_WISHES][HP_FEED_PATH];
static size_t wished_count;
static struct hp_news *heard;	/* at most one */

void hp_news_free(struct hp_news *news)
{
	if (!news)
		return;
	free(news->heard.body);
	cJSON_Delete(news->json);
	free(news);
}

int hp_feed_fd(const struct hp_feed *feed)
{
	(void)feed;
	return -1;
}

void hp_feed_wish(struct hp_feed *feed, const char paths[][HP_FEED_PATH], size_t count)
{
	(void)feed;
	wished_count = count;
	for (size_t i = 0; i < count; i++)
		if (strlen(strcpy(wished[i], paths[i])) >= HP_FEED_PATH)
			abort();
}

bool hp_feed_do(struct hp_feed *feed, const char *method, const char *path)
{
	(void)feed;
	return strlen(method) < 8 && strlen(path) < HP_FEED_PATH;
}

void hp_feed_pause(struct hp_feed *feed, bool is_paused)
{
	(void)feed, (void)is_paused;
}

struct hp_news *hp_feed_take(struct hp_feed *feed)
{
	struct hp_news *news = heard;

	(void)feed;
	heard = NULL;
	return news;
}

void hp_app_save(struct hp_app *app, const struct hp_heard *news)
{
	hp_app_say(app, "%zu bytes", news->size);
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
	heard = news;
	hp_app_hear(app);
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
		hp_app_wish(app);
		hp_app_draw(app);
	}
}

static void app_release(struct hp_app *app)
{
	struct hp_page *pages[] = { &app->status, &app->threads, &app->logs_page };

	for (size_t tab = 0; tab < HP_TABS_MOST; tab++)
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
	hp_app_init(&app, NULL, "a server", 1000);
	hp_app_wish(&app);
	while ((line = strsep(&rest, "\n")) != NULL && !app.is_over) {
		if (line[0] == 'k')
			keys_press(&app, line + 1);
		else if (line[0])
			news_give(&app, line[0], line + 1);
		hp_app_wish(&app);
		hp_app_draw(&app);
	}
	app_release(&app);
	free(text);
	return 0;
}
