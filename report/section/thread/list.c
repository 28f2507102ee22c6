/* SPDX-License-Identifier: MIT */
/*
 * list.c - the section of threads: the CPU time and memory of each.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/section.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/extra.h"
#include "report/base/memory.h"
#include "report/section/thread/thread.h"
#include "report/section/core/list.h"
#include "segment/layout/header.h"

#define THREADS_LIMIT 5

/* CPU time without a row that is worth a note. */
#define MISSING_NS 1e6
#define MISSING_SHARE 0.05

static int compare_doubles(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* The peak of a thread that was never scanned is not known, and not below its average. */
static double peak(const struct hp_model_thread *thread)
{
	return thread->percent_max < 0 ? thread->percent_average : thread->percent_max;
}

/* Highest peak first. */
static int compare_threads(const void *left, const void *right)
{
	const struct hp_model_thread *a = *(const struct hp_model_thread *const *)left;
	const struct hp_model_thread *b = *(const struct hp_model_thread *const *)right;
	int order = compare_doubles(peak(a), peak(b));

	if (!order)
		order = compare_doubles(a->percent_average, b->percent_average);
	if (!order)
		order = compare_doubles((double)a->cpu_ns, (double)b->cpu_ns);
	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : a->tid < b->tid ? -1 : a->tid > b->tid;
}

/*
 * An ended thread's own account of itself: the last scan of it may have been long
 * before.  A live view uses scans, which cover all threads alike.
 */
static void ends_tell(struct hp_report *report)
{
	const struct hp_threads *threads = hp_threads_of(report);
	struct hp_model *model = &report->model;

	for (size_t i = 0, row = 0; i < model->thread_count; i++) {
		struct hp_model_thread *thread = &model->threads[i];
		const struct hp_thread_row *whole;

		if (thread->folded)
			continue;
		whole = &threads->rows[row++];	/* they are in the same order */
		if (thread->state != 'x')
			continue;
		thread->is_cpu_least =
			whole->is_ran_least && (hp_thread_is_least(whole) || whole->is_life_least);
		if (whole->life_ns <= 0)
			continue;
		thread->cpu_ns = hp_whole(whole->ran_ns);
		thread->whole_ns = hp_whole(whole->life_ns);
		thread->percent_average = 100 * whole->ran_ns / whole->life_ns;
		if (thread->percent_max >= 0 && thread->percent_max < thread->percent_average)
			thread->percent_max = thread->percent_average;
	}
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_model *model = &report->model;
	size_t unseen = hp_threads_unseen(report);

	if (!report->record.is_live)
		ends_tell(report);
	list->total = model->thread_count + unseen;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < model->thread_count; i++) {
		list->rows[i] = &model->threads[i];
		/* An ended thread uses no CPU now: what the last scan of it saw is past. */
		if (model->threads[i].state == 'x')
			model->threads[i].percent_last = -1;
	}
	for (size_t i = 0; i < unseen; i++)
		list->rows[model->thread_count + i] = &hp_threads_of(report)->unseen[i];
	qsort(list->rows, list->total, sizeof(*list->rows), compare_threads);
	hp_section_cut(&hp_threads_section, report, list);
}

static const char *note(struct hp_report *report)
{
	struct hp_text_cell cell;

	char *alloc = hp_alloc_threads_note(report);

	if (!report->model.peak_rss_kb && !alloc)
		return NULL;
	free(report->text);
	report->text =
		hp_xprintf("%s%s%s%s", report->model.peak_rss_kb ? "Max RSS: " : "",
			   report->model.peak_rss_kb
				   ? hp_format_bytes(&cell, report->model.peak_rss_kb * 1024)
				   : "",
			   report->model.peak_rss_kb && alloc ? ", " : "", alloc ? alloc : "");
	free(alloc);
	return report->text;
}

/*
 * CPU time of the session that is in no row: of processes that lived between two scans, and of
 * threads after their last scan if they recorded no end.
 */
static uint64_t missing_ns(struct hp_report *report)
{
	const struct hp_threads *threads = hp_threads_of(report);
	const struct hp_model *model = &report->model;
	double missing = (double)model->cpu_ns;

	if (report->record.is_live)
		return 0;
	for (size_t i = 0; i < threads->count; i++)
		missing -= threads->rows[i].ran_ns;
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].folded)
			missing -= (double)model->threads[i].cpu_ns;
	return missing > MISSING_NS && missing > MISSING_SHARE * (double)model->cpu_ns
		       ? hp_whole(missing)
		       : 0;
}

static const char *after(struct hp_report *report)
{
	struct hp_text_cell cell;
	uint64_t ns = missing_ns(report);

	if (!ns)
		return NULL;
	free(report->text);
	report->text =
		hp_xprintf("%s more of CPU time: threads not listed, or after their last scan.",
			   hp_format_time(&cell, (double)ns));
	return report->text;
}

static const char *empty(struct hp_report *report)
{
	if (report->model.reader.header.sampler_area)
		return "no thread lived long enough to be scanned";
	return "threads were not watched: the helper process did not start before the end";
}

static void thread_life(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_thread *thread = cell->row;

	value->number = (double)(thread->whole_ns ? thread->whole_ns : thread->life_ns);
	value->is_unknown = value->number <= 0;
}

static void thread_name(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_thread *thread = cell->row;
	char *whole;

	if (!thread->name[0])
		whole = hp_xprintf("thread_%u", thread->tid);
	else if (thread->folded)
		whole = hp_xprintf("%s (\303\227%u)", thread->name, thread->folded + 1);
	else
		whole = hp_xstrdup(thread->name);
	hp_cell_set_text(cell, hp_text_clean(whole), value);
	free(whole);
}

struct state {
	const char *letters;
	const char *text;
};

static const struct state states[] = {
	{ "R", "Running" },  { "S", "Sleeping" }, { "D", "Blocked" },  { "Z", "Zombie" },
	{ "Tt", "Stopped" }, { "X", "Dead" },	  { "K", "Wakekill" }, { "W", "Waking" },
	{ "P", "Parked" },   { "I", "Idle" },	  { "x", "Exited" },
};

static void thread_status(const struct hp_cell *cell, struct hp_value *value)
{
	char letter = ((const struct hp_model_thread *)cell->row)->state;

	value->text = "Unknown";
	for (size_t i = 0; letter && i < sizeof(states) / sizeof(states[0]); i++)
		if (strchr(states[i].letters, letter))
			value->text = states[i].text;
}

static void thread_status_code(const struct hp_cell *cell, struct hp_value *value)
{
	char letter = ((const struct hp_model_thread *)cell->row)->state;

	hp_cell_set_text(cell, hp_xprintf("%c", letter > ' ' && letter < 127 ? letter : '?'),
			 value);
}

/* The thread's allocated and freed bytes; NULL = not known. */
static const struct hp_alloc_thread *thread_alloc(const struct hp_cell *cell)
{
	const struct hp_model_thread *thread = cell->row;

	return thread->folded ? NULL : hp_alloc_thread_of(cell->report, thread->pid, thread->tid);
}

static void thread_allocated(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_thread *alloc = thread_alloc(cell);

	if (alloc)
		hp_cell_get_from(cell, alloc, value);
	value->is_unknown = !alloc;
}

static void thread_difference(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_thread *alloc = thread_alloc(cell);

	value->is_unknown = !alloc;
	value->number = alloc ? (double)(int64_t)(alloc->bytes - alloc->freed_bytes) : 0;
}

/* It may have run after its last scan. */
static void thread_cpu(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_bound = ((const struct hp_model_thread *)cell->row)->is_cpu_least;
	value->is_unknown |= value->is_bound && value->number <= 0;
}

static void thread_count(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = ((const struct hp_model_thread *)cell->row)->folded + 1.0;
}

/*
 * Seconds in user mode and in the kernel.  The kernel splits a thread's CPU time by what its
 * 10 ms ticks hit.
 */
static void thread_seconds(const struct hp_cell *cell, double share, struct hp_value *value)
{
	const struct hp_model_thread *thread = cell->row;

	value->number = (double)thread->cpu_ns / 1e9 * share;
	value->is_unknown = share < 0 || (thread->is_cpu_least && !thread->cpu_ns);
}

static void thread_user(const struct hp_cell *cell, struct hp_value *value)
{
	thread_seconds(cell, ((const struct hp_model_thread *)cell->row)->user_share, value);
}

static void thread_system(const struct hp_cell *cell, struct hp_value *value)
{
	double user = ((const struct hp_model_thread *)cell->row)->user_share;

	thread_seconds(cell, user < 0 ? -1 : 1 - user, value);
}

static void thread_total(const struct hp_cell *cell, struct hp_value *value)
{
	thread_seconds(cell, 1, value);
}

static const struct hp_column columns[] = {
	{ "Thread", "name", "name", HP_UNIT_NAME, .get = thread_name },
	{ NULL, "os_tid", "os_tid", HP_UNIT_NUMBER, .member = HP_MEMBER(hp_model_thread, tid) },
	{ .raw = "pid", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_model_thread, pid) },
	{ "State", "status", NULL, HP_UNIT_TEXT, .get = thread_status },
	{ NULL, "status_code", "status_code", HP_UNIT_TEXT, .get = thread_status_code },
	{ NULL, "cpu_percent", "cpu_percent", HP_UNIT_LOAD,
	  .member = HP_KNOWN(hp_model_thread, percent_last) },
	{ "Max%", "cpu_percent_max", "cpu_percent_max", HP_UNIT_LOAD,
	  .member = HP_KNOWN(hp_model_thread, percent_max) },
	{ "Avg%", "cpu_percent_avg", "cpu_percent_avg", HP_UNIT_LOAD, .get = thread_cpu,
	  .member = HP_KNOWN(hp_model_thread, percent_average) },
	{ "CPU", NULL, "cpu_ns", HP_UNIT_TIME, .get = thread_cpu,
	  .member = HP_MEMBER(hp_model_thread, cpu_ns) },
	{ "Alloc", "alloc_bytes", "alloc_bytes", HP_UNIT_BYTES, .get = thread_allocated,
	  .member = HP_MEMBER(hp_alloc_thread, bytes), .need = HP_NEED_KNOWN },
	{ "Dealloc", "dealloc_bytes", "dealloc_bytes", HP_UNIT_BYTES, .get = thread_allocated,
	  .member = HP_MEMBER(hp_alloc_thread, freed_bytes), .need = HP_NEED_KNOWN },
	{ "Diff", "mem_diff", "mem_diff", HP_UNIT_DIFFERENCE, .get = thread_difference,
	  .need = HP_NEED_KNOWN },
	{ .raw = "cpu_user", .unit = HP_UNIT_RATE, .get = thread_user },
	{ .raw = "cpu_sys", .unit = HP_UNIT_RATE, .get = thread_system },
	{ .raw = "cpu_total", .unit = HP_UNIT_RATE, .get = thread_total },
	{ .raw = "wait_ns", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_model_thread, wait_ns) },
	{ .raw = "life_ns", .unit = HP_UNIT_NUMBER, .get = thread_life },
	{ .raw = "threads", .unit = HP_UNIT_NUMBER, .get = thread_count },
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, cJSON *list)
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
	hp_json_whole(list, "missing_cpu_ns", missing_ns(report));
	hp_extra_add_sizes(report, list);
	if (model->rss_kb)
		cJSON_AddStringToObject(list, "rss_bytes",
					hp_format_bytes(&cell, model->rss_kb * 1024));
	if (model->peak_rss_kb)
		cJSON_AddStringToObject(list, "rss_bytes_max",
					hp_format_bytes(&cell, model->peak_rss_kb * 1024));
	hp_alloc_threads_add(report, list);
}

/* --- the section --- */

static const struct hp_metric metrics[] = {
	{ "cpu_percent", false, "hotpath_thread_cpu_percent",
	  .help = "CPU of each thread in the last interval, in percent of one core." },
	{ "cpu_percent_max", false, "hotpath_thread_cpu_percent_max",
	  .help = "Largest CPU usage of each thread since the start." },
	{ "cpu_percent_avg", false, "hotpath_thread_cpu_percent_avg",
	  .help = "Average CPU usage of each thread." },
	{ "alloc_bytes", true, "hotpath_thread_alloc_bytes",
	  .help = "Bytes allocated by each thread." },
	{ "dealloc_bytes", true, "hotpath_thread_dealloc_bytes",
	  .help = "Bytes freed by each thread." },
	{ 0 },
};

static const struct hp_label_key labels[] = { { "name", "name" }, { "tid", "os_tid" }, { 0 } };

const struct hp_section hp_threads_section = {
	.key = "threads",
	.json = "threads",
	.name = "threads",
	.help = "threads: CPU, state, memory",
	.subject = HP_SUBJECT_THREAD,
	.columns = columns,
	.needs = HP_RECORDED_THREADS,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, threads_limit),
	.usual = THREADS_LIMIT,
	.about = "Thread CPU and memory statistics.",
	.empty = empty,
	.note = note,
	.after = after,
	.extra = { .head = add_head,
		   .list_keys =
			   "current_elapsed_ns:i sample_interval_ms:i thread_count:i missing_cpu_ns:i rss_timeline:[[n]] rss_bytes:s "
			   "rss_bytes_max:s total_alloc_bytes:s total_dealloc_bytes:s alloc_dealloc_diff:s" },
	.tool = { .help = "Threads: state, CPU time, memory.",
		  .meaning = "Each thread's state, CPU time and memory.",
		  .next = "offcpu for threads that wait; functions_cpu for those that run." },
	.metrics = metrics,
	.labels = labels,
};
