/* SPDX-License-Identifier: MIT */
/*
 * brief_head.c - the first and the last lines of the default report.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/answer/answer.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/finding.h"
#include "report/section/memory/section.h"
#include "report/section/thread/process.h"
#include "report/section/timing/function.h"
#include "report/view/brief_part.h"

#define DOT " \302\267 "
#define LABEL "%-10s"
#define LABEL_WIDTH 10
#define CROWDED_MIN 0.3	/* of the threads' lives: ready without a core, */
#define FREE_MIN 0.6	/* while they used at most this part of all cores */
#define IMAGES_MIN 10	/* more runs of programs than threads: those were not watched */
#define PART_MIN 0.015	/* of the threads' time, to be shown */
#define PARTS_TOLD 4
#define NAMELESS_MIN 0.2	/* of the CPU time: code of one file without names */
#define COMMAND_MIN 20
#define NEXT_NAME 30	/* longer names are not suggested */
#define DOMINATES 0.5 /* of the CPU time: its lines tell more than another table */
#define SHORT_NS 1e7	/* CPU time starts before our clock: no share for a shorter run */

const char *hp_part_share(struct hp_text_cell *cell, double part, double whole)
{
	double percent = whole > 0 ? 100 * part / whole : 0;

	if (percent > 100)
		percent = 100;
	return hp_format_percent(cell, percent, percent < 9.95 ? 1 : 0);
}

/* --- lines --- */

/* A line of pieces: those without room are omitted, and the first one is cut. */
struct line {
	FILE *out;
	size_t room;
	bool is_full;
};

static struct line line_begin(const struct hp_look *look, FILE *out)
{
	return (struct line){ out, look->width, false };
}

/* Takes over the text. */
static void line_add(struct line *line, char *text)
{
	size_t width = hp_text_width(text);

	if (!line->is_full && width > line->room && line->room > LABEL_WIDTH + 40)
		fprintf(line->out, "%.*s\342\200\246", (int)hp_text_start(text, line->room - 1),
			text);
	else if (!line->is_full && width <= line->room)
		fputs(text, line->out);
	line->is_full |= width > line->room;
	line->room -= width < line->room ? width : line->room;
	free(text);
}

/* --- the first line --- */

static char *command_of(const struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	const char *command = NULL;

	if (report->record.facts)
		command = hp_facts_get(report->record.facts, "command");
	if (!command && model->root != HP_NONE)
		command = model->processes[model->root].command;
	return hp_text_clean(command ? command : hp_model_root_name(model));
}

/* The start of a kept run. */
static char *when_text(const struct hp_report *report)
{
	time_t started = (time_t)(report->model.reader.header.created_unix_ns / 1000000000);
	struct tm parts;
	char text[40];

	if (!report->record.file || !localtime_r(&started, &parts) ||
	    !strftime(text, sizeof(text), DOT "%F %T", &parts))
		return hp_xstrdup("");
	return hp_xstrdup(text);
}

/* As above the tables, but a status of 0 is shown, too. */
static char *ending_text(const struct hp_report *report)
{
	const struct hp_header *header = &report->model.reader.header;
	char *text = hp_head_ending(report), *dotted;

	if (strncmp(text, ", ", 2) == 0) {
		dotted = hp_xprintf(DOT "%s", text + 2);
		free(text);
		return dotted;
	}
	if (*text || !header->status_known)
		return text;
	free(text);
	return hp_xstrdup(DOT "exit status 0");
}

/* "/usr/bin/program -x" without the folder. */
static void folder_cut(char *command)
{
	char *end = strchr(command, ' '), *at = command;

	for (char *slash = command; (!end || slash < end) && (slash = strchr(slash, '/')); slash++)
		if (!end || slash < end)
			at = slash + 1;
	memmove(command, at, strlen(at) + 1);
}

static void title_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	struct hp_text_cell cell;
	char *command = command_of(report), *when = when_text(report);
	char *ending = ending_text(report);
	char *label = report->label ? hp_text_clean(report->label) : NULL;
	char *rest = hp_xprintf("%s" DOT "%s%s%s%s", when,
				hp_format_time(&cell, (double)report->model.elapsed_ns), ending,
				label ? DOT : "", label ? label : "");
	size_t used = strlen("[hotpath] ") + hp_text_width(rest);
	size_t room = look->width > used + COMMAND_MIN ? look->width - used : COMMAND_MIN;
	bool is_cut;

	/* The command is more informative than the date. */
	if (look->width < used + COMMAND_MIN)
		room = look->width > used - hp_text_width(when) + COMMAND_MIN / 2
			       ? look->width - used + hp_text_width(when)
			       : COMMAND_MIN / 2;
	if (hp_text_width(command) > room)
		folder_cut(command);
	is_cut = hp_text_width(command) > room;

	fprintf(out, "[hotpath] %.*s%s%s\n\n",
		(int)hp_text_start(command, is_cut ? room - 1 : room), command,
		is_cut ? "\342\200\246" : "",
		look->width < used + COMMAND_MIN ? rest + strlen(when) : rest);
	free(command);
	free(when);
	free(ending);
	free(label);
	free(rest);
}

/* --- sums --- */

/*
 * Most processes of a shell's loop end before the helper watches their threads. A few more than
 * threads are images: one process that executed several programs.
 */
static char *threads_text(struct hp_report *report, const struct hp_answer_time *time)
{
	uint64_t runs = hp_programs_of(report)->runs;
	const char *many = time->threads == 1 ? "" : "s";
	struct hp_text_cell known, all;

	hp_format_count(&known, time->threads);
	if (runs >= time->threads + time->idle + time->unknown + IMAGES_MIN)
		return hp_xprintf("%s thread%s watched, of %s processes: ", known.text, many,
				  hp_format_count(&all, runs));
	if (time->unknown)
		return hp_xprintf("%s of %s threads: ", known.text,
				  hp_format_count(&all,
						  time->threads + time->idle + time->unknown));
	return hp_xprintf("%s thread%s: ", known.text, many);
}

/* Continues a line of pieces, or begins the next one. Takes over the text. */
static void piece_write(char *piece, const char *gap, size_t *used, const struct hp_look *look,
			FILE *out)
{
	size_t width = hp_text_width(piece);
	/* A comma may follow. */
	bool is_next = *used > LABEL_WIDTH && *used + strlen(gap) + width >= look->width;

	if (is_next)
		fprintf(out, "%.1s\n" LABEL "%s", gap, "", piece);
	else
		fprintf(out, "%s%s", gap, piece);
	*used = (is_next ? LABEL_WIDTH : *used + strlen(gap)) + width;
	free(piece);
}

static void time_write(struct hp_report *report, const struct hp_answer_time *time,
		       const struct hp_look *look, FILE *out)
{
	struct hp_text_cell cell;
	size_t used = LABEL_WIDTH;

	if (!time->threads)
		return;
	fprintf(out, LABEL, "time");
	piece_write(threads_text(report, time), "", &used, look, out);
	for (size_t i = 0; i < time->count && i < PARTS_TOLD; i++) {
		if (i && time->parts[i].ns < PART_MIN * time->life_ns)
			break;
		piece_write(hp_xprintf("%s %s",
				       hp_part_share(&cell, time->parts[i].ns, time->life_ns),
				       time->parts[i].what),
			    i ? ", " : "", &used, look, out);
	}
	if (time->idle)
		piece_write(hp_xprintf("%zu idle", time->idle), "; ", &used, look, out);
	fputc('\n', out);
}

static void cpu_write(const struct hp_model *model, const struct hp_answer *answer, FILE *out)
{
	struct hp_text_cell cell;

	fprintf(out, LABEL "%s", "CPU", hp_format_time(&cell, (double)model->cpu_ns));
	if (answer->wall_ns >= SHORT_NS && model->cpu_ns) {
		double used = (double)model->cpu_ns / answer->wall_ns;

		/* CPU time includes the start and the end of the process, wall time does not. */
		if (model->process_count == 1 && model->thread_count == 1 && used > 1)
			used = 1;
		if (answer->cores)
			fprintf(out, ", %.2f of %llu %s", used, (unsigned long long)answer->cores,
				answer->cores == 1 ? "core" : "cores");
		else
			fprintf(out, ", %.2f cores", used);
	}
	fputc('\n', out);
}

/* How much was allocated; without the bytes where only that fits. */
static char *blocks_text(const struct hp_answer *answer, size_t room)
{
	struct hp_text_cell bytes, count;
	const char *many = answer->heap_blocks == 1 ? "" : "s";
	char *text =
		hp_xprintf(", %s in %s block%s in all", hp_format_bytes(&bytes, answer->heap_bytes),
			   hp_format_count(&count, answer->heap_blocks), many);

	if (hp_text_width(text) <= room)
		return text;
	free(text);
	return hp_xprintf(", %s block%s in all", count.text, many);
}

static void memory_write(struct hp_report *report, const struct hp_answer *answer,
			 const struct hp_look *look, FILE *out)
{
	const struct hp_model *model = &report->model;
	/* Of several processes it is their sum, though these may not have run at the same time. */
	const char *sum = hp_programs_of(report)->runs > 1 ? " (sum)" : "";
	struct line line = line_begin(look, out);
	struct hp_text_cell cell;

	if (!model->peak_rss_kb && !answer->has_heap)
		return;
	line_add(&line, hp_xprintf(LABEL, "memory"));
	if (model->peak_rss_kb)
		line_add(&line, hp_xprintf("peak RSS %s%s",
					   hp_format_bytes(&cell, model->peak_rss_kb * 1024),
					   answer->has_heap ? "; " : ""));
	if (answer->has_heap) {
		line_add(&line, hp_xprintf("heap peak %s%s",
					   hp_format_bytes(&cell, answer->heap_peak), sum));
		line_add(&line, blocks_text(answer, line.room));
	}
	fputc('\n', out);
}

/* As above the tables, in lines that fit. */
static void notes_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	char *text = NULL, *rest = NULL;
	size_t size;
	FILE *notes = open_memstream(&text, &size);

	if (!notes)
		return;
	hp_head_notes_write(report, look, notes);
	if (fclose(notes) == 0)
		for (char *line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			size_t label = hp_text_start(line, LABEL_WIDTH);

			fprintf(out, "%.*s%s", (int)label, line, line[label] ? "" : "\n");
			hp_part_wrapped_write(line + label, LABEL_WIDTH, look, out);
		}
	free(text);
}

/* Programs of the run whose blocks could not be recorded. */
static void unseen_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	char *unseen = hp_alloc_unseen_text(report), *text;

	if (!unseen)
		return;
	text = hp_xprintf("the heap's figures are %s", unseen);
	fprintf(out, LABEL, "note");
	hp_part_wrapped_write(text, LABEL_WIDTH, look, out);
	free(text);
	free(unseen);
}

/* A script around the program, say. */
static void launch_write(const struct hp_answer_launch *launch, const struct hp_look *look,
			 FILE *out)
{
	struct hp_text_cell time;
	char *text;

	if (!launch->ns)
		return;
	hp_format_time(&time, launch->ns);
	text = launch->by ? hp_xprintf("%s took %s until it started %s", launch->by, time.text,
				       launch->program)
			  : hp_xprintf("it took %s until %s started", time.text, launch->program);
	fprintf(out, LABEL, "note");
	hp_part_wrapped_write(text, LABEL_WIDTH, look, out);
	free(text);
}

/* Ready threads while cores seem free: the times say little about the program alone. */
static void crowded_write(const struct hp_model *model, const struct hp_answer *answer,
			  const struct hp_look *look, FILE *out)
{
	const struct hp_answer_time *time = &answer->time;
	struct hp_text_cell share;
	double ready = 0;
	char *text;

	for (size_t i = 0; i < time->count; i++)
		if (time->parts[i].what == hp_answer_ready)
			ready = time->parts[i].ns;
	if (!answer->cores || answer->wall_ns < SHORT_NS || ready < CROWDED_MIN * time->life_ns ||
	    (double)model->cpu_ns > FREE_MIN * (double)answer->cores * answer->wall_ns)
		return;
	text = hp_xprintf("other programs or a CPU limit took the cores: %s of this time is "
			  "waiting for one",
			  hp_part_share(&share, ready, time->life_ns));
	fprintf(out, LABEL, "note");
	hp_part_wrapped_write(text, LABEL_WIDTH, look, out);
	free(text);
}

void hp_part_head_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	const struct hp_answer *answer = hp_answer_of(report);

	title_write(report, look, out);
	time_write(report, &answer->time, look, out);
	cpu_write(&report->model, answer, out);
	memory_write(report, answer, look, out);
	launch_write(&answer->launch, look, out);
	crowded_write(&report->model, answer, look, out);
	notes_write(report, look, out);
	if (answer->has_heap)
		unseen_write(report, look, out);
}

/* --- the last lines --- */

static void samples_write(struct hp_report *report, const struct hp_answer *answer,
			  const struct hp_look *look, FILE *out)
{
	struct line line = line_begin(look, out);
	struct hp_text_cell count, time;
	const struct hp_cpu *cpu;
	char *left = NULL;

	if (!report->model.sampling.is_there || !answer->samples)
		return;
	cpu = hp_report_cpu(report);
	line_add(&line, hp_xprintf("%s CPU sample%s: ", hp_format_count(&count, answer->samples),
				   answer->samples == 1 ? "" : "s"));
	if (answer->samples < HP_ANSWER_SAMPLES)
		line_add(&line, hp_xstrdup("too few to show which functions use it"));
	else
		line_add(&line,
			 hp_xprintf("shares are accurate to %.1f points",
				    100 * hp_cpu_share_error_most(answer->effective,
								  hp_cpu_missed_part(report))));
	if (cpu->profiler_ns)
		left = hp_xprintf("%s of the profiler's own CPU time is excluded",
				  hp_format_time(&time, (double)cpu->profiler_ns));
	/* It may be most of the CPU time: on a narrow terminal it gets a line of its own. */
	if (left && hp_text_width(left) + 2 > line.room) {
		fputc('\n', out);
		line = line_begin(look, out);
	} else if (left) {
		line_add(&line, hp_xstrdup("; "));
	}
	if (left)
		line_add(&line, left);
	fputc('\n', out);
}

/* Why the row has no name, and what helps; NULL = it has one. */
static const char *nameless_reason(const struct hp_report *report, const struct hp_answer_cpu *row,
				   uint32_t object)
{
	const char *file;

	if (object == HP_NONE || row->name[0] != '[')
		return NULL;
	if (report->model.objects[object].kind == HP_OBJECT_ANONYMOUS)
		return strcmp(row->name, HP_CPU_ANONYMOUS) == 0
			       ? "has no names: let the JIT compiler write /tmp/perf-PID.map"
			       : NULL;
	file = hp_model_object_name(&report->model, object);
	return *file && strncmp(row->name + 1, file, strlen(file)) == 0
		       ? "has no symbols: its debug package has them, or a build without strip"
		       : NULL;
}

/* Missing names, if that matters: the code without them with the most CPU time. */
static void nameless_write(struct hp_report *report, const struct hp_answer *answer,
			   const struct hp_look *look, FILE *out)
{
	const struct hp_cpu *cpu = answer->cpu_count ? hp_report_cpu(report) : NULL;

	for (size_t i = 0; i < answer->cpu_count; i++) {
		const struct hp_answer_cpu *row = &answer->cpu[i];
		uint32_t object =
			row->function == HP_NONE ? HP_NONE : cpu->functions[row->function].object;
		const char *reason = nameless_reason(report, row, object);
		struct line line = line_begin(look, out);

		if (!reason || (double)row->ns < NAMELESS_MIN * (double)answer->cpu_ns)
			continue;
		line_add(&line, hp_xprintf("%s %s", row->name, reason));
		fputc('\n', out);
		return;
	}
}

/* The sampled function that has most of the CPU time, if a shell takes its name as it is; NULL = none. */
static const char *dominating(struct hp_report *report)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
	const struct hp_answer *answer = hp_answer_of(report);
	const struct hp_answer_cpu *most = answer->cpu;

	return answer->cpu_count && most->function != HP_NONE &&
			       (double)most->ns >= DOMINATES * (double)answer->cpu_ns &&
			       most->name[strspn(most->name, plain)] == 0
		       ? most->name
		       : NULL;
}

/*
 * More data of this run than in the default report: the tables, and the callers
 * or the lines of its busiest function.
 */
char *hp_brief_hint(struct hp_report *report, const struct hp_look *look)
{
	const struct hp_model_function *f = hp_functions_busiest(report);
	const char *start = look->is_coloured ? "\033[2m" : "";
	const char *end = look->is_coloured ? "\033[0m" : "";
	char *name, *line;

	if (report->settings->disable_hints)
		return NULL;
	name = f ? hp_answer_name(report, hp_report_name(report, f)) : NULL;
	if (hp_findings_of(report)->count)
		line = hp_xprintf("%snext: hotpath explain 1, or hotpath report --all for all "
				  "tables%s\n",
				  start, end);
	else if (name && *name && hp_text_width(name) <= NEXT_NAME && !strchr(name, '\''))
		line = hp_xprintf("%snext: hotpath report --all, or --callers '%s', --tree%s\n",
				  start, name, end);
	else if (dominating(report))
		line = hp_xprintf("%snext: hotpath report --annotate %s, or --all%s\n", start,
				  dominating(report), end);
	else
		line = hp_xprintf("%snext: hotpath report --all for all tables%s\n", start, end);
	free(name);
	return line;
}

void hp_part_quality_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	const struct hp_answer *answer = hp_answer_of(report);
	bool is_again = report->record.file || report->record.is_live;
	char *hint = is_again ? hp_brief_hint(report, look) : NULL;

	fputc('\n', out);
	samples_write(report, answer, look, out);
	nameless_write(report, answer, look, out);
	if (hint)
		fputs(hint, out);
	free(hint);
}
