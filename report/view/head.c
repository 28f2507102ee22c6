/* SPDX-License-Identifier: MIT */
/*
 * head.c - the lines above the tables: the command, its resources, missing data.
 */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "report/section/cpu/cpu.h"
#include "report/section/timing/calls.h"
#include "report/base/format.h"
#include "report/read/cost.h"
#include "report/view/hint.h"
#include "report/view/levels.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/short.h"
#include "report/section/wait/offcpu.h"
#include "report/section/sections.h"
#include "report/section/timing/function.h"
#include "report/section/thread/thread.h"
#include "report/view/view.h"
#include "segment/layout/process.h"

#define UNSAMPLED_NS 100000000	/* CPU time without any sample that is worth a note */
#define TOP_NAME 32
#define RUN_WIDTH 47	/* columns of the command: with the time, 80 in total */
#define NEXT_NAME 30	/* longer names are not suggested */
#define PATH_MIN 16
#define SHARES_FROM_NS 1e7	/* CPU time starts before our clock: not for short runs */
#define FAULTS_MAX 1	/* files without names that the default report lists */
#define RUNNING_MAX 2	/* processes named; the others are counted */

/* Sections beyond the width are below anyway. */
static void first_line_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	static const char more[] = ", \342\200\246";	/* three dots, one column */
	struct hp_text_cell cell;
	const char *elapsed = hp_format_elapsed(&cell, report->model.elapsed_ns);
	size_t width = strlen("[hotpath] ") + hp_text_width(elapsed);
	const char *gap = " | ";

	fprintf(out, "[hotpath] %s", elapsed);
	if (report->answer)
		fprintf(out, "%s%s", gap, report->answer->name);
	for (size_t i = 0; i < hp_section_count; i++) {
		if (!report->is_shown[i])
			continue;
		width += strlen(gap) + strlen(hp_sections[i]->name);
		if (width + hp_text_width(more) > look->width) {
			fputs(more, out);
			break;
		}
		fprintf(out, "%s%s", gap, hp_sections[i]->name);
		gap = ", ";
	}
	if (report->label) {
		char *label = hp_text_clean(report->label);

		fprintf(out, " | %s", label);
		free(label);
	}
	fputs("\n\n", out);
}

char *hp_head_ending(const struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	const struct hp_header *header = &model->reader.header;
	int status = (int)header->root_status;
	const char *name;

	if (report->record.is_live)
		return hp_xstrdup(" so far");
	if (header->shut_down)
		return hp_xstrdup(", ended by HOTPATH_SHUTDOWN_MS");
	if (!header->status_known) {
		bool is_lost = model->root != HP_NONE &&
			       model->processes[model->root].ending == HP_ENDING_NONE &&
			       !model->processes[model->root].is_running;

		return hp_xstrdup(is_lost ? ", killed or crashed (status unknown)" : "");
	}
	if (WIFSIGNALED(status)) {
		name = hp_format_signal(WTERMSIG(status));
		return hp_xprintf(", killed by SIG%s%s", name ? name : "?",
				  WCOREDUMP(status) ? " (core dumped)" : "");
	}
	if (WEXITSTATUS(status))
		return hp_xprintf(", exit status %d", WEXITSTATUS(status));
	return hp_xstrdup("");
}

/* Identifies the run, if the user did not name it. */
static void run_write(const struct hp_report *report, FILE *out)
{
	const struct hp_facts *facts = report->record.facts;
	const char *command = facts ? hp_facts_get(facts, "command") : NULL;
	time_t started = (time_t)(report->model.reader.header.created_unix_ns / 1000000000);
	char *clean = hp_text_clean(command ? command : "?");
	char when[40];
	struct tm parts;

	if (!report->record.file) {
		free(clean);
		return;
	}
	if (!localtime_r(&started, &parts) || !strftime(when, sizeof(when), "%F %T", &parts))
		strcpy(when, "?");
	fprintf(out, "run       %s, %.*s\n", when, (int)hp_text_start(clean, RUN_WIDTH), clean);
	free(clean);
}

/* The address of a running program's live views. */
static void port_write(const struct hp_report *report, FILE *out)
{
	uint16_t port = hp_reader_port(&report->model.reader);

	if (report->record.is_live && port)
		fprintf(out, "live      http://127.0.0.1:%u/\n", (unsigned)port);
}

/* A busy machine explains a long wall time: shown from a tenth of it on. */
static void ready_write(const struct hp_thread_sums *sums, FILE *out)
{
	struct hp_text_cell cell;

	if (sums->ready_ns >= SHARES_FROM_NS && sums->ready_ns >= sums->life_ns / 10)
		fprintf(out, ", %s ready without a core",
			hp_format_time(&cell, (double)sums->ready_ns));
}

/* Unknown for threads that were not watched; for a single thread it is wall time minus CPU time. */
static void blocked_write(struct hp_report *report, FILE *out)
{
	struct hp_thread_sums sums;
	struct hp_text_cell cell;

	if (!report->model.thread_count)
		return;
	hp_threads_sum(report, &sums);
	if (!sums.watched) {
		fputs("\nblocked   -", out);
		return;
	}
	fprintf(out, "\nblocked   %s", hp_format_time(&cell, (double)sums.blocked_ns));
	if (sums.count > 1)
		fprintf(out, " of %s in %zu", hp_format_time(&cell, (double)sums.life_ns),
			sums.watched);
	if (sums.count > sums.watched)
		fprintf(out, " of %zu", sums.count);
	if (sums.count > 1)
		fputs(" threads", out);
	ready_write(&sums, out);
	if (sums.stopped_ns)
		fprintf(out, ", %s stopped by a signal",
			hp_format_time(&cell, (double)sums.stopped_ns));
}

static void sums_write(struct hp_report *report, FILE *out)
{
	const struct hp_model *model = &report->model;
	struct hp_text_cell cell;
	char *ending = hp_head_ending(report);
	double wall = (double)model->elapsed_ns;

	fprintf(out, "wall      %s%s\n", hp_format_time(&cell, wall), ending);
	free(ending);
	fprintf(out, "CPU       %s", hp_format_time(&cell, (double)model->cpu_ns));
	if (wall >= SHARES_FROM_NS && model->cpu_ns)
		fprintf(out, ", %s of one core",
			hp_format_percent(&cell, 100 * (double)model->cpu_ns / wall, 1));
	blocked_write(report, out);
	fprintf(out, "\npeak RSS  %s\n",
		model->peak_rss_kb ? hp_format_bytes(&cell, model->peak_rss_kb * 1024) : "-");
}

/* --- the largest, by section --- */

static void top_value_write(const struct hp_report *report, const struct hp_value *value, FILE *out)
{
	struct hp_text_cell cell;
	char *last, *name;

	if (!value->text) {
		if (!value->is_unknown)
			fprintf(out, " %s%s", value->is_estimated ? "~" : "",
				hp_format_percent(&cell, value->number, 1));
		return;
	}
	last = value->is_label ? hp_xstrdup(value->text)
			       : hp_name_display(value->text, (size_t)report->settings->name_depth,
						 HP_NAME_SHORT);
	name = hp_name_fit(last, TOP_NAME);
	fprintf(out, " %s", name);
	free(last);
	free(name);
}

static void top_told_write(struct hp_report *report, const struct hp_section *section, FILE *out)
{
	struct hp_top top = { .word = NULL };

	if (!section->top(report, &top))
		return;
	fprintf(out, "%s:", section->name);
	top_value_write(report, &top.name, out);
	top_value_write(report, &top.share, out);
	if (top.word)
		fprintf(out, " %s", top.word);
}

/* The first row that has its own name. */
static const void *top_row(struct hp_report *report, const struct hp_section *section,
			   const struct hp_list *list)
{
	for (size_t i = 0; i < list->shown; i++) {
		struct hp_value value = { .text = NULL };

		for (const struct hp_column *column = section->columns;
		     hp_column_is(column) && !value.text; column++) {
			const struct hp_cell cell = { report, list->rows[i], column, 0 };

			if (column->unit == HP_UNIT_NAME)
				hp_cell_get(&cell, &value);
		}
		/*
		 * That main takes 100 % of main is obvious, and samples without a stack
		 * have no place.
		 */
		if (value.text != report->caller &&
		    (!value.text || strcmp(value.text, HP_NO_STACK) != 0))
			return list->rows[i];
	}
	return list->shown ? list->rows[0] : NULL;
}

static void top_row_write(struct hp_report *report, const struct hp_section *section, FILE *out)
{
	struct hp_list list;
	const void *row;

	section->fill(report, &list);
	row = top_row(report, section, &list);
	if (row)
		fprintf(out, "%s:", section->name);
	for (const struct hp_column *column = section->columns; row && hp_column_is(column);
	     column++) {
		const struct hp_cell cell = { report, row, column, 0 };
		struct hp_value value = { .text = NULL };

		if (column->unit != HP_UNIT_NAME && column->unit != HP_UNIT_SHARE)
			continue;
		hp_cell_get(&cell, &value);
		top_value_write(report, &value, out);
	}
	free(list.rows);
}

/* "cpu: name 61.0%"; empty if the section has no row. */
static char *top_text(struct hp_report *report, const struct hp_section *section)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	if (section->top)
		top_told_write(report, section, out);
	else
		top_row_write(report, section, out);
	fclose(out);
	return text;
}

/* Side by side, in as many lines as necessary. */
static void top_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	static const char *const starts[] = { "top       ", "\n          " };
	size_t width = 0;

	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];
		char *text = report->is_shown[i] && section->is_on_top ? top_text(report, section)
								       : NULL;
		size_t more = text ? hp_text_width(text) : 0;

		if (more && width && width + strlen("; ") + more <= look->width) {
			fprintf(out, "; %s", text);
			width += strlen("; ") + more;
		} else if (more) {
			fprintf(out, "%s%s", starts[width > 0], text);
			width = strlen(starts[0]) + more;
		}
		free(text);
	}
	if (width)
		fputc('\n', out);
}

/* --- missing data --- */

static void loss_write(uint64_t count, const char *text, FILE *out)
{
	struct hp_text_cell cell;

	if (count)
		fprintf(out, "note      %s %s\n", hp_format_count(&cell, count), text);
}

static void losses_write(const struct hp_model_losses *losses, FILE *out)
{
	loss_write(losses->refused_chunks,
		   "chunks did not fit; a larger HOTPATH_SEGMENT_SIZE makes room", out);
	loss_write(losses->refusals,
		   "times the system refused the profiler memory or a call; counts may be too low",
		   out);
	loss_write(losses->folded_functions, "calls went to <other>: segment or memory was full",
		   out);
	loss_write(losses->folded_rows,
		   "call paths are counted without their callers: the tree was full", out);
	loss_write(losses->lost_threads,
		   "threads were not recorded; a larger HOTPATH_SEGMENT_SIZE makes room", out);
	loss_write(losses->lost_calls, "calls of such threads were not recorded", out);
	loss_write(losses->unpaired, "exits without an entry were ignored", out);
	if (losses->is_damaged)
		fputs("note      parts of the segment are damaged; showing the rest\n", out);
}

/* The first `most` of the files whose names are missing; the others are counted. */
static void faults_write(struct hp_report *report, const struct hp_look *look, uint32_t most,
			 FILE *out)
{
	static const char tail[] = ": names are missing";
	uint32_t count = 0;

	for (uint32_t i = 0; i < report->model.object_count; i++) {
		const char *fault = hp_symbols_fault(report->symbols, i);
		size_t others = fault ? 11 + strlen(fault) + strlen(tail) : 0;
		char *path, *fitted, *clean;

		if (!fault || count++ >= most)
			continue;
		clean = hp_text_clean(fault);	/* a kept file's may be anything */
		path = hp_text_clean(report->model.objects[i].path);
		fitted = hp_name_fit(path[0] ? path : "code", look->width > others + PATH_MIN
								      ? look->width - others
								      : PATH_MIN);
		fprintf(out, "note      %s %s%s\n", fitted, clean, tail);
		free(clean);
		free(path);
		free(fitted);
	}
	if (count > most)
		fprintf(out, "note      names of %u more files are missing\n", count - most);
}

/* They are listed below, and not included in the sums above. */
static void unwatched_write(struct hp_report *report, FILE *out)
{
	struct hp_text_cell cells[3];
	struct hp_thread_sums sums;
	size_t count;

	if (!hp_settings_asks_threads(report->settings))
		return;
	hp_threads_sum(report, &sums);
	count = sums.count - sums.watched - sums.unlisted;
	if (sums.unlisted)
		fprintf(out,
			"note      %s of %s threads are not listed: a process has room for %s\n",
			hp_format_count(&cells[0], sums.unlisted),
			hp_format_count(&cells[1], sums.count),
			hp_format_count(&cells[2], HP_THREADS_MAX));
	if (count)
		fprintf(out,
			"note      sums exclude %zu thread%s watched too briefly: see threads, thread-states\n",
			count, count == 1 ? "" : "s");
}

static void running_write(const struct hp_model *model, FILE *out)
{
	size_t count = 0;

	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];
		char *comm;

		if (!process->is_running || process->is_root || count++ >= RUNNING_MAX)
			continue;
		comm = hp_text_clean(process->comm);
		fprintf(out, "%s%s (%u)", count == 1 ? "note      still running: " : ", ", comm,
			process->pid);
		free(comm);
	}
	if (count > RUNNING_MAX)
		fprintf(out, " and %zu more", count - RUNNING_MAX);
	if (count)
		fputc('\n', out);
}

static void unsampled_write(struct hp_report *report, FILE *out)
{
	struct hp_text_cell missed, whole;
	uint64_t missed_ns = hp_cpu_is_made(report) ? hp_cpu_missed_ns(report) : 0;

	/* A daemon's first process ends at once; the others are sampled only if it was. */
	if (report->model.sampling.is_there &&
	    report->model.sampling.record.fault == HP_SAMPLING_GONE &&
	    report->model.cpu_ns >= UNSAMPLED_NS)
		fprintf(out,
			"note      no CPU samples: the first process ended too early, the others "
			"took %s\n",
			hp_format_time(&whole, (double)report->model.cpu_ns));
	if (report->model.sampling.is_there &&
	    report->model.sampling.record.fault == HP_SAMPLING_SAMPLY_FAILED)
		fputs("note      samply took no CPU samples: see hotpath report --report functions-cpu\n",
		      out);
	if (missed_ns && report->model.sampling.record.samples)
		fprintf(out, "note      %s of %s CPU time%s had no sample: cpu shares exclude it\n",
			hp_format_time(&missed, (double)missed_ns),
			hp_format_time(&whole, (double)report->model.cpu_ns),
			report->model.sampling.record.has_kernel ? ""
								 : ", including the kernel's,");
}

static void unrecorded_write(const struct hp_report *report, FILE *out)
{
	struct hp_text_cell time;
	uint64_t missed_ns = hp_offcpu_missed_ns(report);

	if (missed_ns)
		fprintf(out,
			"note      waits below 1 ms are missing for %s, since threads switched so often; "
			"HOTPATH_REPORT=offcpu records all\n",
			hp_format_time(&time, (double)missed_ns));
}

/* Clocks of times and of CPU time stand still meanwhile. */
static void suspension_write(const struct hp_model *model, FILE *out)
{
	struct hp_text_cell time;

	if (model->suspended_ns)
		fprintf(out,
			"note      the machine was suspended for %s, which is in no time of this report\n",
			hp_format_time(&time, (double)model->suspended_ns));
}

/* The program's figures exclude the helper's time. */
static void cost_write(struct hp_report *report, FILE *out)
{
	const struct hp_model *model = &report->model;
	struct hp_cost cost = hp_cost_of(model);
	struct hp_text_cell time, error, share;
	double whole = model->cpu_ns ? (double)model->cpu_ns : (double)model->elapsed_ns;

	if (cost.ns <= 0 || whole <= 0)
		return;
	fprintf(out, "note      profiling cost %s%s", cost.is_least ? "\342\211\245" : "",
		hp_format_time(&time, cost.ns));
	hp_format_percent(&share, 100 * cost.ns / whole, 1);
	if (!cost.is_least)
		fprintf(out, " \302\261 %s", hp_format_time(&error, cost.error_ns));
	fprintf(out, " (%s of CPU)", share.text);
	if (model->overhead_ns)
		fputs(", hooks subtracted", out);
	if (cost.helper_ns > 0)
		fprintf(out, "; helper %s", hp_format_time(&time, cost.helper_ns));
	fputc('\n', out);
}

/* Each line of the hint below the first starts where the first one's text does. */
static void hint_write(struct hp_report *report, FILE *out)
{
	char *hint = hp_hint_headers(report);
	const char *gap = "note      ";

	for (char *rest = hint, *line; rest && (line = strsep(&rest, "\n"));) {
		fprintf(out, "%s%s\n", gap, line);
		gap = "          ";
	}
	free(hint);
}

void hp_head_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	first_line_write(report, look, out);
	run_write(report, out);
	port_write(report, out);
	sums_write(report, out);
	hp_levels_write(&report->model.levels, out);
	top_write(report, look, out);
	hp_deadlocks_write(report, out);
	suspension_write(&report->model, out);
	cost_write(report, out);
	unsampled_write(report, out);
	unrecorded_write(report, out);
	hint_write(report, out);
	losses_write(&report->model.losses, out);
	faults_write(report, look, UINT32_MAX, out);
	unwatched_write(report, out);
	running_write(&report->model, out);
}

void hp_head_notes_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	port_write(report, out);
	hp_deadlocks_write(report, out);
	unsampled_write(report, out);
	unrecorded_write(report, out);
	hint_write(report, out);
	losses_write(&report->model.losses, out);
	faults_write(report, look, FAULTS_MAX, out);
	running_write(&report->model, out);
}

char *hp_head_hint(struct hp_report *report, const struct hp_look *look)
{
	const struct hp_model_function *f = hp_functions_busiest(report);
	const char *start = look->is_coloured ? "\033[2m" : "";
	const char *end = look->is_coloured ? "\033[0m" : "";
	char *name, *line;

	if (!f || report->settings->disable_hints)
		return NULL;
	name = hp_report_short_name(report, f);
	if (!hp_report_is_label(report, f))
		name[strcspn(name, "(")] = 0;
	if (hp_text_width(name) <= NEXT_NAME && *name && !strchr(name, '\''))
		line = hp_xprintf(
			"\n%snext: hotpath report --callers '%s' (or --tree, --folded)%s\n", start,
			name, end);
	else
		line = hp_xprintf(
			"\n%snext: hotpath report --tree (or --callers NAME, --folded)%s\n", start,
			end);
	free(name);
	return line;
}
