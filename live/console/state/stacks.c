/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the answer of /stacks as lines of a popup.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/cell.h"
#include "live/console/state/popup.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "segment/section_key.h"

#define NAMES_MAX 4 /* threads of one stack that are named */

struct pad {
	char **lines;
	size_t count;
	size_t room;
};

/* Takes over the line. */
static void line_add(struct pad *pad, char *line)
{
	pad->lines = hp_xgrow(pad->lines, pad->count, &pad->room, sizeof(*pad->lines));
	pad->lines[pad->count++] = hp_text_clean(line);
	free(line);
}

static const char *text_at(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(hp_json_at(object, key));

	return text ? text : "?";
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "worker 4711, worker 4712 and 6 more" */
static char *names_text(const cJSON *threads)
{
	char *text = NULL;
	int told = 0;
	const cJSON *thread;

	cJSON_ArrayForEach(thread, threads)
	{
		const cJSON *tid = hp_json_at(thread, "tid");
		char *more;

		if (told++ == NAMES_MAX)
			break;
		more = hp_xprintf("%s%s%s %.0f", text ? text : "", text ? ", " : "",
				  text_at(thread, "name"),
				  cJSON_IsNumber(tid) ? tid->valuedouble : 0);
		free(text);
		text = more;
	}
	if (cJSON_GetArraySize(threads) > NAMES_MAX) {
		char *more =
			hp_xprintf("%s and %d more", text, cJSON_GetArraySize(threads) - NAMES_MAX);

		free(text);
		text = more;
	}
	return text ? text : hp_xstrdup("");
}

static void frame_add(struct pad *pad, const cJSON *frame)
{
	const cJSON *line = hp_json_at(frame, "line");
	const char *file = cJSON_GetStringValue(hp_json_at(frame, "file"));
	const char *module = cJSON_GetStringValue(hp_json_at(frame, "module"));

	if (file && cJSON_IsNumber(line))
		line_add(pad, hp_xprintf("  %s  %s:%.0f", text_at(frame, "function"), file_of(file),
					 line->valuedouble));
	else
		line_add(pad, hp_xprintf("  %s%s%s", text_at(frame, "function"), module ? "  " : "",
					 module ? file_of(module) : ""));
}

/* Recorded by hotpath: the lock that a thread waits for, and its holder. */
static void wait_add(struct pad *pad, const cJSON *thread)
{
	const cJSON *wait = hp_json_at(thread, "waits_for");

	if (wait)
		line_add(pad,
			 hp_xprintf("%s waits for %s%s%s", text_at(thread, "name"),
				    text_at(wait, "object"),
				    hp_json_at(wait, "holder") ? ", held by " : "",
				    hp_json_at(wait, "holder") ? text_at(wait, "holder") : ""));
}

char **hp_stacks_lines(const struct hp_app *app, size_t *count)
{
	const cJSON *json = app->stacks ? app->stacks->json : NULL;
	const cJSON *group, *one;
	struct pad pad = { .lines = NULL };

	if (hp_json_at(json, "error"))
		line_add(&pad, hp_xstrdup(text_at(json, "error")));
	cJSON_ArrayForEach(group, hp_json_at(json, "stacks"))
	{
		const cJSON *threads = hp_json_at(group, HP_KEY_THREADS);
		char *names = names_text(threads);
		int size = cJSON_GetArraySize(threads);

		if (pad.count)
			line_add(&pad, hp_xstrdup(""));
		line_add(&pad, hp_xprintf("%d thread%s: %s", size, size == 1 ? "" : "s", names));
		free(names);
		cJSON_ArrayForEach(one, threads) wait_add(&pad, one);
		cJSON_ArrayForEach(one, hp_json_at(group, "frames")) frame_add(&pad, one);
	}
	*count = pad.count;
	return pad.lines;
}
