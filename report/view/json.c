/* SPDX-License-Identifier: MIT */
/*
 * json.c - the report as JSON, in the shape that clients of the Rust crate
 * hotpath 0.30 read.
 *
 * Each list has `data`, exactly in that shape: numbers as people read them, and
 * in entries of functions no key of ours, since those clients refuse them.
 * Beside it stands `raw`, the same rows in the same order, with plain numbers.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "report/section/memory/section.h"
#include "report/section/mixed/bound.h"
#include "report/section/timing/calls.h"
#include "report/section/channel/section.h"
#include "report/section/cpu/cpu.h"
#include "report/base/field.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/section/sections.h"
#include "report/read/size.h"
#include "report/section/thread/thread.h"
#include "report/view/view.h"

#define SHAPE_VERSION "0.30.3"	/* of the crate whose shape this is */
#define TREE_MOST 1000	/* nodes written */

/* --- values --- */

static cJSON *said(const struct hp_column *column, const struct hp_value *value)
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
		/* The key stays where it is: thousands of copies of it are spared. */
		cJSON_AddItemToObjectCS(entry, side == SIDE_DATA ? column->key : column->raw,
					side == SIDE_DATA ? said(column, &value)
							  : plain(column, &value));
		return;
	}
	snprintf(key, sizeof(key), "%s%s%s", side == SIDE_DATA ? column->key : column->raw,
		 hp_format_percentile(&cell, percentile),
		 side == SIDE_RAW && column->unit == HP_UNIT_TIME ? "_ns" : "");
	cJSON_AddItemToObject(entry, key,
			      side == SIDE_DATA ? said(column, &value) : plain(column, &value));
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

/* --- functions --- */

static void percentiles_add(struct hp_report *report, cJSON *list)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *array = cJSON_AddArrayToObject(list, "percentiles");

	for (uint32_t i = 0; i < percentiles->count; i++) {
		double at = percentiles->at[i];
		struct hp_text_cell cell;
		char text[64];

		/* A float to readers that tell floats from integers: 95.0. */
		snprintf(text, sizeof(text), "%s%s", hp_format_percentile(&cell, at),
			 at > floor(at) ? "" : ".0");
		cJSON_AddItemToArray(array, cJSON_CreateRaw(text));
	}
}

static void functions_head(struct hp_report *report, cJSON *list)
{
	struct hp_text_cell cell;

	cJSON_AddStringToObject(list, "profiling_mode", "timing");
	cJSON_AddStringToObject(list, "time_elapsed",
				hp_format_time(&cell, (double)report->model.elapsed_ns));
	hp_json_whole(list, "total_elapsed_ns", report->model.elapsed_ns);
}

static void functions_middle(struct hp_report *report, cJSON *list)
{
	cJSON_AddStringToObject(list, "caller_name", report->caller);
	percentiles_add(report, list);
}

static void function_source(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_source source;

	if (hp_report_source(report, row, &source))
		hp_json_location(entry, source.file, source.line, source.column);
}

static cJSON *call_new(const struct hp_model_call *call)
{
	cJSON *entry = cJSON_CreateObject();

	hp_json_whole(entry, "start_ns", call->start_ns);
	hp_json_whole(entry, "ns", call->ns);
	hp_json_whole(entry, "tid", call->tid);
	hp_json_text(entry, "result", call->result);
	return entry;
}

static void function_calls(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_model_function *f = row;
	struct hp_model_call last[HP_LAST_MOST];
	struct hp_call slowest[HP_SLOWEST];
	size_t count;
	cJSON *array;

	if (report->is_brief)
		return;
	hp_model_slowest(&report->model, f, slowest);
	count = hp_model_last_calls(&report->model, f, last, HP_LAST_MOST);
	array = cJSON_AddArrayToObject(entry, "slowest_calls");

	for (int i = 0; i < HP_SLOWEST && slowest[i].ticks; i++) {
		struct hp_model_call call = hp_model_call(&report->model, &slowest[i]);

		cJSON_AddItemToArray(array, call_new(&call));
	}
	array = cJSON_AddArrayToObject(entry, "last_calls");
	for (size_t i = 0; i < count; i++) {
		cJSON_AddItemToArray(array, call_new(&last[i]));
		free(last[i].result);
	}
}

/* --- samples --- */

static void cpu_head(struct hp_report *report, cJSON *list)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);
	struct hp_text_cell cell;

	cJSON_AddStringToObject(list, "time_elapsed",
				hp_format_time(&cell, (double)report->model.elapsed_ns));
	hp_json_whole(list, "total_elapsed_ns", report->model.elapsed_ns);
	hp_json_whole(list, "total_samples", cpu->total_ns / 1000);
	hp_json_whole(list, "attributed_samples", cpu->attributed_ns / 1000);
}

static const char *source_name(uint32_t source)
{
	static const char *const names[] = { "none", "cycles", "cpu-clock", "timer", "samply" };

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "unknown";
}

static void cpu_middle(struct hp_report *report, cJSON *list)
{
	const struct hp_sampling *record = &report->model.sampling.record;

	cJSON_AddStringToObject(list, "caller_name", report->caller);
	cJSON_AddStringToObject(list, "source", source_name(record->source));
	hp_json_whole(list, "frequency_hz", record->frequency);
	if (report->model.sampling.low_hz)
		hp_json_whole(list, "frequency_low_hz", report->model.sampling.low_hz);
	cJSON_AddBoolToObject(list, "has_kernel", record->has_kernel != 0);
	hp_json_whole(list, "sample_count", record->samples);
	hp_json_whole(list, "lost_count", record->lost);
	if (hp_cpu_missed_ns(report))
		hp_json_whole(list, "unsampled_ns", hp_cpu_missed_ns(report));
	hp_json_whole(list, "complete_count", record->complete);
	hp_json_whole(list, "folded_count", record->folded);
	if (hp_cpu_profile(report))
		cJSON_AddStringToObject(list, "profile_path", hp_cpu_profile(report));
}

/* --- threads --- */

static void threads_head(struct hp_report *report, cJSON *list)
{
	const struct hp_model *model = &report->model;
	struct hp_text_cell cell;
	struct hp_thread_sums sums;

	hp_threads_sum(report, &sums);
	hp_json_whole(list, "current_elapsed_ns", model->elapsed_ns);
	hp_json_whole(list, "sample_interval_ms", model->threads_interval_ms);
	hp_json_whole(list, "thread_count", sums.count);
	if (sums.unlisted)
		hp_json_whole(list, "unlisted_count", sums.unlisted);
	hp_sizes_add_json(model, list);
	if (model->rss_kb)
		cJSON_AddStringToObject(list, "rss_bytes",
					hp_format_bytes(&cell, model->rss_kb * 1024));
	if (model->peak_rss_kb)
		cJSON_AddStringToObject(list, "rss_bytes_max",
					hp_format_bytes(&cell, model->peak_rss_kb * 1024));
	hp_alloc_threads_add(report, list);
}

/* --- the tree --- */

static int compare_heavy(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* Nodes from here on are written; a caller is at least as heavy as its callees. */
static double tree_least(const struct hp_model *model)
{
	double *heavy = hp_xcalloc(model->node_count, sizeof(*heavy));
	double least;

	for (size_t i = 0; i < model->node_count; i++)
		heavy[i] = model->nodes[i].inclusive_ns;
	qsort(heavy, model->node_count, sizeof(*heavy), compare_heavy);
	least = model->node_count > TREE_MOST ? heavy[TREE_MOST] : -1;
	free(heavy);
	return least;
}

/* `parent` is the id of the caller's node; 0 = none. */
static void tree_tail(struct hp_report *report, cJSON *list)
{
	const struct hp_model *model = &report->model;
	double least = tree_least(model);
	cJSON *array = cJSON_AddArrayToObject(list, "tree");

	for (size_t i = 1; i < model->node_count; i++) {
		const struct hp_model_node *node = &model->nodes[i];
		cJSON *entry;

		if (node->inclusive_ns <= least)
			continue;
		entry = cJSON_CreateObject();
		hp_json_whole(entry, "id", i);
		hp_json_whole(entry, "parent", node->parent);
		cJSON_AddStringToObject(entry, "name",
					hp_report_name(report, &model->functions[node->function]));
		hp_json_whole(entry, "calls", node->calls);
		hp_json_whole(entry, "inclusive_ns", hp_whole(rint(node->inclusive_ns)));
		hp_json_whole(entry, "self_ns", hp_whole(rint(node->self_ns)));
		cJSON_AddItemToArray(array, entry);
	}
	hp_json_whole(list, "tree_total_count", model->node_count - 1);
}

/* --- the whole --- */

/* What a section has beside its columns. */
struct extra {
	const char *key;
	void (*head)(struct hp_report *report, cJSON *list);
	void (*middle)(struct hp_report *report, cJSON *list);
	void (*entry)(struct hp_report *report, const void *row, cJSON *entry);
	void (*raw)(struct hp_report *report, const void *row, cJSON *entry);
	void (*tail)(struct hp_report *report, cJSON *list);
};

static const struct extra extras[] = {
	{ "functions_timing", functions_head, functions_middle, function_source, function_calls,
	  NULL },
	{ "functions_cpu", cpu_head, cpu_middle, NULL, NULL, NULL },
	{ "bound", NULL, NULL, NULL, hp_bound_raw_add, NULL },
	{ "threads", threads_head, NULL, NULL, NULL, NULL },
	{ "calltree", functions_head, functions_middle, NULL, NULL, tree_tail },
	{ "functions_alloc", hp_alloc_totals_add, functions_middle, NULL, hp_alloc_calls_add,
	  NULL },
	{ "alloc_callers", hp_alloc_totals_add, NULL, NULL, NULL, NULL },
	{ "alloc_sites", hp_alloc_totals_add, NULL, NULL, hp_alloc_spread_add, NULL },
	{ "leaks", hp_alloc_totals_add, NULL, NULL, hp_alloc_frames_add, NULL },
	{ "alloc_sizes", hp_blocks_add, NULL, NULL, NULL, NULL },
	{ "alloc_lives", hp_blocks_add, NULL, NULL, NULL, NULL },
	{ "direct_maps", hp_direct_maps_add, NULL, NULL, hp_alloc_frames_add, NULL },
	{ "mutexes", hp_lock_head_add, NULL, hp_mutex_entry_add, NULL, NULL },
	{ "rw_locks", hp_lock_head_add, NULL, hp_rwlock_entry_add, NULL, NULL },
	{ "conds", hp_lock_head_add, NULL, hp_kind_entry_add, NULL, NULL },
	{ "sems", hp_lock_head_add, NULL, hp_kind_entry_add, NULL, NULL },
	{ "barriers", hp_lock_head_add, NULL, hp_kind_entry_add, hp_barrier_entry_add, NULL },
	{ "file_locks", hp_lock_head_add, NULL, hp_file_lock_entry_add, NULL, NULL },
	{ "thread_states", hp_lock_head_add, NULL, NULL, hp_thread_state_entry_add, NULL },
	{ "waits", hp_lock_head_add, NULL, NULL, hp_wait_entry_add, NULL },
	{ "lock_order", hp_lock_head_add, NULL, NULL, NULL, NULL },
	{ "waiting", hp_lock_head_add, NULL, NULL, hp_waiting_entry_add, NULL },
	{ "channels", hp_lock_head_add, NULL, hp_channel_entry_add, hp_channel_messages_add, NULL },
};

static const struct extra *extra_of(const struct hp_section *section)
{
	static const struct extra none = { .key = "" };

	for (size_t i = 0; i < sizeof(extras) / sizeof(extras[0]); i++)
		if (strcmp(extras[i].key, section->json) == 0)
			return &extras[i];
	return &none;
}

static void rows_add(struct hp_report *report, const struct hp_section *section,
		     const struct hp_list *list, enum side side, cJSON *to)
{
	const struct extra *extra = extra_of(section);
	cJSON *array = cJSON_AddArrayToObject(to, side == SIDE_DATA ? "data" : "raw");

	for (size_t i = 0; i < list->shown; i++) {
		cJSON *entry = entry_new(report, section, list->rows[i], side);

		if (side == SIDE_DATA && extra->entry)
			extra->entry(report, list->rows[i], entry);
		if (side == SIDE_RAW && extra->raw)
			extra->raw(report, list->rows[i], entry);
		cJSON_AddItemToArray(array, entry);
	}
}

cJSON *hp_json_section(struct hp_report *report, const struct hp_section *section)
{
	const struct extra *extra = extra_of(section);
	cJSON *to = cJSON_CreateObject();
	struct hp_list list;

	section->fill(report, &list);
	if (extra->head)
		extra->head(report, to);
	cJSON_AddStringToObject(to, "description", section->describe(report));
	if (extra->middle)
		extra->middle(report, to);
	rows_add(report, section, &list, SIDE_DATA, to);
	hp_json_whole(to, "total_count", list.total);
	hp_json_whole(to, "included_count", list.shown);
	rows_add(report, section, &list, SIDE_RAW, to);
	if (extra->tail)
		extra->tail(report, to);
	if (!list.shown)
		cJSON_AddStringToObject(to, "message", section->empty(report));
	free(list.rows);
	return to;
}

static void section_add(struct hp_report *report, const struct hp_section *section, cJSON *root)
{
	cJSON_AddItemToObject(root, section->json, hp_json_section(report, section));
}

/* What was found out when the run ended. */
static void facts_add(const struct hp_facts *facts, cJSON *meta)
{
	const char *sha = hp_facts_get(facts, "git.sha");
	const char *cores = hp_facts_get(facts, "cores");
	cJSON *git;

	if (cores)
		hp_json_whole(meta, "cores", hp_field_number(cores));
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
	hp_json_text(meta, "os", os);
	if (gmtime_r(&created, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
		cJSON_AddStringToObject(meta, "created_at", text);
	cJSON_AddStringToObject(meta, "profiler", "hotpath " HP_VERSION);
	if (model->root != HP_NONE)
		hp_json_text(meta, "command", model->processes[model->root].command);
	facts_add(facts, meta);
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
	hp_json_whole(summary, "peak_rss_bytes", model->peak_rss_kb * 1024);
	hp_json_whole(summary, "profiling_cost_ns", model->overhead_ns);
	hp_json_whole(summary, "clock_grain_ns", hp_whole(rint(model->grain_ns)));
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
}

void hp_json_write(struct hp_report *report, bool is_pretty, FILE *out)
{
	cJSON *root = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(root, "type", "hotpath_report");
	cJSON_AddStringToObject(root, "version", SHAPE_VERSION);
	meta_add(report, root);
	hp_json_text(root, "label", report->label);
	if (report->record.facts)
		user_add(report->record.facts, root);
	if (report->answer)
		section_add(report, report->answer, root);
	for (size_t i = 0; i < hp_section_count; i++)
		if (report->is_shown[i] && hp_section_table[i].json[0])
			section_add(report, &hp_section_table[i], root);
	summary_add(report, root);
	text = is_pretty ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
	fprintf(out, "%s\n", text ? text : "{}");
	cJSON_free(text);
	cJSON_Delete(root);
}
