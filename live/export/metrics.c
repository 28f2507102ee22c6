/* SPDX-License-Identifier: MIT */
/*
 * metrics.c - see metrics.h.
 */
#include "live/export/metrics.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "live/export/crate.h"
#include "live/export/exposition.h"
#include "live/export/number.h"
#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
#include "report/section/memory/section.h"
#include "report/base/format.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/read/cost.h"
#include "report/section/core/list.h"
#include "report/section/order.h"
#include "report/section/sections.h"

#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* For functions and locks. */
static const double fast[] = { 2.5e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3,
			       3e-3,   1e-2, 3e-2, 0.1,	 0.3,  1,    3,	   10 };

/* For bytes, and for blocks, in a call. */
static const double bytes[] = { 0,	64,	 256,	  1024,	    4096,     16384,	65536,
				262144, 1048576, 4194304, 16777216, 67108864, 268435456 };
static const double blocks[] = { 0, 1, 2, 5, 10, 20, 50, 100, 1000, 10000, 100000 };

struct metrics {
	struct hp_exposition to;
	struct hp_snapshot *snapshot;
	struct hp_bounds fast;
	struct hp_bounds bytes;
	struct hp_bounds blocks;
};

static void one(struct metrics *m, enum hp_family_kind kind, const char *name, const char *help,
		double value)
{
	hp_family_begin(&m->to, kind, name, help);
	hp_sample(&m->to, NULL, value);
}

/* --- the program --- */

static void program_write(struct metrics *m)
{
	const struct hp_model *model = &m->snapshot->report.model;
	struct hp_cost cost = hp_cost_of(model);
	struct utsname system;
	char os[100] = "linux";
	struct hp_label_pair labels[] = { { "hotpath_version", HP_VERSION },
					  { "os", os },
					  { NULL, NULL } };

	if (uname(&system) == 0)
		snprintf(os, sizeof(os), "linux-%s", system.machine);
	hp_family_begin(&m->to, HP_FAMILY_GAUGE, "hotpath_build_info",
			"hotpath build info, value is always 1.");
	hp_sample(&m->to, labels, 1);
	one(m, HP_FAMILY_GAUGE, "hotpath_uptime_seconds", "Seconds since profiling started.",
	    (double)model->elapsed_ns / 1e9);
	if (model->rss_kb)
		one(m, HP_FAMILY_GAUGE, "hotpath_rss_bytes", "Resident set size of the process.",
		    (double)model->rss_kb * 1024);
	one(m, HP_FAMILY_COUNTER, "hotpath_profiling_seconds",
	    "Cost of the profiler's hooks, all threads.", (double)model->overhead_ns / 1e9);
	one(m, HP_FAMILY_GAUGE, "hotpath_profiling_cost_low_seconds",
	    "CPU time that profiling cost the program, hooks included, at least.",
	    cost.low_ns / 1e9);
	if (!cost.is_least)
		one(m, HP_FAMILY_GAUGE, "hotpath_profiling_cost_high_seconds", "The same, at most.",
		    cost.high_ns / 1e9);
}

/* --- functions --- */

static int compare_functions(const void *left, const void *right)
{
	const struct hp_model_function *a = *(const struct hp_model_function *const *)left;
	const struct hp_model_function *b = *(const struct hp_model_function *const *)right;

	if (a->total_ns < b->total_ns || a->total_ns > b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return a->calls < b->calls ? 1 : a->calls > b->calls ? -1 : 0;
}

/* Those with the largest totals; *others counts the rest. */
static const struct hp_model_function **functions_choose(struct metrics *m, size_t *count,
							 uint64_t *others)
{
	const struct hp_model *model = &m->snapshot->report.model;
	const struct hp_model_function **list =
		hp_xcalloc(model->function_count + 1, sizeof(*list));

	*count = *others = 0;
	for (size_t i = 0; i < model->function_count; i++)
		if (model->functions[i].calls)
			list[(*count)++] = &model->functions[i];
	qsort(list, *count, sizeof(*list), compare_functions);
	for (; *count > HP_METRICS_SERIES; (*count)--)
		*others += list[*count - 1]->calls;
	return list;
}

/*
 * Static functions of the same name in several files: later ones get their id
 * appended. Fresh texts.
 */
static char **names_of(struct metrics *m, const struct hp_model_function *const *list, size_t count)
{
	struct hp_report *report = &m->snapshot->report;
	char **names = hp_xcalloc(count + 1, sizeof(*names));

	for (size_t i = 0; i < count; i++) {
		const char *name = hp_report_name(report, list[i]);
		size_t same = 0;

		while (same < i && strcmp(hp_report_name(report, list[same]), name) != 0)
			same++;
		names[i] = same == i
				   ? hp_xstrdup(name)
				   : hp_xprintf("%s #%u", name,
						m->snapshot->function_ids[list[i] -
									  report->model.functions]);
	}
	return names;
}

static void functions_write(struct metrics *m)
{
	struct hp_report *report = &m->snapshot->report;
	struct hp_label_pair labels[] = { { "function", "other" }, { NULL, NULL } };
	uint64_t others;
	size_t count;
	const struct hp_model_function **list = functions_choose(m, &count, &others);
	char **names = names_of(m, list, count);

	hp_family_begin(
		&m->to, HP_FAMILY_COUNTER, "hotpath_function_calls",
		"Calls of each instrumented function; other: all beyond the first hundred.");
	for (size_t i = 0; i < count; i++) {
		labels[0].value = names[i];
		hp_sample(&m->to, labels, (double)list[i]->calls);
	}
	labels[0].value = "other";
	if (others)
		hp_sample(&m->to, labels, (double)others);
	hp_family_begin(&m->to, HP_FAMILY_HISTOGRAM, "hotpath_function_duration_seconds",
			"Duration of calls of each instrumented function, callees included.");
	for (size_t i = 0; i < count; i++) {
		const struct hp_histogram *histogram = hp_model_histogram(&report->model, list[i]);
		const struct hp_values values = { histogram, report->model.ns_per_tick / 1e9, 0 };

		labels[0].value = names[i];
		if (histogram->total)
			hp_spread(&m->to, labels, &values, &m->fast);
		free(names[i]);
	}
	free(names);
	free(list);
}

/* --- rows of lists --- */

static const char *label_text(const cJSON *row, const char *key, char room[40])
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	if (cJSON_IsRaw(value) || cJSON_IsString(value))
		return value->valuestring;
	if (!cJSON_IsNumber(value))
		return "";
	snprintf(room, 40, "%.0f", value->valuedouble);
	return room;
}

/* True if an earlier row has the same labels: nothing would distinguish the two series. */
static bool is_labelled_again(const struct hp_section *section, const cJSON *rows, const cJSON *row)
{
	char here[40], there[40];

	for (const cJSON *other = rows->child; other && other != row; other = other->next) {
		const struct hp_label_key *key = section->labels;

		while (key->name && strcmp(label_text(other, key->key, there),
					   label_text(row, key->key, here)) == 0)
			key++;
		if (!key->name)
			return true;
	}
	return false;
}

/* The same of each row; fresh. */
static bool *labelled_again(const struct hp_section *section, const cJSON *rows)
{
	size_t count = (size_t)(rows ? cJSON_GetArraySize(rows) : 0), i = 0;
	bool *again = hp_xcalloc(count + 1, sizeof(*again));

	for (const cJSON *row = rows ? rows->child : NULL; row; row = row->next)
		again[i++] = is_labelled_again(section, rows, row);
	return again;
}

/* A row of a list as JSON, and in its section. */
struct row {
	const cJSON *data;
	const cJSON *raw;
	const void *held;
	bool is_again;	/* an earlier one has its labels */
};

static void number_write(struct metrics *m, const struct hp_metric *metric, const struct row *row,
			 const struct hp_label_pair *labels)
{
	double number;

	/* Values that are null in `raw` have a placeholder number in `data`. */
	if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(row->raw, metric->key)))
		return;
	if (hp_number_of(row->raw, metric->key, &number) ||
	    hp_number_of(row->data, metric->key, &number))
		hp_sample(&m->to, labels, metric->scale > 0 ? number * metric->scale : number);
}

static void spread_write(struct metrics *m, const struct hp_metric *metric, const struct row *row,
			 const struct hp_label_pair *labels)
{
	const struct hp_bounds *bounds[] = { [HP_BOUNDS_SECONDS] = &m->fast,
					     [HP_BOUNDS_BYTES] = &m->bytes,
					     [HP_BOUNDS_BLOCKS] = &m->blocks };
	struct hp_metric_spread spread = { .histogram = NULL };
	struct hp_values values;

	metric->spread(&m->snapshot->report, row->held, &spread);
	if (!spread.histogram || !(spread.histogram->total + spread.zeros))
		return;
	values = (struct hp_values){ spread.histogram, spread.unit, spread.zeros };
	hp_spread(&m->to, labels, &values, bounds[metric->bounds]);
}

static void row_write(struct metrics *m, const struct hp_section *section,
		      const struct hp_metric *metric, const struct row *of)
{
	const struct hp_label_key *keys = section->labels;
	const cJSON *row = of->data;
	char *longer = NULL;
	struct hp_label_pair labels[8] = { { NULL, NULL } };
	char rooms[8][40];

	for (size_t i = 0; i < COUNT(labels) - 1 && keys[i].name; i++) {
		labels[i].name = keys[i].name;
		labels[i].value = label_text(row, keys[i].key, rooms[i]);
	}
	if (of->is_again)
		labels[0].value = longer =
			hp_xprintf("%s #%s", labels[0].value, label_text(row, "id", rooms[7]));
	(metric->spread ? spread_write : number_write)(m, metric, of, labels);
	free(longer);
}

static enum hp_family_kind kind_of(const struct hp_metric *metric)
{
	return metric->spread	    ? HP_FAMILY_HISTOGRAM
	       : metric->is_counter ? HP_FAMILY_COUNTER
				    : HP_FAMILY_GAUGE;
}

/*
 * The crate has a counter and a histogram that differ in _total only.  In OpenMetrics, where that
 * is not part of a counter's name, the two would collide.
 */
static bool is_taken(const struct metrics *m, const struct hp_section *section,
		     const struct hp_metric *metric)
{
	for (const struct hp_metric *other = section->metrics; other->key; other++)
		if (m->to.is_openmetrics && metric->is_counter && other->spread &&
		    strcmp(other->name, metric->name) == 0)
			return true;
	return false;
}

static void metric_write(struct metrics *m, const struct hp_section *section,
			 const struct hp_metric *metric, const cJSON *list,
			 const struct hp_list *held, const bool *again)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(list, hp_section_rows(section));
	const cJSON *raw = cJSON_GetObjectItemCaseSensitive(list, "raw");
	const cJSON *data = rows ? rows->child : NULL;
	struct row row = { .data = NULL };
	char *total = NULL;

	if (is_taken(m, section, metric))
		hp_family_begin(&m->to, HP_FAMILY_UNKNOWN,
				total = hp_xprintf("%s_total", metric->name), metric->help);
	else
		hp_family_begin(&m->to, kind_of(metric), metric->name, metric->help);
	raw = raw ? raw->child : NULL;
	for (size_t i = 0; data && i < held->shown; i++, data = data->next) {
		row.data = data;
		row.raw = raw;
		row.held = held->rows[i];
		row.is_again = again[i];
		row_write(m, section, metric, &row);
		raw = raw ? raw->next : NULL;
	}
	free(total);
}

/* In their established order; others follow. */
static const struct hp_section *const first[] = { &hp_alloc_functions_section,
						  &hp_threads_section };

static void list_write(struct metrics *m, const struct hp_section *section)
{
	cJSON *list = hp_list_json(m->snapshot, section);
	bool *again = labelled_again(
		section, cJSON_GetObjectItemCaseSensitive(list, hp_section_rows(section)));
	struct hp_list held;

	hp_section_fill(&m->snapshot->report, section, &held);
	for (const struct hp_metric *metric = section->metrics; metric->key; metric++)
		metric_write(m, section, metric, list, &held, again);
	free(held.rows);
	free(again);
	cJSON_Delete(list);
}

/* Each list once. */
static void lists_write(struct metrics *m)
{
	const struct hp_section **sections = hp_sections_arrange(first, COUNT(first));
	uint64_t limit = m->snapshot->settings.limit;
	uint32_t api = m->snapshot->settings.api;

	m->snapshot->settings.limit = HP_METRICS_SERIES;
	m->snapshot->settings.api = HP_API_NEW;
	for (size_t i = 0; i < hp_section_count; i++)
		if (sections[i]->metrics)
			list_write(m, sections[i]);
	hp_crate_metrics_write(&m->to, m->snapshot);
	m->snapshot->settings.limit = limit;
	m->snapshot->settings.api = api;
	free(sections);
}

/* --- threads and memory --- */

/* A thread that no kernel tick has hit yet was in one of the two, but it is unknown in which. */
static void cpu_write(struct metrics *m, const struct hp_model_thread *thread,
		      const struct hp_label_pair *labels, struct hp_label_pair *mode)
{
	double seconds = (double)thread->cpu_ns / 1e9;

	mode->value = thread->user_share < 0 ? "unknown" : "user";
	hp_sample(&m->to, labels, thread->user_share < 0 ? seconds : seconds * thread->user_share);
	if (thread->user_share < 0)
		return;
	mode->value = "sys";
	hp_sample(&m->to, labels, seconds * (1 - thread->user_share));
}

static void threads_write(struct metrics *m)
{
	const struct hp_model *model = &m->snapshot->report.model;
	struct hp_label_pair labels[] = {
		{ "name", NULL }, { "tid", NULL }, { "mode", NULL }, { NULL, NULL }
	};
	size_t count =
		model->thread_count < HP_METRICS_SERIES ? model->thread_count : HP_METRICS_SERIES;
	char tid[24];

	one(m, HP_FAMILY_GAUGE, "hotpath_threads", "Threads that were seen, ended ones included.",
	    (double)model->thread_count);
	hp_family_begin(&m->to, HP_FAMILY_COUNTER, "hotpath_thread_cpu_seconds",
			"CPU time of each thread, in user mode and in the kernel.");
	for (size_t i = 0; i < count; i++) {
		char *name = hp_text_clean(model->threads[i].name);

		snprintf(tid, sizeof(tid), "%u", model->threads[i].tid);
		labels[0].value = name;
		labels[1].value = tid;
		cpu_write(m, &model->threads[i], labels, &labels[2]);
		free(name);
	}
}

static void memory_write(struct metrics *m)
{
	const struct hp_alloc *alloc = hp_alloc_of(&m->snapshot->report);

	if (!alloc || !alloc->is_recorded)
		return;
	one(m, HP_FAMILY_COUNTER, "hotpath_alloc_bytes", "Bytes allocated by all threads.",
	    (double)alloc->all.bytes);
	one(m, HP_FAMILY_COUNTER, "hotpath_dealloc_bytes", "Bytes freed by all threads.",
	    (double)alloc->all.freed_bytes);
	one(m, HP_FAMILY_GAUGE, "hotpath_live_bytes", "Bytes allocated and not freed.",
	    (double)alloc->all.live_bytes);
}

/* --- locks --- */

/* Locks of streams are left out: the families are those of the Rust crate. */
static enum hp_lock_family family_of(uint32_t kind)
{
	return kind == HP_LOCK_STREAM ? HP_LOCK_FAMILY_NONE : hp_lock_family(kind);
}

struct lock_family_head {
	enum hp_family_kind kind;
	const char *name[2];	/* of mutexes, of rwlocks */
	const char *help;
};

static const struct lock_family_head lock_heads[] = {
	{ HP_FAMILY_COUNTER,
	  { "hotpath_mutex_acquisitions", "hotpath_rwlock_acquisitions" },
	  "Acquisitions of each lock." },
	{ HP_FAMILY_HISTOGRAM,
	  { "hotpath_mutex_wait_seconds", "hotpath_rwlock_wait_seconds" },
	  "Time that acquisitions waited; those that found the lock free waited for 0." },
	{ HP_FAMILY_HISTOGRAM,
	  { "hotpath_mutex_acquire_seconds", "hotpath_rwlock_acquire_seconds" },
	  "Time that the lock was held." },
};

static void lock_side_write(struct metrics *m, const struct hp_label_pair *labels, size_t head,
			    const struct hp_lock_sum *sum)
{
	double tick = m->snapshot->report.model.ns_per_tick / 1e9;
	struct hp_values waits = { &sum->waits, tick,
				   sum->count > sum->contended ? sum->count - sum->contended : 0 };
	struct hp_values holds = { &sum->holds, tick, 0 };

	if (head == 0)
		hp_sample(&m->to, labels, (double)sum->count);
	else if (head == 1)
		hp_spread(&m->to, labels, &waits, &m->fast);
	else if (sum->holds.total)
		hp_spread(&m->to, labels, &holds, &m->fast);
}

static void lock_write(struct metrics *m, const struct hp_lock_row *lock, size_t head)
{
	static const char *const ops[HP_SIDES] = {
		[HP_SIDE_READ] = "read", [HP_SIDE_WRITE] = "write"
	};
	const struct hp_symbol_spot *site = hp_lock_site(&m->snapshot->report, lock);
	char source[512] = "", iter[24];
	struct hp_label_pair labels[] = {
		{ "source", source }, { "label", hp_lock_name(&m->snapshot->report, lock) },
		{ "iter", iter },     { NULL, NULL },
		{ NULL, NULL },
	};

	if (site && site->file)
		snprintf(source, sizeof(source), "%s:%d", site->file, site->line);
	snprintf(iter, sizeof(iter), "%u", lock->number < UINT32_MAX - 16 ? lock->number : 0);
	for (int side = 0; side < HP_SIDE_POST; side++) {
		if (!lock->sums[side].count)
			continue;
		if (ops[side])
			labels[3] = (struct hp_label_pair){ "op", ops[side] };
		lock_side_write(m, labels, head, &lock->sums[side]);
	}
}

static uint64_t lock_count(const struct hp_lock_row *lock)
{
	return lock->sums[0].count + lock->sums[1].count + lock->sums[2].count;
}

static int compare_locks(const void *left, const void *right)
{
	const struct hp_lock_row *a = *(const struct hp_lock_row *const *)left;
	const struct hp_lock_row *b = *(const struct hp_lock_row *const *)right;

	return lock_count(a) < lock_count(b) ? 1 : lock_count(a) > lock_count(b) ? -1 : 0;
}

static void locks_write(struct metrics *m, enum hp_lock_family family)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(&m->snapshot->report));
	size_t most = locks ? locks->count : 0, count = 0;
	const struct hp_lock_row **list = hp_xcalloc(most + 1, sizeof(*list));

	for (size_t i = 0; i < most; i++)
		if (family_of(locks->rows[i].kind) == family && lock_count(&locks->rows[i]))
			list[count++] = &locks->rows[i];
	qsort(list, count, sizeof(*list), compare_locks);
	if (count > HP_METRICS_SERIES)
		count = HP_METRICS_SERIES;
	for (size_t head = 0; head < COUNT(lock_heads); head++) {
		hp_family_begin(&m->to, lock_heads[head].kind,
				lock_heads[head].name[family == HP_LOCK_FAMILY_RWLOCK],
				lock_heads[head].help);
		for (size_t i = 0; i < count; i++)
			lock_write(m, list[i], head);
	}
	free(list);
}

struct hp_answer *hp_metrics_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	struct metrics m = { .snapshot = snapshot };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return hp_answer_error(500, NULL, "No memory for the metrics");
	hp_bounds_init(&m.fast, snapshot->settings.fast_buckets, fast, COUNT(fast));
	hp_bounds_init(&m.bytes, NULL, bytes, COUNT(bytes));
	hp_bounds_init(&m.blocks, NULL, blocks, COUNT(blocks));
	hp_exposition_init(&m.to, out, request->is_openmetrics);
	program_write(&m);
	functions_write(&m);
	lists_write(&m);
	threads_write(&m);
	memory_write(&m);
	locks_write(&m, HP_LOCK_FAMILY_MUTEX);
	locks_write(&m, HP_LOCK_FAMILY_RWLOCK);
	hp_exposition_finish(&m.to);
	fclose(out);
	return hp_answer_new(200, request->is_openmetrics ? TYPE_OPENMETRICS : TYPE_TEXT, text,
			     size);
}
