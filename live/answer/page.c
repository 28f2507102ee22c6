/* SPDX-License-Identifier: MIT */
/*
 * page.c - see page.h.
 */
#include "live/answer/page.h"

#include <stdio.h>

#include "live/answer/report_snapshot.h"
#include "report/view/flame.h"
#include "report/view/page.h"
#include "report/view/page_data.h"
#include "report/view/page_timeline.h"
#include "report/section/sections.h"

struct hp_answer *hp_overview_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return hp_answer_json(200, hp_page_overview(&snapshot->report));
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
