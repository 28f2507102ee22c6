/* SPDX-License-Identifier: MIT */
/*
 * bound_section.c - the section bound: its rows, its columns, its words.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/mixed/bound.h"
#include "report/section/cpu/cpu.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/wait/offcpu.h"
#include "report/section/core/list.h"

#define SAMPLES_MIN 10	/* fewer prove nothing */
#define BLOCKED_MIN_NS UINT64_C(10000000)
#define MOST (2.0 / 3)	/* of the time, for a single-cause verdict */
#define ALLOCATOR_MIN (1.0 / 3)	/* of the CPU time */
#define COUNTED_MIN 0.5	/* of the CPU time, for the processor's counters to count */
#define MEMORY_MIN 0.5	/* of the counted time */
#define TOLD_MIN 0.25	/* of the waits, to be named */

static double part(uint64_t of, uint64_t whole)
{
	return whole ? (double)of / (double)whole : 0;
}

enum hp_bound_word hp_bound_word(const struct hp_bound_row *row)
{
	uint64_t time = row->cpu_ns + row->blocked_ns;

	if (row->samples < SAMPLES_MIN && row->blocked_ns < BLOCKED_MIN_NS)
		return HP_BOUND_UNKNOWN;
	if (part(row->blocked_ns, time) >= MOST)
		return HP_BOUND_WAITING;
	if (part(row->cpu_ns, time) < MOST)
		return HP_BOUND_MIXED;
	if (part(row->allocator_ns, row->cpu_ns) >= ALLOCATOR_MIN)
		return HP_BOUND_ALLOCATION;
	return part(row->counted_ns, row->cpu_ns) >= COUNTED_MIN &&
			       part(row->memory_ns, row->counted_ns) >= MEMORY_MIN
		       ? HP_BOUND_MEMORY
		       : HP_BOUND_CPU;
}

/* The two main causes of waits, if they are a significant part; fresh. */
static char *causes_text(const struct hp_bound *bound, const struct hp_bound_row *row)
{
	const char *told[2] = { NULL, NULL };
	uint64_t most = UINT64_MAX;

	for (int n = 0; n < 2; n++) {
		size_t best = HP_BOUND_CAUSES;

		for (size_t i = 0; i < bound->cause_count; i++)
			if (row->blocked_on[i] && bound->causes[i] != told[0] &&
			    row->blocked_on[i] <= most &&
			    (best == HP_BOUND_CAUSES || row->blocked_on[i] > row->blocked_on[best]))
				best = i;
		if (best == HP_BOUND_CAUSES ||
		    (n && part(row->blocked_on[best], row->blocked_ns) < TOLD_MIN))
			break;
		told[n] = bound->causes[best];
		most = row->blocked_on[best];
	}
	if (!told[0])
		return hp_xstrdup("-");
	return told[1] ? hp_xprintf("%s, %s", told[0], told[1]) : hp_xstrdup(told[0]);
}

static char *word_text(const struct hp_bound *bound, const struct hp_bound_row *row)
{
	char *causes = causes_text(bound, row), *text;

	switch (hp_bound_word(row)) {
	case HP_BOUND_CPU:
		text = hp_xstrdup("CPU-bound");
		break;
	case HP_BOUND_ALLOCATION:
		text = hp_xprintf("allocation-heavy (%.0f%%)",
				  100 * part(row->allocator_ns, row->cpu_ns));
		break;
	case HP_BOUND_MEMORY:
		text = hp_xprintf("memory-bound (%.0f%%)",
				  100 * part(row->memory_ns, row->counted_ns));
		break;
	case HP_BOUND_WAITING:
		text = hp_xprintf("waiting (%s)", causes);
		break;
	case HP_BOUND_MIXED:
		text = hp_xprintf("mixed (%s)", causes);
		break;
	default:
		text = hp_xstrdup("-");
		break;
	}
	free(causes);
	return text;
}

/* --- the section --- */

static bool has_data(const struct hp_report *report)
{
	const struct hp_sampling *record = &report->model.sampling.record;

	/* Waits alone get no verdict: the CPU time besides them is not known. */
	return (hp_cpu_has_data(report) && record->samples) ||
	       (record->source != HP_SAMPLING_NONE && hp_offcpu_has_data(report));
}

static const char *describe(const struct hp_report *report)
{
	return report->settings->cpu_is_inclusive
		       ? "What each function and its callees spend their time on."
		       : "What each function spends its own time on.";
}

/* The rest, in no row: times of system calls that may not be sampled, and our own. */
const char *hp_bound_note(struct hp_report *report)
{
	const struct hp_sampling *record = &report->model.sampling.record;
	bool is_user_only =
		record->samples && !record->has_kernel && record->source != HP_SAMPLING_SAMPLY;
	const struct hp_bound *bound;
	struct hp_text_cell cell;
	uint64_t ns = 0;

	if (!report->model.sampling.is_there)
		return NULL;
	bound = report->settings->cpu_is_inclusive ? NULL : hp_report_bound(report);
	for (size_t i = 0; bound && i < bound->count; i++)
		ns += bound->rows[i].profiler_ns;
	if (!ns && !is_user_only)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s%s%s%s%s", is_user_only ? "CPU of user code only" : "",
				  is_user_only && ns ? ", " : "", ns ? "without " : "",
				  ns ? hp_format_time(&cell, (double)ns) : "",
				  ns ? " of the profiler's" : "");
	return report->text;
}

static const char *empty(struct hp_report *report)
{
	if (report->model.sampling.record.samples)
		return "no function matches HOTPATH_FOCUS";
	return hp_cpu_empty(report);
}

static uint64_t time_of(const struct hp_bound_row *row)
{
	return row->cpu_ns + row->blocked_ns;
}

static int compare_rows(const void *left, const void *right)
{
	const struct hp_bound_row *a = *(const struct hp_bound_row *const *)left;
	const struct hp_bound_row *b = *(const struct hp_bound_row *const *)right;

	if (time_of(a) != time_of(b))
		return time_of(a) < time_of(b) ? 1 : -1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static const char *name_of(struct hp_report *report, const struct hp_bound_row *row)
{
	return row->function == HP_NONE
		       ? HP_NO_STACK
		       : hp_cpu_name(report, &hp_report_cpu(report)->functions[row->function]);
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_bound *bound = hp_report_bound(report);

	list->rows = hp_xcalloc(bound->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < bound->count; i++)
		if (time_of(&bound->rows[i]) &&
		    hp_focus_allows(&report->focus, name_of(report, &bound->rows[i])))
			list->rows[list->total++] = &bound->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_bound_section, report, list);
}

static void add_causes(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_bound *bound = hp_report_bound(report);
	const struct hp_bound_row *r = row;
	cJSON *on = cJSON_AddObjectToObject(entry, "blocked_on_ns");

	for (size_t i = 0; i < bound->cause_count; i++)
		if (r->blocked_on[i])
			cJSON_AddNumberToObject(on, bound->causes[i], (double)r->blocked_on[i]);
}

/* --- columns --- */

static void row_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = name_of(cell->report, cell->row);
}

static void row_word(const struct hp_cell *cell, struct hp_value *value)
{
	char *text = word_text(hp_report_bound(cell->report), cell->row);

	hp_cell_set_text(cell, text, value);
}

/* Own times, or with callees, as requested. */
static void wall_set(const struct hp_report *report, const struct hp_model_function *f,
		     struct hp_value *value)
{
	if (report->settings->cpu_is_inclusive)
		hp_cell_set_between(value, f->total_ns, f->total_low_ns, f->total_high_ns);
	else
		hp_cell_set_between(value, f->self_ns, f->self_low_ns, f->self_high_ns);
	value->is_estimated |= f->is_sampled;
}

static void row_wall(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_bound_row *r = cell->row;
	uint32_t place = r->function == HP_NONE
				 ? HP_NONE
				 : hp_report_cpu(cell->report)->functions[r->function].instrumented;

	value->number = r->wall_ns;
	value->is_unknown = value->number < 0;
	if (place != HP_NONE)
		wall_set(cell->report, &cell->report->model.functions[place], value);
}

static void row_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)((const struct hp_bound_row *)cell->row)->bytes;
	value->is_unknown = !hp_report_bound(cell->report)->has_allocations;
}

static void row_blocks(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)((const struct hp_bound_row *)cell->row)->blocks;
	value->is_unknown = !hp_report_bound(cell->report)->has_allocations;
}

static void row_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_bound *bound = hp_report_bound(cell->report);
	uint64_t whole = 0;

	for (size_t i = 0; i < bound->count; i++)
		whole += time_of(&bound->rows[i]);
	value->number = 100 * part(time_of(cell->row), whole);
	value->is_unknown = cell->report->settings->cpu_is_inclusive;
}

static void row_word_name(const struct hp_cell *cell, struct hp_value *value)
{
	static const char *const names[] = {
		[HP_BOUND_UNKNOWN] = "unknown",	      [HP_BOUND_CPU] = "cpu",
		[HP_BOUND_ALLOCATION] = "allocation", [HP_BOUND_MEMORY] = "memory",
		[HP_BOUND_WAITING] = "waiting",	      [HP_BOUND_MIXED] = "mixed"
	};

	value->text = names[hp_bound_word(cell->row)];
}

static const struct hp_column columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, .get = row_name },
	{ "Bound", "bound", NULL, HP_UNIT_TEXT, .get = row_word },
	{ .raw = "bound", .unit = HP_UNIT_TEXT, .get = row_word_name },
	{ "Wall", "wall", "wall_ns", HP_UNIT_TIME, .get = row_wall, .need = HP_NEED_KNOWN },
	{ "CPU", "cpu", "cpu_ns", HP_UNIT_TIME, .member = HP_MEMBER(hp_bound_row, cpu_ns) },
	{ "Blocked", "blocked", "blocked_ns", HP_UNIT_TIME,
	  .member = HP_MEMBER(hp_bound_row, blocked_ns) },
	{ "Alloc", "bytes", "bytes", HP_UNIT_BYTES, .get = row_bytes, .need = HP_NEED_KNOWN },
	{ NULL, "blocks", "blocks", HP_UNIT_COUNT, .get = row_blocks },
	{ NULL, "percent", "percent", HP_UNIT_SHARE, .get = row_share },
	{ .raw = "allocator_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_bound_row, allocator_ns) },
	{ .raw = "profiler_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_bound_row, profiler_ns) },
	{ .raw = "samples", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_bound_row, samples) },
	{ 0 },
};

const struct hp_section hp_bound_section = {
	.key = "bound",
	.json = "bound",
	.name = "bound",
	.help = "what functions spend their time on",
	.subject = HP_SUBJECT_MIXED,
	.columns = columns,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.describe = describe,
	.empty = empty,
	.note = hp_bound_note,
	.extra = { .raw = add_causes, .raw_keys = "blocked_on_ns:o" },
	.tool = { .help = "What each function spends its time on: CPU, waiting, memory or "
			  "allocation, and what bounds it.",
		  .meaning =
			  "Each function's CPU time and waits side by side, and what bounds it: cpu, memory "
			  "(the processor waits for it), allocation, waiting, mixed; unknown if there are too "
			  "few samples.",
		  .next = "functions_cpu for computing; who_waits_for_whom or offcpu for waiting; "
			  "top_allocation_sites for allocation." },
};
