/* SPDX-License-Identifier: MIT */
/*
 * news.h - what was heard from the source of the figures, and what can be asked of it.
 */
#ifndef HP_LIVE_CONSOLE_STATE_NEWS_H
#define HP_LIVE_CONSOLE_STATE_NEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define HP_FEED_PATH 160	/* room for a path */
#define HP_FEED_WISHES 4

enum hp_phase {
	HP_PHASE_FINE = 0,	/* it was answered: see `status` */
	HP_PHASE_WAITS,	/* there is nothing to look at yet */
	HP_PHASE_CHOOSE,	/* several programs run: `body` lists them */
	HP_PHASE_FAILS,	/* it did not answer, or not in our language */
	HP_PHASE_OVER,	/* the program has ended; if there is a body it is its last word */
};

struct hp_heard {
	enum hp_phase phase;
	int status;	/* of HTTP; 0 = there was no answer */
	char *body;	/* of malloc, terminated; NULL = none */
	size_t size;
	char said[320];	/* what is wrong; "" = nothing */
	char remedy[320];	/* what to do about it */
};

void hp_heard_say(struct hp_heard *heard, enum hp_phase phase, const char *remedy,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

struct hp_news {
	struct hp_news *next;
	char path[HP_FEED_PATH];
	bool is_once;	/* a key asked for it, see hp_feed_do */
	struct hp_heard heard;	/* `body` only of what was asked for once, or is no JSON */
	struct cJSON *json;	/* NULL = it is none */
	uint64_t at_ns;	/* when it was heard, CLOCK_MONOTONIC_RAW */
};

void hp_news_free(struct hp_news *news);

/* Paths that live/console/loop/origin_local.c alone knows: programs to choose from; POST "…token" takes one. */
#define HP_PROGRAMS_PATH "/console/programs"
#define HP_ATTACH_PATH "/console/attach/"

/* live/console/loop/viewer.c, over any origin: POST "…PID" or "…/path/of/a/profile" opens it in a browser. */
#define HP_VIEWER_PATH "/console/viewer/"

#endif
