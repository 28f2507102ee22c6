/* SPDX-License-Identifier: MIT */
/*
 * page.c - see page.h.
 */
#include "live/answer/page.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
#include "report/view/flame.h"
#include "report/view/page.h"
#include "report/view/page_data.h"
#include "report/view/page_timeline.h"
#include "report/view/view.h"
#include "report/section/sections.h"

#define COLUMNS 80
#define COLUMNS_MIN 40
#define COLUMNS_MAX 400

struct hp_answer *hp_overview_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return hp_answer_json(200, hp_page_overview(&snapshot->report));
}

/* Fresh; NULL = no memory. */
static char *answers_of(struct hp_snapshot *snapshot, const struct hp_request *request,
			size_t *size)
{
	uint64_t columns = hp_request_number(request, "columns", COLUMNS, COLUMNS_MAX);
	struct hp_look look = { .width = columns < COLUMNS_MIN ? COLUMNS_MIN : columns };
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (!out)
		return NULL;
	hp_brief_write(&snapshot->report, &look, out);
	fclose(out);
	return text;
}

struct hp_answer *hp_answers_text(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	size_t size = 0;
	char *text = answers_of(snapshot, request, &size);

	return text ? hp_answer_new(200, "text/plain; charset=utf-8", text, size)
		    : hp_answer_error(500, NULL, "No memory for the report");
}

struct hp_answer *hp_answers_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	size_t size = 0;
	char *text = answers_of(snapshot, request, &size), *next = text, *line;
	cJSON *answer = cJSON_CreateObject(), *lines = cJSON_AddArrayToObject(answer, "data");

	while (next && (line = strsep(&next, "\n")) && (next || *line)) {
		cJSON *row = cJSON_CreateObject();

		cJSON_AddStringToObject(row, "line", line);
		cJSON_AddItemToArray(lines, row);
	}
	free(text);
	hp_pending_add(snapshot, answer);
	return hp_answer_json(200, answer);
}

struct hp_answer *hp_page_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)request;
	if (!out)
		return hp_answer_error(500, NULL, "No memory for the page");
	hp_report_choose(&snapshot->report);
	snapshot->report.is_brief = false;	/* single calls, too */
	hp_page_saved_write(&snapshot->report, out);
	snapshot->report.is_brief = true;
	fclose(out);
	return hp_answer_new(200, "text/html; charset=utf-8", text, size);
}

struct hp_answer *hp_timeline_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	uint64_t seconds = hp_request_number(request, "seconds", 0, UINT32_MAX);

	return hp_answer_json(200, hp_page_timeline(&snapshot->report, seconds * 1000000000));
}

struct hp_answer *hp_flame_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	struct hp_flame flame;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)request;
	if (!out)
		return hp_answer_error(500, NULL, "No memory for the time line");
	hp_flame_init(&flame, &snapshot->report);
	hp_flame_write(&flame, &snapshot->report, out);
	hp_flame_release(&flame);
	fclose(out);
	return hp_answer_new(200, HP_TYPE_JSON, text, size);
}
