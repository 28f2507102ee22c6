/* SPDX-License-Identifier: MIT */
/*
 * annotate.c - see annotate.h.
 */
#include "report/section/cpu/annotate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/section/cpu/cpu.h"
#include "report/base/behalf.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"

#define AROUND 3	/* lines shown around one with samples */
#define LINES_MAX 100000	/* of a source file: more are not shown with their text */
#define LINE_BYTES 400
#define TOLD_MAX 3
#define TAB 8

struct build {
	struct hp_report *report;
	const struct hp_cpu *cpu;
	struct hp_annotation *annotation;
	uint32_t function;
	const char *file;	/* with most samples of the function */
	struct hp_user user;	/* the user who named it */
	size_t room;
	hp_complain complain;
	void *context;
};

static void say(const struct build *b, char *line)
{
	if (b->complain)
		b->complain(b->context, line);
	free(line);
}

/* --- which function --- */

static bool is_called(const char *whole, const char *name, size_t depth)
{
	char *last = hp_name_short(whole, depth);
	bool is_it = strcmp(last, name) == 0;

	last[strcspn(last, "(")] = 0;
	is_it |= *last && strcmp(last, name) == 0;
	free(last);
	return is_it;
}

/* 2 = it is its name, 1 = a part of it. */
static int fit_of(const char *whole, const char *name)
{
	if (strcmp(whole, name) == 0 || is_called(whole, name, 0) || is_called(whole, name, 1) ||
	    is_called(whole, name, 2))
		return 2;
	return strstr(whole, name) ? 1 : 0;
}

static void others_tell(const struct build *b, const char *name, const char *taken, int fit)
{
	const struct hp_cpu *cpu = b->cpu;
	int told = 0;

	for (uint32_t i = 0; i < cpu->function_count && told < TOLD_MAX; i++)
		if (i != b->function && cpu->functions[i].total_ns &&
		    fit_of(cpu->functions[i].name, name) == fit) {
			say(b, hp_xprintf("'%s' also matches %s; showing %s", name,
					  cpu->functions[i].name, taken));
			told++;
		}
}

static bool function_find(struct build *b, const char *name)
{
	const struct hp_cpu *cpu = b->cpu;
	int best = 0;

	b->function = HP_NONE;
	for (uint32_t i = 0; i < cpu->function_count; i++) {
		int fit = cpu->functions[i].total_ns ? fit_of(cpu->functions[i].name, name) : 0;

		if (!fit || fit < best ||
		    (fit == best &&
		     cpu->functions[i].total_ns <= cpu->functions[b->function].total_ns))
			continue;
		best = fit;
		b->function = i;
	}
	if (b->function != HP_NONE) {
		others_tell(b, name, cpu->functions[b->function].name, best);
		return true;
	}
	if (!b->report->model.sampling.record.samples)
		say(b, hp_xstrdup(hp_cpu_empty(b->report)));
	else
		say(b, hp_xprintf("no function with samples matches '%s'; hotpath report "
				  "-r functions-cpu --limit=0 shows them",
				  name));
	return false;
}

/* --- its lines --- */

static struct hp_annotation_line *line_at(struct build *b, int number)
{
	struct hp_annotation *a = b->annotation;

	for (size_t i = 0; i < a->count; i++)
		if (a->lines[i].line == number)
			return &a->lines[i];
	a->lines = hp_xgrow(a->lines, a->count, &b->room, sizeof(*a->lines));
	a->lines[a->count] = (struct hp_annotation_line){ .line = number };
	return &a->lines[a->count++];
}

/* The function's frame at a place; NULL = none. */
static const struct hp_cpu_frame *frame_at(const struct build *b, uint32_t stack)
{
	const struct hp_cpu *cpu = b->cpu;
	const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];

	for (uint32_t i = 0; i < place->count; i++)
		if (cpu->frames[place->first + i].function == b->function)
			return &cpu->frames[place->first + i];
	return NULL;
}

/* True if the function was already on the stack at this line, closer to the callee: a recursion. */
static bool is_repeated(const struct build *b, uint32_t from, uint32_t to, int line)
{
	for (; from != to; from = b->report->model.sampling.stacks[from].parent) {
		const struct hp_cpu_frame *frame = frame_at(b, from);

		if (frame && frame->line == line)
			return true;
	}
	return false;
}

static void stack_add(struct build *b, uint32_t stack)
{
	const struct hp_model_stack *stacks = b->report->model.sampling.stacks;
	bool is_own = hp_cpu_owner(b->report, stack) == b->function;

	for (uint32_t at = stack; at; at = stacks[at].parent) {
		const struct hp_cpu_frame *frame = frame_at(b, at);
		struct hp_annotation_line *line;

		bool is_inner = is_own && frame;

		is_own &= !frame;
		if (!frame || !frame->line || !frame->file || strcmp(frame->file, b->file) != 0)
			continue;
		line = line_at(b, frame->line);
		/* The innermost of its lines has the own time of the section cpu. */
		if (is_inner) {
			line->self_ns += stacks[stack].cpu_ns;
			line->self_samples += stacks[stack].samples;
		}
		if (is_repeated(b, stack, at, frame->line))
			continue;
		line->total_ns += stacks[stack].cpu_ns;
		line->total_samples += stacks[stack].samples;
	}
}

static struct hp_user user_of(const struct build *b, uint32_t stack)
{
	uint32_t object = b->cpu->places[b->cpu->of_stack[stack]].object;

	return object == HP_NONE ? hp_user_unknown() : b->report->model.objects[object].user;
}

/* Among the stacks with samples, the first file that has a line of the function. */
static void file_find(struct build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	uint64_t most = 0;

	for (uint32_t i = 1; i < sampling->stack_count; i++) {
		const struct hp_cpu_frame *frame = frame_at(b, i);

		if (!frame || !frame->line || !frame->file)
			continue;
		if (!b->file || sampling->stacks[i].cpu_ns > most) {
			b->file = frame->file;
			b->user = user_of(b, i);
			most = sampling->stacks[i].cpu_ns;
		}
	}
}

/* --- its text --- */

/* A fresh copy with blanks for tabs, without the end of the line. */
static char *text_of(const char *line)
{
	char *out = hp_xmalloc(LINE_BYTES + TAB + 1), *clean;
	size_t at = 0;

	for (; *line && *line != '\n' && *line != '\r' && at < LINE_BYTES; line++) {
		if (*line != '\t') {
			out[at++] = *line;
			continue;
		}
		do
			out[at++] = ' ';
		while (at % TAB);
	}
	out[at] = 0;
	clean = hp_text_clean(out);
	free(out);
	return clean;
}

static bool is_near(const struct build *b, size_t sampled, int number)
{
	for (size_t i = 0; i < sampled; i++)
		if (abs(b->annotation->lines[i].line - number) <= AROUND)
			return true;
	return false;
}

static bool is_changed(const struct build *b)
{
	struct stat stat_of;

	return stat(b->file, &stat_of) == 0 &&
	       (int64_t)stat_of.st_mtim.tv_sec >
		       b->report->model.reader.header.created_unix_ns / 1000000000;
}

/* The name comes from debug information: it may be that of a pipe, or of a file that we must not
 * read. */
static FILE *source_open(const struct build *b)
{
	struct hp_user before = hp_behalf_begin(b->user);
	int fd = hp_behalf_open(b->file, 0);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");

	hp_behalf_end(before);
	if (fd >= 0 && !in)
		close(fd);
	return in;
}

/* Lines with samples, and lines around them. */
static void texts_read(struct build *b)
{
	size_t sampled = b->annotation->count;
	FILE *in = source_open(b);
	char *line = NULL;
	size_t room = 0;

	if (!in) {
		say(b, hp_xprintf("%s: %s: lines are shown without their text", b->file,
				  strerror(errno)));
		return;
	}
	if (is_changed(b))
		say(b, hp_xprintf("%s is newer than the run: its lines may have changed", b->file));
	for (int number = 1; number <= LINES_MAX && getline(&line, &room, in) > 0; number++)
		if (is_near(b, sampled, number))
			line_at(b, number)->text = text_of(line);
	free(line);
	fclose(in);
}

static int compare_lines(const void *left, const void *right)
{
	const struct hp_annotation_line *a = left, *b = right;

	return a->line - b->line;
}

/* --- the section --- */

static void annotation_free(void *held)
{
	struct hp_annotation *annotation = held;

	for (size_t i = 0; i < annotation->count; i++)
		free(annotation->lines[i].text);
	free(annotation->lines);
	free(annotation->describe);
	free(annotation->note);
	free(annotation);
}

static const struct hp_view_kind annotation_kind = { .free = annotation_free };

static const struct hp_annotation *annotation_of(const struct hp_report *report)
{
	return hp_views_get(&report->views, &annotation_kind);
}

static const char *lines_describe(const struct hp_report *report)
{
	return annotation_of(report)->describe;
}

static const char *lines_note(struct hp_report *report)
{
	return annotation_of(report)->note;
}

static void lines_fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_annotation *a = annotation_of(report);

	list->rows = hp_xcalloc(a->count, sizeof(*list->rows));
	list->total = list->shown = a->count;
	for (size_t i = 0; i < a->count; i++)
		list->rows[i] = &a->lines[i];
}

static void line_text(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_annotation_line *line = cell->row;

	hp_cell_set_text(cell, hp_xprintf("%-5d  %s", line->line, line->text), value);
}

/* Nothing for a zero, so that code with samples stands out. */
static void time_set(uint64_t ns, struct hp_value *value)
{
	value->number = (double)ns;
	if (!ns)
		value->text = "";
}

static void line_self(const struct hp_cell *cell, struct hp_value *value)
{
	time_set(((const struct hp_annotation_line *)cell->row)->self_ns, value);
}

static void line_total(const struct hp_cell *cell, struct hp_value *value)
{
	time_set(((const struct hp_annotation_line *)cell->row)->total_ns, value);
}

static void line_share(const struct hp_cell *cell, struct hp_value *value)
{
	uint64_t ns = ((const struct hp_annotation_line *)cell->row)->total_ns;

	time_set(ns, value);
	value->number = annotation_of(cell->report)->total_ns
				? 100 * (double)ns / (double)annotation_of(cell->report)->total_ns
				: 0;
}

static const struct hp_column columns[] = {
	{ "Line   Source", NULL, NULL, HP_UNIT_CHAIN, .get = line_text },
	{ NULL, "line", "line", HP_UNIT_NUMBER, .member = HP_MEMBER(hp_annotation_line, line) },
	{ NULL, "source", "source", HP_UNIT_TEXT, .member = HP_MEMBER(hp_annotation_line, text) },
	{ "Self", "self", NULL, HP_UNIT_TIME, .get = line_self },
	{ "Inclusive", "inclusive", NULL, HP_UNIT_TIME, .get = line_total },
	{ "% of it", "percent", NULL, HP_UNIT_SHARE, .get = line_share },
	{ .raw = "self_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_annotation_line, self_ns) },
	{ .raw = "inclusive_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_annotation_line, total_ns) },
	{ .raw = "self_samples",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_annotation_line, self_samples) },
	{ .raw = "inclusive_samples",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_annotation_line, total_samples) },
	{ 0 },
};

static const struct hp_section section = {
	.key = "annotate",
	.json = "annotate",
	.name = "annotate",
	.columns = columns,
	.describe = lines_describe,
	.note = lines_note,
	.fill = lines_fill,
	.none = "no line has samples",
};

/* --- the whole --- */

bool hp_annotation_init(struct hp_report *report, const char *name, hp_complain complain,
			void *context)
{
	struct build b = { .report = report,
			   .cpu = hp_report_cpu(report),
			   .complain = complain,
			   .context = context };
	const struct hp_cpu_function *f;
	struct hp_text_cell self, total, rest;
	uint64_t own = 0;
	const char *slash;

	if (!function_find(&b, name))
		return false;
	f = &b.cpu->functions[b.function];
	file_find(&b);
	if (!b.file) {
		say(&b, hp_xprintf("no line information for %s: compile it with -g", f->name));
		return false;
	}
	b.annotation = hp_views_add(&report->views, &annotation_kind,
				    hp_xcalloc(1, sizeof(*b.annotation)));
	for (uint32_t i = 1; i < report->model.sampling.stack_count; i++)
		if (report->model.sampling.stacks[i].samples &&
		    !report->model.sampling.stacks[i].is_profiler)
			stack_add(&b, i);
	texts_read(&b);
	qsort(b.annotation->lines, b.annotation->count, sizeof(*b.annotation->lines),
	      compare_lines);
	b.annotation->total_ns = f->total_ns;
	slash = strrchr(b.file, '/');
	b.annotation->describe = hp_xprintf("%s, %s", f->name, slash ? slash + 1 : b.file);
	for (size_t i = 0; i < b.annotation->count; i++) {
		struct hp_annotation_line *line = &b.annotation->lines[i];

		line->text = line->text ? line->text : hp_xstrdup("");
		own += line->self_ns;
	}
	b.annotation->note = hp_xprintf(
		"%s of CPU, %s with callees%s%s%s", hp_format_time(&self, (double)f->self_ns),
		hp_format_time(&total, (double)f->total_ns), own < f->self_ns ? "; " : "",
		own < f->self_ns ? hp_format_time(&rest, (double)(f->self_ns - own)) : "",
		own < f->self_ns ? " of it outside this file's lines" : "");
	hp_report_answer(report, &section);
	return true;
}
