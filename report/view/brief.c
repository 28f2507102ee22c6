/* SPDX-License-Identifier: MIT */
/*
 * brief.c - the default report: the main facts of a run, on one screen.
 *
 * It has parts: the head, recommendations, the CPU, waits, memory, a last line on accuracy.  A
 * part without anything worth showing is omitted. Rows are numbers, a name, and a remark;
 * numbers are never cut, the name gets a share of the width, and the remark the rest. If the
 * total exceeded LINES_MAX lines, the longest parts lose their last rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/answer/answer.h"
#include "report/section/cpu/cpu.h"
#include "report/section/thread/process.h"
#include "report/view/brief_part.h"
#include "report/view/view.h"

#define LINES_MAX 40
#define NUMBERS_MAX 3	/* in a row */
#define ROWS_MAX 16
#define PROGRAMS_MAX 5
#define PROGRAM_MIN 0.02 /* of the CPU time, for a row but the first two */
#define PROGRAMS_MIN 2
#define NAME_MIN 16
#define NAME_CUT 4	/* however narrow the terminal is */
#define REMARK_MIN 12
#define GAP 2
#define REST_MIN 0.2	/* of the CPU time: functions that are not shown */
#define MARGIN 2

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

#define TIMES "\303\227"

struct row {
	char *numbers[NUMBERS_MAX];
	char *name;
	bool is_path;	/* the name is a call path */
	char *remark;	/* may be NULL */
};

struct part {
	const char *title;
	char *about;	/* after it; NULL = nothing */
	struct row rows[ROWS_MAX];
	size_t count;
	size_t least;	/* rows that are always kept */
	bool has_places;	/* after the names, "(file.c:12)" */
};

enum { PART_CPU, PART_WAITS, PART_MEMORY, PART_PROGRAMS, PARTS };

static const char *ink(const struct hp_look *look, const char *code)
{
	return look->is_coloured ? code : "";
}

/* --- rows --- */

static struct row *row_new(struct part *part)
{
	struct row *row = &part->rows[part->count++];

	*row = (struct row){ .name = NULL };
	return row;
}

static void row_release(struct row *row)
{
	for (int i = 0; i < NUMBERS_MAX; i++)
		free(row->numbers[i]);
	free(row->name);
	free(row->remark);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t width_of(const char *text)
{
	return text ? hp_text_width(text) : 0;
}

static size_t numbers_width(const struct part *part, size_t widths[NUMBERS_MAX])
{
	size_t all = MARGIN;

	for (int i = 0; i < NUMBERS_MAX; i++) {
		widths[i] = 0;
		for (size_t r = 0; r < part->count; r++)
			widths[i] = larger(widths[i], width_of(part->rows[r].numbers[i]));
		all += widths[i] ? widths[i] + GAP : 0;
	}
	return all;
}

/* As wide as the widest name; if that leaves no room for remarks, a share of the line. */
static size_t name_width(const struct part *part, size_t numbers, size_t width)
{
	size_t name = 0, remark = 0, room = width > numbers ? width - numbers : 0;
	size_t share = width / 2 > 8 + NAME_MIN ? width / 2 - 8 : NAME_MIN;

	for (size_t r = 0; r < part->count; r++) {
		name = larger(name, width_of(part->rows[r].name));
		remark = larger(remark, width_of(part->rows[r].remark));
	}
	if (!remark)
		return name < room ? name : room;
	if (name + GAP + remark > room && name > share)
		name = remark + GAP + share < room ? room - remark - GAP : share;
	return name < room ? name : room;
}

static void row_write(const struct row *row, const size_t widths[NUMBERS_MAX], size_t name_most,
		      const struct hp_look *look, FILE *out)
{
	size_t used = MARGIN, name;
	char *fitted, *remark;

	fprintf(out, "%*s", MARGIN, "");
	for (int i = 0; i < NUMBERS_MAX; i++) {
		if (!widths[i])
			continue;
		fprintf(out, "%*s%s%*s", (int)(widths[i] - width_of(row->numbers[i])), "",
			row->numbers[i] ? row->numbers[i] : "", GAP, "");
		used += widths[i] + GAP;
	}
	fitted = row->is_path ? hp_part_path_fit(row->name, name_most)
			      : hp_name_fit(row->name, name_most);
	name = hp_text_width(fitted);
	fputs(fitted, out);
	free(fitted);
	if (row->remark && used + name_most + GAP + REMARK_MIN <= look->width) {
		remark = hp_part_remark_fit(row->remark, look->width - used - name_most - GAP);
		fprintf(out, "%*s%s%s%s", (int)(name_most - name + GAP), "", ink(look, DIM), remark,
			ink(look, PLAIN));
		free(remark);
	}
	fputc('\n', out);
}

/* Bytes of a row's name without its place, "(file.c:12)". */
static size_t bare_length(const char *name)
{
	const char *place = strstr(name, " (");

	return place ? (size_t)(place - name) : strlen(name);
}

static bool is_bare_unique(const struct part *part)
{
	for (size_t a = 0; a < part->count; a++)
		for (size_t b = 0; b < a; b++) {
			const struct row *one = &part->rows[a], *two = &part->rows[b];
			size_t length = bare_length(one->name);

			if (length == bare_length(two->name) &&
			    memcmp(one->name, two->name, length) == 0 &&
			    strcmp(one->name, two->name) != 0)
				return false;
		}
	return true;
}

/* On a narrow terminal, what a function waits for says more than its place. */
static void places_cut(struct part *part, size_t numbers, size_t width)
{
	size_t name = 0, remark = 0;

	for (size_t r = 0; r < part->count; r++) {
		name = larger(name, width_of(part->rows[r].name));
		remark = larger(remark, width_of(part->rows[r].remark));
	}
	if (numbers + name + GAP + remark <= width || !is_bare_unique(part))
		return;
	for (size_t r = 0; r < part->count; r++)
		part->rows[r].name[bare_length(part->rows[r].name)] = '\0';
}

static void part_write(struct part *part, const struct hp_look *look, FILE *out)
{
	size_t widths[NUMBERS_MAX], numbers, name;

	if (!part->count && !part->about)
		return;
	fprintf(out, "\n%s%s%s", ink(look, BOLD), part->title, ink(look, PLAIN));
	if (part->about) {
		char *about =
			hp_part_text_fit(part->about, look->width - strlen(part->title) - GAP);

		fprintf(out, "  %s%s%s", ink(look, DIM), about, ink(look, PLAIN));
		free(about);
	}
	fputc('\n', out);
	numbers = numbers_width(part, widths);
	if (part->has_places)
		places_cut(part, numbers, look->width);
	name = name_width(part, numbers, look->width);
	for (size_t r = 0; r < part->count; r++)
		row_write(&part->rows[r], widths, name, look, out);
}

static size_t part_lines(const struct part *part)
{
	return part->count || part->about ? part->count + 2 : 0;
}

static void part_release(struct part *part)
{
	for (size_t r = 0; r < part->count; r++)
		row_release(&part->rows[r]);
	free(part->about);
}

/* --- the CPU --- */

static char *callee_text(const struct hp_answer_callee *callee, double all_ns)
{
	struct hp_text_cell share;

	return hp_xprintf("%s%s %s", callee->is_kernel ? "kernel:" : "", callee->name,
			  hp_part_share(&share, (double)callee->ns, all_ns));
}

static char *joined(char *text, char *more, const char *gap)
{
	char *whole = text ? hp_xprintf("%s%s%s", text, gap, more) : hp_xstrdup(more);

	free(text);
	free(more);
	return whole;
}

/* The hottest line, and its callees outside the program. */
static char *cpu_remark(const struct hp_answer *answer, const struct hp_answer_cpu *row)
{
	struct hp_text_cell count;
	char *text = NULL;

	if (row->file)
		text = hp_xprintf("%s:%d", hp_name_file(row->file), row->line);
	for (size_t i = 0; i < row->callee_count; i++)
		text = joined(text, callee_text(&row->callees[i], (double)answer->cpu_ns),
			      i || !text ? ", " : "  ");
	if (row->calls)
		text = joined(text,
			      hp_xprintf("%s%s", hp_format_count(&count, row->calls),
					 row->calls == 1 ? " call" : " calls"),
			      ", ");
	return text;
}

/* If many functions have a little each, a table of the few that have more is incomplete. */
static char *cpu_about(const struct hp_answer *answer)
{
	static const char by[] = "by program function, including library and kernel calls";
	uint64_t rest_ns = answer->cpu_ns;
	struct hp_text_cell share;

	for (size_t i = 0; i < answer->cpu_count; i++)
		rest_ns -= answer->cpu[i].ns < rest_ns ? answer->cpu[i].ns : rest_ns;
	if ((double)rest_ns < REST_MIN * (double)answer->cpu_ns)
		return hp_xstrdup(by);
	return hp_xprintf("%s; %s in %zu more", by,
			  hp_part_share(&share, (double)rest_ns, (double)answer->cpu_ns),
			  answer->cpu_more);
}

static void cpu_make(const struct hp_answer *answer, struct part *part)
{
	struct hp_text_cell cell;

	for (size_t i = 0; i < answer->cpu_count; i++) {
		const struct hp_answer_cpu *from = &answer->cpu[i];
		struct row *row = row_new(part);

		row->numbers[0] =
			hp_xstrdup(hp_part_share(&cell, (double)from->ns, (double)answer->cpu_ns));
		row->name = hp_xstrdup(from->name);
		row->remark = cpu_remark(answer, from);
	}
	if (part->count)
		part->about = cpu_about(answer);
}

/* From the hooks, without a useful number of samples. */
static void timed_make(const struct hp_answer *answer, struct part *part)
{
	struct hp_text_cell cell, count;

	for (size_t i = 0; i < answer->timed_count; i++) {
		const struct hp_answer_timed *from = &answer->timed[i];
		struct row *row = row_new(part);

		row->numbers[0] = hp_xstrdup(hp_part_share(&cell, from->ns, answer->timed_ns));
		row->numbers[1] = hp_xstrdup(hp_format_time(&cell, from->ns));
		row->name = hp_xstrdup(from->name);
		row->remark = hp_xprintf("%s%s", hp_format_count(&count, from->calls),
					 from->calls == 1 ? " call" : " calls");
	}
	part->title = "Time";
	if (part->count)
		part->about = hp_xstrdup("by function, without callees");
}

/* --- waits --- */

static void waits_make(const struct hp_answer *answer, struct part *part)
{
	struct hp_text_cell cell;

	for (size_t i = 0; i < answer->wait_count; i++) {
		const struct hp_answer_wait *from = &answer->waits[i];
		struct row *row = row_new(part);

		const char *mark = from->is_estimated ? "~" : "";

		row->numbers[0] = hp_xprintf("%s%s", mark, hp_format_time(&cell, from->ns));
		row->numbers[1] =
			hp_xprintf("%s%s" TIMES, mark, hp_format_count(&cell, from->count));
		row->name = hp_xstrdup(from->who ? from->who : "[unknown]");
		if (from->most_ns > 0)
			row->numbers[2] = hp_xstrdup(hp_format_time(&cell, from->most_ns));
		row->remark = hp_xstrdup(from->what);
	}
	if (part->count)
		part->about = hp_xstrdup("of all threads: total, count, longest");
}

/* --- memory --- */

static void memory_make(const struct hp_answer *answer, struct part *part)
{
	static const char *const words[] = {
		[HP_ANSWER_PEAK] = "at the peak",
		[HP_ANSWER_LEFT] = "not freed",
		[HP_ANSWER_BLOCKS] = "blocks made",
	};
	struct hp_text_cell cell, share;

	for (size_t i = 0; i < answer->memory_count; i++) {
		const struct hp_answer_memory *from = &answer->memory[i];
		struct row *row = row_new(part);
		bool is_blocks = from->kind == HP_ANSWER_BLOCKS;
		double part_of = (double)(is_blocks ? from->blocks : from->bytes);

		row->numbers[0] = hp_xstrdup(is_blocks ? hp_format_count(&cell, from->blocks)
						       : hp_format_bytes(&cell, from->bytes));
		row->numbers[1] =
			hp_xstrdup(from->is_kept ? "at the peak, not freed" : words[from->kind]);
		row->numbers[2] = hp_xstrdup(hp_part_share(&share, part_of, (double)from->all));
		row->name = hp_xstrdup(from->path);
		row->is_path = true;
	}
}

/* --- processes --- */

/* Adds "3 failed", unless there is none. */
static char *counted(char *text, uint64_t count, const char *what)
{
	struct hp_text_cell cell;

	return count ? joined(text, hp_xprintf("%s %s", hp_format_count(&cell, count), what), ", ")
		     : text;
}

static char *program_remark(const struct hp_report *report, const struct hp_program *program)
{
	const char *end = report->model.levels.are_missing
				  ? "dropped rights: the rest is not in this file"
				  : "not recorded after dropping rights";
	struct hp_text_cell cell;
	/* The first process lasts as long as all of them: it says nothing about the others. */
	bool is_mixed = program->root_runs && program->runs > program->root_runs;
	double runs = (double)(program->runs - (is_mixed ? program->root_runs : 0));
	double wall_ns = (double)(program->wall_ns - (is_mixed ? program->root_wall_ns : 0));
	char *text = program->elsewhere
			     ? NULL
			     : hp_xprintf("%s each%s", hp_format_time(&cell, wall_ns / runs),
					  is_mixed ? " after the first" : "");

	text = counted(text, program->elsewhere, end);
	text = counted(text, program->failed, "failed");
	text = counted(text, program->unknown, "ended unseen");
	text = counted(text, program->running, "still running");
	if (program->peak_rss_bytes)
		text = joined(text,
			      hp_xprintf("peak %s",
					 hp_format_bytes(&cell, program->peak_rss_bytes)),
			      ", ");
	return text;
}

static void program_cpu(struct row *row, const struct hp_program *program)
{
	struct hp_text_cell cell;

	if (program->is_cpu_least && !program->cpu_ns) {
		row->numbers[0] = hp_xstrdup("-");
		row->numbers[1] = hp_xstrdup("-");
		return;
	}
	row->numbers[0] = hp_xstrdup(hp_part_share(&cell, program->cpu_percent, 100));
	row->numbers[1] = hp_xprintf("%s%s", program->is_cpu_least ? "\342\211\245 " : "",
				     hp_format_time(&cell, (double)program->cpu_ns));
}

static void programs_make(struct hp_report *report, struct part *part)
{
	const struct hp_programs *programs = hp_programs_of(report);
	struct hp_text_cell cell;
	size_t shown = programs->count < PROGRAMS_MAX ? programs->count : PROGRAMS_MAX;

	if (programs->runs < 2)
		return;
	for (size_t i = 0; i < shown; i++) {
		const struct hp_program *from = &programs->rows[i];
		struct row *row;
		char *name;

		if (i >= PROGRAMS_MIN &&
		    (double)from->cpu_ns < PROGRAM_MIN * (double)programs->cpu_ns) {
			shown = i;
			break;
		}
		row = row_new(part);
		name = hp_text_clean(from->name);

		program_cpu(row, from);
		row->name = from->runs > 1 ? hp_xprintf("%s " TIMES "%s", name,
							hp_format_count(&cell, from->runs))
					   : hp_xstrdup(name);
		row->remark = program_remark(report, from);
		free(name);
	}
	part->about = hp_xprintf("%s in all, by the CPU time of their programs%s",
				 hp_format_count(&cell, programs->runs),
				 programs->count > shown ? "; the first of them" : "");
	if (programs->missing_ns)
		part->about =
			joined(part->about,
			       hp_xprintf("%s more in no row",
					  hp_format_time(&cell, (double)programs->missing_ns)),
			       "; ");
	if (programs->unrecorded)
		part->about = joined(part->about,
				     hp_xprintf("%s more not recorded",
						hp_format_count(&cell, programs->unrecorded)),
				     "; ");
}

/* --- all of it --- */

/* Too long for a screen: the part with the most rows loses its last one. */
static void parts_shrink(struct part *parts, size_t lines)
{
	for (; lines > LINES_MAX; lines--) {
		struct part *longest = NULL;

		for (int i = 0; i < PARTS; i++)
			if (parts[i].count > parts[i].least &&
			    (!longest || parts[i].count > longest->count))
				longest = &parts[i];
		if (!longest)
			return;
		row_release(&longest->rows[--longest->count]);
	}
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* A function's output as a fresh text. */
static char *written(void (*write)(struct hp_report *, const struct hp_look *, FILE *),
		     struct hp_report *report, const struct hp_look *look)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return hp_xstrdup("");
	write(report, look, out);
	return fclose(out) == 0 ? text : hp_xstrdup("");
}

void hp_brief_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	const struct hp_answer *answer = hp_answer_of(report);
	struct part parts[PARTS] = {
		[PART_CPU] = { .title = "CPU", .least = 3 },
		[PART_WAITS] = { .title = "Waits", .least = 2, .has_places = true },
		[PART_MEMORY] = { .title = "Memory", .least = 2 },
		[PART_PROGRAMS] = { .title = "Processes", .least = 3 },
	};
	char *head = written(hp_part_head_write, report, look);
	char *findings = written(hp_part_findings_write, report, look);
	char *quality = written(hp_part_quality_write, report, look);
	size_t lines = lines_of(head) + lines_of(findings) + lines_of(quality);

	if (answer->timed_count && !answer->cpu_count)
		timed_make(answer, &parts[PART_CPU]);
	else
		cpu_make(answer, &parts[PART_CPU]);
	waits_make(answer, &parts[PART_WAITS]);
	memory_make(answer, &parts[PART_MEMORY]);
	programs_make(report, &parts[PART_PROGRAMS]);
	for (int i = 0; i < PARTS; i++)
		lines += part_lines(&parts[i]);
	parts_shrink(parts, lines);
	fputs(head, out);
	fputs(findings, out);
	for (int i = 0; i < PARTS; i++) {
		part_write(&parts[i], look, out);
		part_release(&parts[i]);
	}
	fputs(quality, out);
	free(head);
	free(findings);
	free(quality);
}

static bool is_brief(const struct hp_report *report)
{
	return !report->answer && !hp_settings_wants_tables(report->settings);
}

void hp_text_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	if (is_brief(report))
		hp_brief_write(report, look, out);
	else
		hp_table_write(report, look, out);
}

char *hp_text_hint(struct hp_report *report, const struct hp_look *look)
{
	return is_brief(report) ? hp_brief_hint(report, look) : hp_head_hint(report, look);
}
