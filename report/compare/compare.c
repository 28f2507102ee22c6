/* SPDX-License-Identifier: MIT */
/*
 * compare.c - see compare.h: the rows of all runs, matched by their names.  judge.c
 * decides the verdicts.
 */
#include "report/compare/compare.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "util/hash.h"

#define FUNCTIONS &hp_functions_section
#define ARROW " \342\206\220 "

/* Those of one section are adjacent. */
const struct hp_compare_measure hp_compare_measures[] = {
	{ NULL, "wall", "wall_ns", HP_COMPARE_TIME, HP_COMPARE_CLOCKED, false },
	{ NULL, "CPU", "cpu_ns", HP_COMPARE_TIME, HP_COMPARE_CLOCKED, false },
	{ NULL, "peak RSS", "peak_rss_bytes", HP_COMPARE_BYTES, HP_COMPARE_LOOSE, false },
	{ FUNCTIONS, "calls", "calls", HP_COMPARE_COUNT, HP_COMPARE_EXACT, false },
	{ FUNCTIONS, "own time", "self_ns", HP_COMPARE_TIME, HP_COMPARE_CLOCKED, false },
	{ &hp_cpu_section, "CPU samples", "self_ns", HP_COMPARE_TIME, HP_COMPARE_SAMPLED, false },
	{ &hp_alloc_functions_section, "blocks", "count", HP_COMPARE_COUNT, HP_COMPARE_EXACT,
	  false },
	{ &hp_alloc_functions_section, "bytes", "total_bytes", HP_COMPARE_BYTES, HP_COMPARE_EXACT,
	  false },
	{ &hp_alloc_sites_section, "blocks", "count", HP_COMPARE_COUNT, HP_COMPARE_EXACT, true },
	{ &hp_alloc_sites_section, "bytes", "total_bytes", HP_COMPARE_BYTES, HP_COMPARE_EXACT,
	  true },
	{ &hp_leaks_section, "blocks left", "live_count", HP_COMPARE_COUNT, HP_COMPARE_EXACT,
	  false },
	{ &hp_leaks_section, "bytes left", "live_bytes", HP_COMPARE_BYTES, HP_COMPARE_EXACT,
	  false },
	{ &hp_mutexes_section, "locks", "count", HP_COMPARE_COUNT, HP_COMPARE_EXACT, false },
	{ &hp_rw_locks_section, "read locks", "read_count", HP_COMPARE_COUNT, HP_COMPARE_EXACT,
	  false },
	{ &hp_rw_locks_section, "write locks", "write_count", HP_COMPARE_COUNT, HP_COMPARE_EXACT,
	  false },
	{ &hp_channels_section, "messages", "sent_count", HP_COMPARE_COUNT, HP_COMPARE_EXACT,
	  false },
	{ &hp_processes_section, "starts", "runs", HP_COMPARE_COUNT, HP_COMPARE_EXACT, false },
};

const size_t hp_compare_measure_count =
	sizeof(hp_compare_measures) / sizeof(hp_compare_measures[0]);

#define MEASURES (sizeof(hp_compare_measures) / sizeof(hp_compare_measures[0]))

/* State while reports are read. */
struct hp_compare_reading {
	struct hp_map by_name;	/* measure and name -> place in rows, + 1 */
	unsigned char *states;	/* of each run and measure: enum state */
};

enum state { ABSENT = 0, LIMITED, WHOLE };

static double number_of(const cJSON *row, const char *key, double usual)
{
	const cJSON *value = key ? cJSON_GetObjectItemCaseSensitive(row, key) : NULL;

	return cJSON_IsNumber(value) && isfinite(value->valuedouble) ? value->valuedouble : usual;
}

static const char *text_of(const cJSON *row, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	return cJSON_IsString(value) ? value->valuestring : NULL;
}

/* --- names --- */

static size_t digits_before(const char *text, size_t end)
{
	size_t at = end;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	return end - at;
}

/*
 * The end of one step of a name without its place: "f file.c:12" is f, and "file.c:12", a lock
 * without a name, is file.c.  Lines move with every edit.
 */
static size_t step_end(const char *step, size_t size, bool is_path)
{
	size_t digits = digits_before(step, size);
	const char *blank;

	if (!digits || digits == size || step[size - digits - 1] != ':' ||
	    (size > digits + 1 && step[size - digits - 2] == ':'))
		return size;
	size -= digits + 1;
	blank = is_path ? memrchr(step, ' ', size) : NULL;
	return blank ? (size_t)(blank - step) : size;
}

static void places_strip(char *name, bool is_path)
{
	char *to = name;

	for (char *step = name, *next; step; step = next) {
		char *end = strstr(step, ARROW);
		size_t kept;

		next = end ? end + strlen(ARROW) : NULL;
		kept = step_end(step, end ? (size_t)(end - step) : strlen(step), is_path);
		memmove(to, step, kept);
		to += kept;
		if (next)
			to = (char *)memmove(to, ARROW, strlen(ARROW)) + strlen(ARROW);
	}
	*to = 0;
}

/* The program's name in a report; A's may differ from B's. */
struct called {
	const char *main;	/* comm::main */
	char *comm;	/* fresh */
};

static struct called called_of(const cJSON *report)
{
	struct called called = {
		.main = text_of(cJSON_GetObjectItemCaseSensitive(report, hp_functions_section.json),
				"caller_name")
	};
	const char *end = called.main ? strstr(called.main, "::main") : NULL;

	if (!called.main)
		called.main = text_of(
			cJSON_GetObjectItemCaseSensitive(report, hp_alloc_functions_section.json),
			"caller_name");
	end = called.main ? strstr(called.main, "::main") : NULL;
	if (end) {
		called.comm = hp_xstrdup(called.main);
		called.comm[end - called.main] = 0;
	}
	return called;
}

/* True if `name` is the comm, perhaps in [brackets] as for code without symbols. */
static bool is_comm(const struct called *called, const char *name)
{
	size_t size = called->comm ? strlen(called->comm) : 0;

	if (!size)
		return false;
	if (*name == '[')
		return strncmp(name + 1, called->comm, size) == 0 &&
		       strcmp(name + 1 + size, "]") == 0;
	return strcmp(name, called->comm) == 0;
}

/* Fresh; NULL = the row has none. */
static char *name_of(const cJSON *row, const struct called *called)
{
	const char *name = text_of(row, "name"), *label = text_of(row, "label");
	char *copy;

	if (!name && !label)
		return NULL;
	if (name && called->main && strcmp(name, called->main) == 0)
		return hp_xstrdup("main");
	if (name && is_comm(called, name))
		return hp_xstrdup(*name == '[' ? "[main]" : "main");
	copy = hp_xstrdup(name ? name : label);
	if (!name || cJSON_GetObjectItemCaseSensitive(row, "frames"))
		places_strip(copy, name != NULL);
	return copy;
}

/* --- rows --- */

static struct hp_compare_row *row_at(struct hp_compare *compare, size_t measure, const char *name)
{
	uint64_t hash = hp_fnv_text(measure * 2 + 7, name) | 1;
	bool is_new;

	for (;; hash += 2) {
		uint32_t *place = hp_map_at(&compare->reading->by_name, hash, &is_new);
		struct hp_compare_row *row;

		if (!is_new) {
			row = &compare->rows[*place];
			if (row->measure == &hp_compare_measures[measure] &&
			    strcmp(row->name, name) == 0)
				return row;
			continue;
		}
		*place = (uint32_t)compare->row_count;
		compare->rows = hp_xgrow(compare->rows, compare->row_count, &compare->row_room,
					 sizeof(*compare->rows));
		row = &compare->rows[compare->row_count++];
		*row = (struct hp_compare_row){
			.measure = &hp_compare_measures[measure],
			.name = hp_xstrdup(name),
			.values = hp_xcalloc(compare->run_count, sizeof(double)),
			.chance = NAN,
			.unseen = NAN,
			.relative = NAN,
		};
		return row;
	}
}

/*
 * Scales samples to the CPU time that the kernel counted.  How much of it was sampled depends
 * on when the sampler saw a thread begin, and on late timer interrupts: 84 % on average and
 * with a standard deviation of 6 % for two threads of 60 ms, which hid a change of 10 %.
 */
static double sampled_scale(const cJSON *report, const cJSON *section)
{
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(report, "summary");
	double cpu = number_of(summary, "cpu_ns", 0);
	double sampled =
		1e3 * number_of(section, "total_samples", 0) + number_of(section, "profiler_ns", 0);

	return cpu > 0 && sampled > 0 ? cpu / sampled : 1;
}

static void section_add(struct hp_compare *compare, size_t run, size_t measure, const cJSON *report,
			const struct called *called)
{
	const struct hp_compare_measure *what = &hp_compare_measures[measure];
	const cJSON *section = cJSON_GetObjectItemCaseSensitive(report, what->section->json), *row;
	const cJSON *raw = cJSON_GetObjectItemCaseSensitive(section, "raw");
	unsigned char *state = &compare->reading->states[run * MEASURES + measure];
	double count = 0, scale = 1;

	if (!cJSON_IsArray(raw))
		return;
	if (what->kind == HP_COMPARE_SAMPLED)
		scale = sampled_scale(report, section);
	cJSON_ArrayForEach(row, raw)
	{
		double value = number_of(row, what->value, NAN);
		char *name = name_of(row, called);

		count++;
		if (name && !isnan(value))
			row_at(compare, measure, name)->values[run] += scale * value;
		free(name);
	}
	*state = number_of(section, "total_count", 0) <= number_of(section, "included_count", count)
			 ? WHOLE
			 : LIMITED;
}

static void total_add(struct hp_compare *compare, size_t run, size_t measure, const cJSON *summary)
{
	double value = number_of(summary, hp_compare_measures[measure].value, NAN);

	if (isnan(value))
		return;
	row_at(compare, measure, "")->values[run] = value;
	compare->reading->states[run * MEASURES + measure] = WHOLE;
}

/* --- facts about a run --- */

static double started_of(const cJSON *report)
{
	const cJSON *meta = cJSON_GetObjectItemCaseSensitive(report, "meta");
	const char *text = text_of(meta, "created_at");
	double ns = number_of(meta, "created_unix_ns", NAN);
	struct tm parts = { 0 };

	if (!isnan(ns))
		return ns / 1e9;
	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts))
		return NAN;
	return (double)timegm(&parts);
}

/* The share of the threads' lifetimes in which they were ready but had no core. */
static double ready_of(const cJSON *report)
{
	const cJSON *raw = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(report, hp_threads_section.json), "raw");
	const cJSON *row;
	double ready = 0, busy = 0;

	cJSON_ArrayForEach(row, raw)
	{
		ready += fmax(0, number_of(row, "wait_ns", 0));
		busy += fmax(0, number_of(row, "wait_ns", 0)) +
			fmax(0, number_of(row, "cpu_ns", 0));
	}
	return busy > 0 ? ready / busy : NAN;
}

void hp_compare_add(struct hp_compare *compare, size_t run, const cJSON *report)
{
	const cJSON *summary = cJSON_GetObjectItemCaseSensitive(report, "summary");
	const cJSON *threads = cJSON_GetObjectItemCaseSensitive(report, hp_threads_section.json);
	struct called called = called_of(report);

	compare->runs[run] = (struct hp_compare_run){
		.ready = ready_of(report),
		.started = started_of(report),
		.threads = number_of(threads, "thread_count", 1),
		.status = number_of(summary, "wait_status", NAN),
	};
	for (size_t i = 0; i < MEASURES; i++) {
		if (hp_compare_measures[i].section)
			section_add(compare, run, i, report, &called);
		else
			total_add(compare, run, i, summary);
	}
	free(called.comm);
}

void hp_compare_init(struct hp_compare *compare, const char *a, size_t a_count, const char *b,
		     size_t b_count)
{
	size_t count = a_count + b_count;

	*compare = (struct hp_compare){
		.runs = hp_xcalloc(count + 1, sizeof(*compare->runs)),
		.run_count = count,
		.sections = hp_xcalloc(MEASURES, sizeof(*compare->sections)),
		.reading = hp_xcalloc(1, sizeof(*compare->reading)),
	};
	compare->reading->states = hp_xcalloc(count + 1, MEASURES);
	compare->a = (struct hp_compare_side){ .name = hp_xstrdup(a),
					       .count = a_count,
					       .runs = compare->runs };
	compare->b = (struct hp_compare_side){ .name = hp_xstrdup(b),
					       .count = b_count,
					       .runs = compare->runs + a_count };
}

/* --- comparable rows --- */

/* In one run at least: a report may omit empty sections. */
static bool is_there(const struct hp_compare *compare, size_t measure, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (compare->reading->states[i * MEASURES + measure] != ABSENT)
			return true;
	return false;
}

static bool has_rows(const struct hp_compare *compare, size_t measure, size_t first, size_t count)
{
	for (size_t i = 0; i < compare->row_count; i++)
		for (size_t k = first; k < first + count; k++)
			if (compare->rows[i].measure == &hp_compare_measures[measure] &&
			    compare->rows[i].values[k] > 0)
				return true;
	return false;
}

/* A section that one side lacks entirely proves no change. */
static const char *left_out(const struct hp_compare *compare, size_t measure)
{
	size_t a = compare->a.count, b = compare->b.count;
	bool has_a = is_there(compare, measure, 0, a), has_b = is_there(compare, measure, a, b);

	if (!has_a && !has_b)
		return "not recorded";
	if (!has_a || !has_b)
		return has_a ? "not recorded in B" : "not recorded in A";
	if (hp_compare_measures[measure].section != &hp_functions_section)
		return NULL;
	has_a = has_rows(compare, measure, 0, a);
	has_b = has_rows(compare, measure, a, b);
	if (has_a != has_b)
		return has_a ? "only A is compiled for it" : "only B is compiled for it";
	return NULL;
}

static void unknown_mark(struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];
		size_t measure = (size_t)(row->measure - hp_compare_measures);

		for (size_t run = 0; run < compare->run_count; run++)
			if (row->values[run] == 0 &&
			    compare->reading->states[run * MEASURES + measure] == LIMITED)
				row->values[run] = NAN;
	}
}

static void row_release(struct hp_compare_row *row)
{
	free(row->name);
	free(row->values);
}

void hp_compare_settle(struct hp_compare *compare)
{
	size_t kept = 0;

	for (size_t i = 0; i < MEASURES; i++)
		compare->sections[i] = left_out(compare, i);
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (compare->sections[row->measure - hp_compare_measures])
			row_release(row);
		else
			compare->rows[kept++] = *row;
	}
	compare->row_count = kept;
	unknown_mark(compare);
}

void hp_compare_release(struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++)
		row_release(&compare->rows[i]);
	hp_map_release(&compare->reading->by_name);
	free(compare->reading->states);
	free(compare->reading);
	free(compare->rows);
	free(compare->runs);
	free(compare->sections);
	free(compare->a.name);
	free(compare->b.name);
	free(compare->refused);
	*compare = (struct hp_compare){ .rows = NULL };
}

bool hp_compare_is_change(const struct hp_compare_row *row)
{
	return row->verdict >= HP_COMPARE_MORE && row->verdict <= HP_COMPARE_GONE;
}

double hp_compare_percent(const struct hp_compare_row *row)
{
	if (isnan(row->a) || isnan(row->b))
		return NAN;
	if (!isnan(row->relative))
		return 100 * row->relative;
	if (row->a == row->b)
		return 0;
	return row->a > 0 ? 100 * (row->b - row->a) / row->a : INFINITY;
}

const char *hp_compare_word(enum hp_compare_verdict verdict)
{
	static const char *const words[] = { "same", "more",   "less",	  "new",
					     "gone", "unsure", "unknown", "not judged" };

	return words[verdict];
}
