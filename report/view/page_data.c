/* SPDX-License-Identifier: MIT */
/*
 * page_data.c - see page_data.h.
 */
#include "report/view/page_data.h"

#include <stdlib.h>

#include "report/section/memory/section.h"
#include "report/section/core/facts.h"
#include "report/view/flame.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/cost_json.h"
#include "report/view/page_timeline.h"
#include "report/section/sections.h"
#include "report/section/thread/thread.h"
#include "report/view/view.h"

static void program_add(struct hp_report *report, cJSON *to)
{
	const struct hp_model *model = &report->model;
	const struct hp_header *header = &model->reader.header;
	const struct hp_facts *facts = report->record.facts;
	uint64_t cores = hp_facts_cores(facts, model);

	if (model->root != HP_NONE) {
		hp_json_text(to, "comm", model->processes[model->root].comm);
		hp_json_text(to, "command", model->processes[model->root].command);
	}
	hp_json_text(to, "caller_name", report->caller);
	hp_json_text(to, "label", report->label);
	hp_json_text(to, "os", facts ? hp_facts_get(facts, "os") : NULL);
	if (cores)
		hp_json_whole(to, "cores", cores);
	cJSON_AddStringToObject(to, "profiler", "hotpath " HP_VERSION);
	hp_json_whole(to, "pid", header->root_pid);
	hp_json_whole(to, "created_unix_ms", header->created_unix_ns / 1000000);
	cJSON_AddBoolToObject(to, "is_live", report->record.is_live);
	cJSON_AddBoolToObject(to, "is_running",
			      report->record.is_live && model->root != HP_NONE &&
				      model->processes[model->root].is_running);
	cJSON_AddBoolToObject(to, "status_known", header->status_known != 0);
	if (header->status_known)
		hp_json_whole(to, "wait_status", header->root_status);
	cJSON_AddBoolToObject(to, "shut_down", header->shut_down != 0);
}

static void sums_add(struct hp_report *report, cJSON *to)
{
	const struct hp_model *model = &report->model;
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_thread_sums sums;

	hp_threads_sum(report, &sums);
	hp_json_whole(to, "elapsed_ns", model->elapsed_ns);
	hp_json_whole(to, "cpu_ns", model->cpu_ns);
	hp_json_whole(to, "blocked_ns", sums.blocked_ns);
	hp_json_whole(to, "thread_ns", sums.life_ns);
	hp_json_whole(to, "watched_count", sums.watched);
	hp_json_whole(to, "thread_count", sums.count);
	hp_json_whole(to, "process_count", model->process_count);
	hp_json_whole(to, "rss_bytes", model->rss_kb * 1024);
	hp_json_whole(to, "peak_rss_bytes", model->peak_rss_kb * 1024);
	hp_cost_json(to, model);
	if (alloc && alloc->is_recorded) {
		hp_json_whole(to, "allocated_bytes", alloc->all.bytes);
		hp_json_whole(to, "allocated_count", alloc->all.count);
		hp_json_whole(to, "live_bytes",
			      alloc->all.live_bytes > 0 ? (uint64_t)alloc->all.live_bytes : 0);
	}
}

/* Gaps in the figures; empty if complete. */
static void losses_add(const struct hp_model_losses *losses, cJSON *to)
{
	const struct {
		const char *key;
		uint64_t count;
	} list[] = {
		{ "lost_calls", losses->lost_calls },
		{ "lost_threads", losses->lost_threads },
		{ "refused_chunks", losses->refused_chunks },
		{ "refusals", losses->refusals },
		{ "calls_without_path", losses->folded_rows },
		{ "calls_in_other", losses->folded_functions },
		{ "unpaired_exits", losses->unpaired },
		{ "damaged", losses->is_damaged },
	};
	cJSON *object = cJSON_AddObjectToObject(to, "losses");

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i].count)
			hp_json_whole(object, list[i].key, list[i].count);
}

static bool has_rows(struct hp_report *report, const struct hp_section *section)
{
	struct hp_list list;

	/* False only means that no report shows it on its own. */
	if (section->has_data && hp_section_has_data(section, report))
		return true;
	section->fill(report, &list);
	free(list.rows);
	return list.total > 0;
}

static void sections_add(struct hp_report *report, cJSON *to)
{
	cJSON *array = cJSON_AddArrayToObject(to, "sections");

	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];
		cJSON *one;
		bool has;

		if (!hp_section_is_listed(section))
			continue;
		one = cJSON_CreateObject();
		has = has_rows(report, section);
		cJSON_AddStringToObject(one, "key", section->json);
		cJSON_AddStringToObject(one, "about", hp_section_about(section, report));
		cJSON_AddBoolToObject(one, "has_data", has);
		if (!has)
			cJSON_AddStringToObject(one, "message", hp_section_none(section, report));
		cJSON_AddItemToArray(array, one);
	}
}

cJSON *hp_page_overview(struct hp_report *report)
{
	cJSON *to = cJSON_CreateObject();

	program_add(report, to);
	sums_add(report, to);
	losses_add(&report->model.losses, to);
	sections_add(report, to);
	return to;
}

/* --- a complete page's --- */

/* In JSON this character occurs only in texts; without it, none of them is an element. */
static void escaped_write(cJSON *json, FILE *out)
{
	char *text = cJSON_PrintUnformatted(json);

	for (const char *c = text ? text : "null"; *c; c++)
		if (*c == '<')
			fputs("\\u003c", out);
		else
			putc(*c, out);
	cJSON_free(text);
	cJSON_Delete(json);
}

void hp_page_data_write(struct hp_report *report, FILE *out)
{
	const char *comma = "";
	struct hp_flame flame;

	fputs("{\"overview\":", out);
	escaped_write(hp_page_overview(report), out);
	fputs(",\n\"flame\":", out);
	hp_flame_init(&flame, report);
	hp_flame_write(&flame, report, out);
	hp_flame_release(&flame);
	fputs(",\n\"timeline\":", out);
	escaped_write(hp_page_timeline(report, 0), out);
	fputs(",\n\"sections\":{", out);
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		if (!hp_section_is_listed(section))
			continue;
		fprintf(out, "%s\n\"%s\":", comma, section->json);
		escaped_write(hp_json_section(report, section), out);
		comma = ",";
	}
	fputs("}}", out);
}
