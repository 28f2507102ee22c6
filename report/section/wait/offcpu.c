/* SPDX-License-Identifier: MIT */
/*
 * offcpu.c - see offcpu.h.
 *
 * A thread that a signal stopped (SIGSTOP, a terminal's ^Z) waits for nothing: that time is its
 * own sum, in no row.
 */
#include "report/section/wait/offcpu.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/section/cpu/legend.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"

#define LEAST_NS UINT64_C(10000000)	/* less is not worth a table that nobody requested */

static void row_add(struct hp_offcpu *offcpu, uint32_t function, const char *on,
		    const struct hp_model_stack *stack)
{
	struct hp_offcpu_row *row = NULL;

	for (size_t i = 0; i < offcpu->count && !row; i++)
		if (offcpu->rows[i].function == function && offcpu->rows[i].on == on)
			row = &offcpu->rows[i];
	if (!row) {
		offcpu->rows =
			hp_xgrow(offcpu->rows, offcpu->count, &offcpu->room, sizeof(*offcpu->rows));
		row = &offcpu->rows[offcpu->count++];
		*row = (struct hp_offcpu_row){ .function = function, .on = on };
	}
	row->waits += stack->waits;
	row->blocked_ns += stack->blocked_ns;
	/* All stacks share the bursts, so errors may have the same sign. */
	row->error_ns += stack->guess_error_ns;
}

static void offcpu_free(void *held)
{
	struct hp_offcpu *offcpu = held;

	free(offcpu->is_profiler);
	for (size_t i = 0; i < offcpu->count; i++)
		free(offcpu->rows[i].held);
	free(offcpu->rows);
	free(offcpu);
}

static struct hp_offcpu *offcpu_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = offcpu_free };
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct hp_offcpu *offcpu = hp_views_get(&report->views, &kind);

	if (offcpu)
		return offcpu;
	offcpu = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*offcpu)));
	offcpu->is_profiler = hp_xcalloc((size_t)sampling->stack_count + 1, sizeof(bool));
	for (uint32_t i = 0; i < sampling->stack_count; i++) {
		if (!sampling->stacks[i].waits)
			continue;
		offcpu->is_profiler[i] = i && hp_offcpu_is_helper(report, i);
		const char *on = i ? hp_offcpu_cause(report, i) : "-";

		if (offcpu->is_profiler[i])
			offcpu->profiler_ns += sampling->stacks[i].blocked_ns;
		else if (hp_offcpu_is_stop(on))
			offcpu->stopped_ns += sampling->stacks[i].blocked_ns;
		else
			row_add(offcpu, hp_offcpu_function(report, i), on, &sampling->stacks[i]);
	}
	hp_offcpu_held_make(report, offcpu);
	return offcpu;
}

bool hp_offcpu_is_profiler(struct hp_report *report, uint32_t stack)
{
	return stack < report->model.sampling.stack_count && offcpu_of(report)->is_profiler[stack];
}

bool hp_offcpu_is_stop(const char *on)
{
	return strcmp(on, HP_ON_STOP) == 0;
}

uint64_t hp_offcpu_stopped_ns(struct hp_report *report)
{
	return report->model.sampling.is_there ? offcpu_of(report)->stopped_ns : 0;
}

/* --- the section --- */

bool hp_offcpu_has_data(const struct hp_report *report)
{
	return report->model.sampling.is_there &&
	       report->model.sampling.record.blocked_ns >= LEAST_NS;
}

/* Of all rows, ns. */
static double total_of(struct hp_report *report)
{
	return (double)report->model.sampling.record.blocked_ns -
	       (double)offcpu_of(report)->profiler_ns - (double)offcpu_of(report)->stopped_ns;
}

/* ", and 1.20 s stopped by a signal"; "" = it was not stopped. */
static char *stopped_text(struct hp_report *report)
{
	uint64_t ns = hp_offcpu_stopped_ns(report);
	struct hp_text_cell cell;

	return ns ? hp_xprintf(", and %s stopped by a signal", hp_format_time(&cell, (double)ns))
		  : hp_xstrdup("");
}

/* The recorded time in bursts; "" = everything was always recorded. */
static char *bursts_text(struct hp_report *report)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_bursts *bursts = &sampling->bursts;
	struct hp_text_cell cell, covered, share;
	double error_ns = hp_sampling_burst_error(bursts, bursts->blocked_ns, bursts->squares);
	char error[64] = "";

	if (!sampling->has_bursts || !bursts->count || !bursts->covered_ns)
		return hp_xstrdup("");
	/* Bursts that saw no wait do not tell how far they are off. */
	if (error_ns > 0)
		snprintf(error, sizeof(error), ", \302\261%s", hp_format_time(&cell, error_ns));
	return hp_xprintf(
		"%s: threads switched so often that waits below 1 ms were recorded for %s of %s",
		error,
		hp_format_percent(&share,
				  100 * (double)bursts->taken_ns / (double)bursts->covered_ns, 1),
		hp_format_time(&covered, (double)bursts->covered_ns));
}

uint64_t hp_offcpu_missed_ns(const struct hp_report *report)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;

	return sampling->has_bursts && !sampling->bursts.count ? sampling->bursts.on_ns : 0;
}

static uint64_t lost_of(const struct hp_report *report)
{
	return report->model.sampling.record.lost + report->model.sampling.wait_lost;
}

static const char *note(struct hp_report *report)
{
	double total = total_of(report), unknown = 0;
	const struct hp_offcpu *offcpu = offcpu_of(report);
	uint64_t lost = lost_of(report);
	struct hp_text_cell time, share, count;
	char *stopped, *bursts;

	if (total <= 0)
		return NULL;
	for (size_t i = 0; i < offcpu->count; i++)
		if (offcpu->rows[i].function == HP_NONE)
			unknown += (double)offcpu->rows[i].blocked_ns;
	stopped = stopped_text(report);
	free(report->text);
	bursts = bursts_text(report);
	report->text =
		hp_xprintf("Blocked: %s%s, %s of it without a stack%s%s%s%s%s",
			   bursts[0]				 ? "~"
			   : lost || hp_offcpu_missed_ns(report) ? "\342\211\245"
								 : "",
			   hp_format_time(&time, total),
			   hp_format_percent(&share, 100 * unknown / total, 1), stopped, bursts,
			   lost ? ", " : "", lost ? hp_format_count(&count, lost) : "",
			   lost ? " records lost" : "");
	free(stopped);
	free(bursts);
	return report->text;
}

const char *hp_offcpu_empty(struct hp_report *report)
{
	if (!report->model.sampling.is_there || report->model.sampling.record.fault)
		return hp_cpu_empty(report);
	if (report->model.sampling.record.source == HP_SAMPLING_TIMER ||
	    report->model.sampling.record.source == HP_SAMPLING_SAMPLY)
		return "unknown: timers and samply see only running threads; HOTPATH_CPU=perf records waits, too, "
		       "where the kernel permits it";
	if (offcpu_of(report)->count)
		return "nothing matches HOTPATH_FOCUS";
	return "no wait was seen";
}

static int compare_rows(const void *left, const void *right)
{
	const struct hp_offcpu_row *a = *(const struct hp_offcpu_row *const *)left;
	const struct hp_offcpu_row *b = *(const struct hp_offcpu_row *const *)right;

	if (a->blocked_ns != b->blocked_ns)
		return a->blocked_ns < b->blocked_ns ? 1 : -1;
	return a->function < b->function ? -1 : a->function > b->function;
}

static const char *name_of(struct hp_report *report, const struct hp_offcpu_row *row)
{
	return row->function == HP_NONE
		       ? HP_NO_STACK
		       : hp_cpu_name(report, &hp_report_cpu(report)->functions[row->function]);
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_offcpu *offcpu = offcpu_of(report);

	list->rows = hp_xcalloc(offcpu->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < offcpu->count; i++)
		if (hp_focus_allows(&report->focus, name_of(report, &offcpu->rows[i])))
			list->rows[list->total++] = &offcpu->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_offcpu_section, report, list);
}

static void row_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = name_of(cell->report, cell->row);
}

static void row_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *r = cell->row;

	value->number = r->waits ? (double)r->blocked_ns / (double)r->waits : 0;
	value->is_estimated = r->error_ns > 0;
}

static void row_blocked(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *r = cell->row;

	hp_cell_set_between(value, (double)r->blocked_ns, (double)r->blocked_ns - r->error_ns,
			    (double)r->blocked_ns + r->error_ns);
	value->is_estimated = r->error_ns > 0;
}

static void row_waits(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *r = cell->row;

	value->number = (double)r->waits;
	value->is_estimated = r->error_ns > 0;
}

static void row_error(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *r = cell->row;

	value->is_unknown = r->error_ns <= 0;
	value->number = r->blocked_ns ? 100 * r->error_ns / (double)r->blocked_ns : 0;
}

static void row_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *r = cell->row;
	double total = total_of(cell->report);

	value->number = total > 0 ? 100 * (double)r->blocked_ns / total : 0;
}

static const struct hp_column columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, .get = row_name },
	{ "On", "on", "on", HP_UNIT_TEXT, .member = HP_MEMBER(hp_offcpu_row, on) },
	{ "Waits", "waits", "waits", HP_UNIT_COUNT, .get = row_waits },
	{ "Avg", "avg", "avg_ns", HP_UNIT_TIME, .get = row_average },
	{ "Blocked", "blocked", "blocked_ns", HP_UNIT_TIME, .get = row_blocked },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, .get = row_error, .need = HP_NEED_ESTIMATE },
	{ "% Blocked", "percent", "percent", HP_UNIT_SHARE, .get = row_share },
	{ "With lock", "held", NULL, HP_UNIT_TEXT, .get = hp_offcpu_held_cell,
	  .need = HP_NEED_KNOWN },
	{ 0 },
};

/* Besides the columns: records lost, and how waits were recorded in bursts. */
static void tail(struct hp_report *report, cJSON *list)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_bursts *bursts = &sampling->bursts;

	if (lost_of(report))
		hp_json_whole(list, "lost_count", lost_of(report));
	if (hp_offcpu_missed_ns(report))
		hp_json_whole(list, "burst_missed_ns", hp_offcpu_missed_ns(report));
	if (!sampling->has_bursts || !bursts->count)
		return;
	hp_json_whole(list, "burst_count", bursts->count);
	hp_json_whole(list, "burst_covered_ns", bursts->covered_ns);
	hp_json_whole(list, "burst_taken_ns", bursts->taken_ns);
	hp_json_whole(list, "burst_waits", bursts->waits);
	hp_json_between(list, "blocked", total_of(report),
			hp_sampling_burst_error(bursts, bursts->blocked_ns, bursts->squares));
}

static void raw(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_offcpu_row *r = row;

	if (r->error_ns > 0)
		hp_json_between(entry, "blocked", (double)r->blocked_ns, r->error_ns);
	hp_offcpu_held_write(report, r, entry);
}

/* Waits have the names of samples, which are already kept if those were looked up. */
static void legend_write(struct hp_report *report, FILE *out)
{
	if (!hp_cpu_is_made(report) && hp_offcpu_has_data(report))
		hp_cpu_legend_write(report, out);
}

const struct hp_section hp_offcpu_section = {
	.key = "offcpu",
	.json = "offcpu",
	.name = "offcpu",
	.help = "where threads wait",
	.subject = HP_SUBJECT_THREAD,
	.columns = columns,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.has_data = hp_offcpu_has_data,
	.about = "Time that threads waited, by function and cause.",
	.empty = hp_offcpu_empty,
	.note = note,
	.estimate = HP_ESTIMATE_WAITS,
	.extra = { .tail = tail,
		   .raw = raw,
		   .list_keys =
			   "lost_count:i burst_missed_ns:i burst_count:i burst_covered_ns:i burst_taken_ns:i burst_waits:i "
			   "blocked_low_ns:i blocked_high_ns:i",
		   .raw_keys = "blocked_low_ns:i blocked_high_ns:i held:[o]" },
	.is_on_top = true,
	.legend_write = legend_write,
	.tool = { .help = "Where threads wait instead of running, by call path.",
		  .meaning =
			  "Time in which threads did not run, by the call path in which they stopped.",
		  .next = "who_waits_for_whom if it is a lock." },
};
