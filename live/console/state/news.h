/* SPDX-License-Identifier: MIT */
/*
 * news.h - answers from the data source, and the requests it takes.
 */
#ifndef HP_LIVE_CONSOLE_STATE_NEWS_H
#define HP_LIVE_CONSOLE_STATE_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define HP_FEED_PATH 160	/* most bytes of a path */
#define HP_FEED_WISHES 4

enum hp_phase {
	HP_PHASE_FINE = 0,	/* answered: see `status` */
	HP_PHASE_WAITS,	/* no data yet */
	HP_PHASE_CHOOSE,	/* several programs are running: `body` lists them */
	HP_PHASE_FAILS,	/* no answer, or not in our format */
	HP_PHASE_OVER,	/* the program has ended; a body is its final data */
};

struct hp_heard {
	enum hp_phase phase;
	int status;	/* of HTTP; 0 = no answer */
	char *body;	/* of malloc, terminated; NULL = none */
	size_t size;
	char said[320];	/* the error; "" = none */
	char remedy[320];	/* the remedy */
};

void hp_heard_say(struct hp_heard *heard, enum hp_phase phase, const char *remedy,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

struct hp_news {
	struct hp_news *next;
	char path[HP_FEED_PATH];
	bool is_once;	/* a key requested it, see hp_feed_do */
	struct hp_heard heard;	/* `body` only for one-time requests, or if it is not JSON */
	struct cJSON *json;	/* NULL = not JSON */
	uint64_t at_ns;	/* time of arrival, CLOCK_MONOTONIC_RAW */
};

void hp_news_free(struct hp_news *news);

/*
 * Paths only for live/console/loop/origin_local.c: the list of programs; POST
 * "…token" selects one.
 */
#define HP_PROGRAMS_PATH "/console/programs"
#define HP_ATTACH_PATH "/console/attach/"

/* live/console/loop/viewer.c, over any origin: POST "…PID" or "…/path/of/a/profile" opens it in a browser. */
#define HP_VIEWER_PATH "/console/viewer/"

#endif
