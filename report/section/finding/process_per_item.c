/* SPDX-License-Identifier: MIT */
/*
 * process_per_item.c - a program is started for each small piece of work.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/thread/process.h"
#include "report/section/thread/thread.h"

#define RUNS_MIN 50
#define LIFE_MAX 1e7 /* ns */
#define PARENT_MIN 2 /* times the lives: with the parent's part, at least */
#define PARENT_MAX 3
#define NEXT_MIN 0.3 /* of the lives of the most frequent program: the advice names it, too */
#define LAUNCH_MAX 0.3 /* of the wall time: most of them may have prepared the program */

/* The first process is none of the runs that it started, and lives as long as all of them. */
static uint64_t runs_of(const struct hp_program *program)
{
	return program->runs - program->root_runs;
}

static double wall_of(const struct hp_program *program)
{
	return (double)(program->wall_ns - program->root_wall_ns);
}

static bool is_small(const struct hp_program *program)
{
	return runs_of(program) >= RUNS_MIN && wall_of(program) > 0 &&
	       wall_of(program) / (double)runs_of(program) < LIFE_MAX;
}

static const char *root_name(const struct hp_model *model)
{
	for (size_t i = 0; i < model->run_count; i++)
		if (model->runs[i].is_root && model->runs[i].name[0])
			return model->runs[i].name;
	return "";
}

/* Among frequently started ones: another program before copies of the first one. */
static const struct hp_program *most_of(const struct hp_programs *programs, const char *root)
{
	const struct hp_program *most = NULL;

	for (size_t i = 0; i < programs->count; i++) {
		const struct hp_program *program = &programs->rows[i];
		bool is_root = strcmp(program->name, root) == 0;
		bool is_most_root = most && strcmp(most->name, root) == 0;

		if (is_small(program) &&
		    (!most || (is_most_root && !is_root) ||
		     (is_most_root == is_root && wall_of(program) > wall_of(most))))
			most = program;
	}
	return most;
}

/* Another one that the same loop seems to start: about as much of it, and not a copy of the first. */
static const struct hp_program *next_of(const struct hp_programs *programs,
					const struct hp_program *most, const char *root)
{
	const struct hp_program *next = NULL;

	for (size_t i = 0; i < programs->count && strcmp(most->name, root) != 0; i++) {
		const struct hp_program *program = &programs->rows[i];

		if (program == most || !is_small(program) || strcmp(program->name, root) == 0 ||
		    wall_of(program) < NEXT_MIN * wall_of(most))
			continue;
		if (!next || wall_of(program) > wall_of(next))
			next = program;
	}
	return next;
}

/* All frequently started programs are part of it: a shell forks before it starts a program. */
static double lives_of(const struct hp_programs *programs)
{
	double ns = 0;

	for (size_t i = 0; i < programs->count; i++)
		if (is_small(&programs->rows[i]))
			ns += wall_of(&programs->rows[i]);
	return ns;
}

/* The first thread's own work, and its waits for anything but a child. */
static double own_ns(const struct hp_survey *survey)
{
	static const enum hp_thread_wait waits[] = { HP_THREAD_CHANNEL, HP_THREAD_DISK,
						     HP_THREAD_POLL, HP_THREAD_SLEEP };
	uint32_t root = survey->report->model.reader.header.root_pid;
	double ns = 0;

	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];

		if (row->thread->tid != root)
			continue;
		ns += row->ran_ns;
		for (size_t j = 0; j < sizeof(waits) / sizeof(waits[0]); j++)
			ns += row->waits_ns[waits[j]];
	}
	return ns;
}

/*
 * Starting and reaping a process takes its parent's time as well: as long as the process lives,
 * or up to twice as long if the parent does nothing else.
 */
static double gain_of(const struct hp_survey *survey, const struct hp_programs *programs)
{
	double lives = lives_of(programs), rest = survey->wall_ns - own_ns(survey);
	double gain = PARENT_MAX * lives < rest ? PARENT_MAX * lives : rest;

	gain = gain > PARENT_MIN * lives ? gain : PARENT_MIN * lives;
	return gain < survey->wall_ns ? gain : survey->wall_ns;
}

static char *advice_of(const struct hp_program *most, const struct hp_program *next, bool is_root)
{
	char *name = hp_text_clean(most->name), *other = next ? hp_text_clean(next->name) : NULL;
	struct hp_text_cell runs, each, more;
	char *advice;

	hp_format_count(&runs, runs_of(most));
	hp_format_time(&each, wall_of(most) / (double)runs_of(most));
	if (is_root)
		advice = hp_xprintf("%s forks %s copies of itself, %s each: do it in one "
				    "process, or without a subshell.",
				    name, runs.text, each.text);
	else if (next)
		advice = hp_xprintf("It starts %s %s times, %s each, and %s %s times: do it in "
				    "one process, or with builtins.",
				    name, runs.text, each.text, other,
				    hp_format_count(&more, runs_of(next)));
	else
		advice = hp_xprintf("It starts %s %s times, %s each: do it in one process, or "
				    "with a builtin.",
				    name, runs.text, each.text);
	free(name);
	free(other);
	return advice;
}

static void find(struct hp_survey *survey)
{
	const struct hp_programs *programs = hp_programs_of(survey->report);
	const char *root = root_name(&survey->report->model);
	const struct hp_program *most = most_of(programs, root);
	const struct hp_program *next;
	struct hp_finding *finding;
	struct hp_text_cell runs, time;
	double gain;

	if (!most || survey->answer->launch.ns >= LAUNCH_MAX * survey->wall_ns)
		return;
	gain = gain_of(survey, programs);
	if (!hp_survey_is_worth(survey, gain))
		return;
	next = next_of(programs, most, root);
	finding = hp_finding_add(survey, &hp_rule_process_per_item, hp_text_clean(most->name));
	finding->advice = advice_of(most, next, strcmp(most->name, root) == 0);
	finding->facts =
		hp_xprintf("%s processes lived for %s in all",
			   hp_format_count(&runs, runs_of(most) + (next ? runs_of(next) : 0)),
			   hp_format_time(&time, wall_of(most) + (next ? wall_of(next) : 0)));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_processes_section, hp_xstrdup(finding->subject),
			    hp_xstrdup(finding->facts));
}

static const struct hp_rule_over over[] = { { "waits-for-children", false },
					    { "open-per-item", false },
					    { "page-faults", false },
					    { NULL, false } };

const struct hp_rule hp_rule_process_per_item = {
	.key = "process-per-item",
	.find = find,
	.over = over,
	.pattern =
		"A program runs at least 50 times, for less than 10 ms each on average.  The gain "
		"is twice the lifetime of all such programs, or up to three times if the first "
		"thread does nothing else: starting a process takes as long in its parent.",
	.wrong = "Each run does real work that is needed anyway.",
	.verify = "Hand all items to one run (xargs without -n, a loop inside the program), or use "
		  "shell builtins, and compare both with hotpath compare.",
};
