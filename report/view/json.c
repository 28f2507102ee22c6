/* SPDX-License-Identifier: MIT */
/*
 * json.c - the report as JSON, in the format that clients of the Rust
 * crate hotpath 0.30 read.
 *
 * Each list has `data`, exactly in that format: formatted numbers, and in
 * entries of functions no keys of our own, since those clients refuse them.
 * Next to it is `raw`, the same rows in the same order, with plain numbers.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "report/section/timing/calls.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/order.h"
#include "report/section/sections.h"
#include "report/read/size.h"
#include "report/section/thread/thread.h"
#include "report/section/core/cost_json.h"
#include "report/view/levels.h"
#include "report/view/view.h"

#define SHAPE_VERSION "0.30.3" /* of the crate whose format this is */

/* --- values --- */

static cJSON *formatted(const struct hp_column *column, const struct hp_value *value)
{
	struct hp_text_cell cell;

	if (value->is_unknown)
		return column->unit == HP_UNIT_LOAD || column->unit == HP_UNIT_RATE
			       ? cJSON_CreateNull()
			       : cJSON_CreateString("-");
	if (value->text)
		return cJSON_CreateString(value->text);
	switch (column->unit) {
	case HP_UNIT_BYTES:
		return cJSON_CreateString(hp_format_bytes(&cell, hp_whole(value->number)));
	case HP_UNIT_DIFFERENCE:
		return cJSON_CreateString(hp_format_signed_bytes(&cell, value->number));
	case HP_UNIT_TIME:
		return cJSON_CreateString(hp_format_time(&cell, value->number));
	case HP_UNIT_SHARE:
		return cJSON_CreateString(hp_format_percent(&cell, value->number, 2));
	case HP_UNIT_RATE:
		return cJSON_CreateNumber(value->number);
	case HP_UNIT_LOAD:
	case HP_UNIT_ERROR:
		return cJSON_CreateString(hp_format_percent(&cell, value->number, 1));
	default:
		return hp_json_number(hp_whole(value->number));
	}
}

static cJSON *plain(const struct hp_column *column, const struct hp_value *value)
{
	if (value->is_unknown)
		return cJSON_CreateNull();
	if (value->text)
		return cJSON_CreateString(value->text);
	if (column->unit == HP_UNIT_SHARE || column->unit == HP_UNIT_LOAD ||
	    column->unit == HP_UNIT_RATE)
		return cJSON_CreateNumber(round(value->number * 1e4) / 1e4);
	if (value->number < 0 && column->unit == HP_UNIT_DIFFERENCE)
		return cJSON_CreateNumber(rint(value->number));
	return hp_json_number(hp_whole(rint(value->number)));
}

enum side { SIDE_DATA, SIDE_RAW };

static void value_add(struct hp_report *report, const struct hp_column *column, const void *row,
		      double percentile, enum side side, cJSON *entry)
{
	const struct hp_cell asked = { report, row, column, percentile };
	struct hp_value value = { .text = NULL };
	struct hp_text_cell cell;
	char key[64];

	hp_cell_get(&asked, &value);
	if (value.is_unknown && column->need == HP_NEED_KNOWN)
		return;
	if (!column->is_percentiles) {
		/* The key is not copied: that saves thousands of copies. */
		cJSON_AddItemToObjectCS(entry, side == SIDE_DATA ? column->key : column->raw,
					side == SIDE_DATA ? formatted(column, &value)
							  : plain(column, &value));
		return;
	}
	snprintf(key, sizeof(key), "%s%s%s", side == SIDE_DATA ? column->key : column->raw,
		 hp_format_percentile(&cell, percentile),
		 side == SIDE_RAW && column->unit == HP_UNIT_TIME ? "_ns" : "");
	cJSON_AddItemToObject(
		entry, key, side == SIDE_DATA ? formatted(column, &value) : plain(column, &value));
}

static cJSON *entry_new(struct hp_report *report, const struct hp_section *section, const void *row,
			enum side side)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *entry = cJSON_CreateObject();

	for (const struct hp_column *column = section->columns; hp_column_is(column); column++) {
		if (!(side == SIDE_DATA ? column->key : column->raw))
			continue;
		if (!column->is_percentiles)
			value_add(report, column, row, 0, side, entry);
		for (uint32_t p = 0; column->is_percentiles && p < percentiles->count; p++)
			value_add(report, column, row, percentiles->at[p], side, entry);
	}
	return entry;
}

/* --- a section --- */

static cJSON *row_new(struct hp_report *report, const struct hp_section *section, const void *row,
		      enum side side)
{
	cJSON *entry = entry_new(report, section, row, side);
	const struct hp_extra *extra = &section->extra;

	if (side == SIDE_DATA && extra->data)
		extra->data(report, row, entry);
	if (side == SIDE_RAW && extra->raw)
		extra->raw(report, row, entry);
	return entry;
}

static const char *rows_key(const struct hp_section *section, enum side side)
{
	return side == SIDE_DATA ? hp_section_rows(section) : "raw";
}

static void rows_add(struct hp_report *report, const struct hp_section *section,
		     const struct hp_list *list, enum side side, cJSON *to)
{
	cJSON *array = cJSON_AddArrayToObject(to, rows_key(section, side));

	for (size_t i = 0; i < list->shown; i++)
		cJSON_AddItemToArray(array, row_new(report, section, list->rows[i], side));
}

/* What stands before the rows of SIDE_DATA. */
static void head_add(struct hp_report *report, const struct hp_section *section, cJSON *to)
{
	const struct hp_extra *extra = &section->extra;

	if (extra->head)
		extra->head(report, to);
	cJSON_AddStringToObject(to, "description", hp_section_about(section, report));
	if (extra->middle)
		extra->middle(report, to);
}

/* Between them and those of SIDE_RAW. */
static void counts_add(const struct hp_list *list, cJSON *to)
{
	hp_json_whole(to, "total_count", list->total);
	hp_json_whole(to, "included_count", list->shown);
}

static void tail_add(struct hp_report *report, const struct hp_section *section,
		     const struct hp_list *list, cJSON *to)
{
	if (section->extra.tail)
		section->extra.tail(report, to);
	if (!list->shown)
		cJSON_AddStringToObject(to, "message", hp_section_none(section, report));
}

cJSON *hp_json_section(struct hp_report *report, const struct hp_section *section)
{
	cJSON *to = cJSON_CreateObject();
	struct hp_list list;

	hp_section_fill(report, section, &list);
	head_add(report, section, to);
	rows_add(report, section, &list, SIDE_DATA, to);
	counts_add(&list, to);
	rows_add(report, section, &list, SIDE_RAW, to);
	tail_add(report, section, &list, to);
	free(list.rows);
	return to;
}

/* --- the whole --- */

/* Facts found when the run ended. */
static void facts_add(const struct hp_facts *facts, cJSON *meta)
{
	const char *sha = hp_facts_get(facts, "git.sha");
	cJSON *git;

	if (!sha)
		return;
	git = cJSON_AddObjectToObject(meta, "git");
	hp_json_text(git, "sha", sha);
	hp_json_text(git, "ref", hp_facts_get(facts, "git.ref"));
}

static void meta_add(struct hp_report *report, cJSON *root)
{
	static const struct hp_facts none = HP_FACTS_NONE;
	const struct hp_facts *facts = report->record.facts ? report->record.facts : &none;
	const struct hp_model *model = &report->model;
	time_t created = (time_t)(model->reader.header.created_unix_ns / 1000000000);
	cJSON *meta = cJSON_AddObjectToObject(root, "meta");
	const char *os = hp_facts_get(facts, "os");
	struct utsname system;
	struct tm parts;
	char text[160];

	if (!os && uname(&system) == 0) {
		snprintf(text, sizeof(text), "linux-%s", system.machine);
		os = text;
	}
	/* Clients of the crate need the first; the others are about a Rust program's build. */
	cJSON_AddStringToObject(meta, "rustc", "");
	cJSON_AddStringToObject(meta, "run", "native");
	hp_json_text(meta, "os", os);
	if (gmtime_r(&created, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
		cJSON_AddStringToObject(meta, "created_at", text);
	cJSON_AddStringToObject(meta, "profiler", "hotpath " HP_VERSION);
	if (model->root != HP_NONE)
		hp_json_text(meta, "command", model->processes[model->root].command);
	hp_json_text(meta, "source_root", report->settings->source_root);
	if (hp_facts_cores(facts, model))
		hp_json_whole(meta, "cores", hp_facts_cores(facts, model));
	facts_add(facts, meta);
	hp_levels_json(&model->levels, meta);
}

static int compare_facts(const void *left, const void *right)
{
	return strcmp(((const struct hp_fact *)left)->key, ((const struct hp_fact *)right)->key);
}

/* HOTPATH_USER_METADATA, sorted by key. */
static void user_add(const struct hp_facts *facts, cJSON *root)
{
	struct hp_fact *pairs = hp_xcalloc(facts->count, sizeof(*pairs));
	size_t count = 0;
	cJSON *user;

	for (size_t i = 0; i < facts->count; i++)
		if (strncmp(facts->list[i].key, "user.", 5) == 0)
			pairs[count++] = facts->list[i];
	qsort(pairs, count, sizeof(*pairs), compare_facts);
	user = count ? cJSON_AddObjectToObject(root, "user_metadata") : NULL;
	for (size_t i = 0; i < count; i++) {
		char *key = hp_text_clean(pairs[i].key + 5);

		if (!cJSON_HasObjectItem(user, key))
			hp_json_text(user, key, pairs[i].value);
		free(key);
	}
	free(pairs);
}

/* The counters of a running program were not read at one moment: sums may disagree a little. */
static bool is_running(const struct hp_report *report)
{
	const struct hp_model *model = &report->model;

	for (size_t i = 0; report->record.is_live && i < model->process_count; i++)
		if (model->processes[i].is_running)
			return true;
	return false;
}

/* The head of the tables, as numbers. */
static void summary_add(struct hp_report *report, cJSON *root)
{
	const struct hp_model *model = &report->model;
	const struct hp_model_losses *losses = &model->losses;
	cJSON *summary = cJSON_AddObjectToObject(root, "summary");
	struct hp_thread_sums sums;

	hp_threads_sum(report, &sums);
	hp_json_whole(summary, "wall_ns", model->elapsed_ns);
	hp_json_whole(summary, "cpu_ns", model->cpu_ns);
	hp_json_whole(summary, "blocked_ns", sums.blocked_ns);
	hp_json_whole(summary, "stopped_ns", sums.stopped_ns);
	hp_json_whole(summary, "peak_rss_bytes", model->peak_rss_kb * 1024);
	hp_cost_json(summary, model);
	if (model->suspended_ns)
		hp_json_whole(summary, "suspended_ns", model->suspended_ns);
	hp_json_whole(summary, "clock_grain_ns", hp_whole(rint(model->grain_ns)));
	hp_json_whole(summary, "hooked_threads", model->reader.header.threads_seen);
	cJSON_AddBoolToObject(summary, "status_known", model->reader.header.status_known != 0);
	if (model->reader.header.status_known)
		hp_json_whole(summary, "wait_status", model->reader.header.root_status);
	hp_json_whole(summary, "refused_chunks", losses->refused_chunks);
	hp_json_whole(summary, "refusals", losses->refusals);
	hp_json_whole(summary, "lost_calls", losses->lost_calls);
	hp_json_whole(summary, "lost_threads", losses->lost_threads);
	hp_json_whole(summary, "calls_without_path", losses->folded_rows);
	hp_json_whole(summary, "calls_in_other", losses->folded_functions);
	hp_json_whole(summary, "unwound_calls", losses->unwound);
	hp_json_whole(summary, "unpaired_exits", losses->unpaired);
	cJSON_AddBoolToObject(summary, "damaged", losses->is_damaged);
	if (model->reader.header.shut_down)
		cJSON_AddTrueToObject(summary, "shut_down");
	if (is_running(report))
		cJSON_AddTrueToObject(summary, "running");
}

/* --- writing --- */

#define ROWS 64	/* printed at a time */

/*
 * A tree takes several times the memory of its text. So the report is written in parts, a few rows
 * at a time: each is printed in its place in an otherwise empty report, a frame that is cut off.
 */
struct frame {
	const char *before;
	const char *after;
};

/* Each for compact and pretty text. */
static const struct frame root_frames[] = { { "{", "}" }, { "{\n", "\n}" } };
static const struct frame section_frames[] = { { "{\"\":{", "}}" },
					       { "{\n\t\"\":\t{\n", "\n\t}\n}" } };
static const struct frame rows_frames[] = { { "{\"\":{\"\":[", "]}}" },
					    { "{\n\t\"\":\t{\n\t\t\"\":\t[", "]\n\t}\n}" } };

/* Prints the part in its frame, writes it after `between`, and frees it. */
static void part_write(cJSON *part, const struct frame *frames, bool is_pretty, const char *between,
		       FILE *out)
{
	char *text = is_pretty ? cJSON_Print(part) : cJSON_PrintUnformatted(part);
	size_t before = strlen(frames[is_pretty].before), after = strlen(frames[is_pretty].after);
	size_t size = text ? strlen(text) : 0;

	cJSON_Delete(part);
	if (size > before + after) {
		fputs(between, out);
		fwrite(text + before, 1, size - before - after, out);
	}
	cJSON_free(text);
}

/* Between members. */
static const char *comma(bool is_pretty)
{
	return is_pretty ? ",\n" : ",";
}

/* Writes members of the report's object, and frees them. */
static void members_write(cJSON *members, bool is_pretty, bool is_first, FILE *out)
{
	part_write(members, root_frames, is_pretty,
		   is_first ? is_pretty ? "\n" : "" : comma(is_pretty), out);
}

/* Writes members of a section's object, and frees them. */
static void own_write(cJSON *members, bool is_pretty, bool is_first, FILE *out)
{
	cJSON *part = cJSON_CreateObject();

	cJSON_AddItemToObjectCS(part, "", members);
	part_write(part, section_frames, is_pretty, is_first ? "" : comma(is_pretty), out);
}

static void rows_write(struct hp_report *report, const struct hp_section *section,
		       const struct hp_list *list, enum side side, bool is_pretty, FILE *out)
{
	fprintf(out, is_pretty ? ",\n\t\t\"%s\":\t[" : ",\"%s\":[", rows_key(section, side));
	for (size_t i = 0; i < list->shown; i += ROWS) {
		cJSON *part = cJSON_CreateObject(), *own = cJSON_AddObjectToObject(part, "");
		cJSON *array = cJSON_AddArrayToObject(own, "");

		for (size_t n = i; n < list->shown && n < i + ROWS; n++)
			cJSON_AddItemToArray(array, row_new(report, section, list->rows[n], side));
		part_write(part, rows_frames, is_pretty, i == 0 ? "" : is_pretty ? ", " : ",", out);
	}
	fputc(']', out);
}

/* The text of hp_json_section, in its place in the report. */
static void listed_write(struct hp_report *report, const struct hp_section *section, bool is_pretty,
			 FILE *out)
{
	cJSON *head = cJSON_CreateObject(), *counts = cJSON_CreateObject();
	cJSON *tail = cJSON_CreateObject();
	struct hp_list list;

	fprintf(out, is_pretty ? ",\n\t\"%s\":\t{\n" : ",\"%s\":{", section->json);
	hp_section_fill(report, section, &list);
	head_add(report, section, head);
	own_write(head, is_pretty, true, out);
	rows_write(report, section, &list, SIDE_DATA, is_pretty, out);
	counts_add(&list, counts);
	own_write(counts, is_pretty, false, out);
	rows_write(report, section, &list, SIDE_RAW, is_pretty, out);
	tail_add(report, section, &list, tail);
	own_write(tail, is_pretty, false, out);
	fputs(is_pretty ? "\n\t}" : "}", out);
	free(list.rows);
}

static void section_write(struct hp_report *report, const struct hp_section *section,
			  bool is_pretty, FILE *out)
{
	cJSON *members;

	if (!section->array) {
		listed_write(report, section, is_pretty, out);
		return;
	}
	members = cJSON_CreateObject();
	cJSON_AddItemToObject(members, section->json, section->array(report));
	members_write(members, is_pretty, false, out);
}

void hp_json_write(struct hp_report *report, bool is_pretty, FILE *out)
{
	cJSON *root = cJSON_CreateObject();

	fputc('{', out);
	cJSON_AddStringToObject(root, "type", "hotpath_report");
	cJSON_AddStringToObject(root, "version", SHAPE_VERSION);
	meta_add(report, root);
	hp_json_text(root, "label", report->label);
	if (report->record.facts)
		user_add(report->record.facts, root);
	members_write(root, is_pretty, true, out);
	if (report->answer)
		section_write(report, report->answer, is_pretty, out);
	for (size_t i = 0; i < hp_section_count; i++)
		if (report->is_shown[i] && hp_section_is_listed(hp_sections[i]))
			section_write(report, hp_sections[i], is_pretty, out);
	root = cJSON_CreateObject();
	summary_add(report, root);
	members_write(root, is_pretty, false, out);
	fputs(is_pretty ? "\n}\n" : "}\n", out);
}
