/* SPDX-License-Identifier: MIT */
/*
 * news.c - see news.h.
 */
#include "live/console/state/news.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void hp_heard_say(struct hp_heard *heard, enum hp_phase phase, const char *remedy,
		  const char *format, ...)
{
	va_list arguments;

	heard->phase = phase;
	va_start(arguments, format);
	vsnprintf(heard->said, sizeof(heard->said), format, arguments);
	va_end(arguments);
	snprintf(heard->remedy, sizeof(heard->remedy), "%s", remedy);
}

void hp_news_free(struct hp_news *news)
{
	if (!news)
		return;
	cJSON_Delete(news->json);
	free(news->heard.body);
	free(news);
}
