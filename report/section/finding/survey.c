/* SPDX-License-Identifier: MIT */
/*
 * survey.c - common input of all rules: the threads' time, the cores, and the value of CPU
 * time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/rule.h"

#define BUSY 0.05 /* of the wall time, for a thread that counts as busy */
#define FULL 0.85 /* of all cores */
#define SERIAL 1.15 /* cores in use, at most, where one thread ran at a time */
#define OWN_MIN 0.6 /* of the wall time: one thread that mostly computes */
/*
 * The most of the time in our hooks that is the program's: they take over some of its waiting for
 * loads. Measured as 0.28 for 30 million small blocks, 0.15 as a rule.
 */
#define HOOKS_ERROR 0.3
#define READY_FULL 0.3 /* of their lives: more threads than cores wait for one */

static void threads_sum(struct hp_survey *survey)
{
	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];
		double used = row->ran_ns + row->ready_ns;

		survey->ran_ns += row->ran_ns;
		survey->ready_ns += row->ready_ns;
		survey->busy += row->ran_ns >= BUSY * survey->wall_ns;
		survey->worked += row->ran_ns > 0;
		if (used > survey->busiest_ns)
			survey->busiest_ns = used;
	}
}

void hp_survey_init(struct hp_survey *survey, struct hp_report *report,
		    struct hp_findings *findings)
{
	const struct hp_answer *answer = hp_answer_of(report);
	double used, life;

	*survey = (struct hp_survey){ .report = report,
				      .answer = answer,
				      .threads = hp_threads_of(report),
				      .findings = findings,
				      .wall_ns = answer->wall_ns,
				      .cores = answer->cores ? (double)answer->cores : 1,
				      .cpu_ns = (double)answer->cpu_ns,
				      .samples = answer->samples,
				      .effective = answer->effective,
				      .missed = hp_cpu_missed_part(report),
				      .life_ns = answer->time.life_ns };
	threads_sum(survey);
	/* Folded threads have no row of their own; their CPU time is in the process's. */
	if (survey->ran_ns < (double)report->model.cpu_ns)
		survey->ran_ns = (double)report->model.cpu_ns;
	for (size_t i = 0; i < report->model.run_count; i++)
		survey->has_programs |=
			report->model.runs[i].count > 1 || (i && report->model.runs[i].count);
	used = survey->wall_ns > 0 ? survey->ran_ns / survey->wall_ns : 0;
	life = survey->life_ns > 0 ? survey->life_ns : survey->wall_ns;
	survey->is_serial = used <= SERIAL || survey->worked <= 1;
	survey->is_full = used >= FULL * survey->cores || ((double)survey->busy > survey->cores &&
							   survey->ready_ns >= READY_FULL * life);
	hp_costs_make(survey);
	hp_stalls_make(survey);
}

void hp_survey_release(struct hp_survey *survey)
{
	free(survey->costs);
	free(survey->stack_marks);
	free(survey->stalls);
}

/* With one thread that mostly computes, all time without a recorded wait, such as start-up, is
 * its own. */
static double serial_ns(const struct hp_survey *survey)
{
	double used = survey->ran_ns + survey->ready_ns, rest = survey->wall_ns;

	if (survey->has_programs || survey->worked > 1 || used < OWN_MIN * survey->wall_ns)
		return used;
	for (size_t i = 0; i < survey->stall_count; i++)
		if (strcmp(survey->stalls[i].on, "-") != 0)
			rest -= (double)survey->stalls[i].ns;
	return rest > used ? rest : used;
}

/*
 * If one thread runs at a time, all work is on the critical path. If all cores are
 * used, a share of the work is a share of the time. Otherwise the time is the busiest
 * thread's, and it does its share of the work.
 */
static double wall_of(const struct hp_survey *survey, double share)
{
	double ns;

	if (survey->is_full && !survey->is_serial)
		ns = share * survey->wall_ns;
	else if (survey->is_serial || survey->has_programs)
		ns = share * serial_ns(survey);
	else
		ns = share * survey->busiest_ns;
	return ns < survey->wall_ns ? ns : survey->wall_ns;
}

static double share_of(const struct hp_survey *survey, double ns, double hooks_ns)
{
	double hidden = HOOKS_ERROR * hooks_ns, all = survey->cpu_ns + hidden, share;

	if (all <= 0)
		return 0;
	share = (ns + hidden + hp_survey_error(survey, ns)) / all;
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

double hp_survey_worth_hooked(const struct hp_survey *survey, double sample_ns, double hooks_ns)
{
	return wall_of(survey, share_of(survey, sample_ns, hooks_ns));
}

double hp_survey_worth(const struct hp_survey *survey, double sample_ns)
{
	return hp_survey_worth_hooked(survey, sample_ns, 0);
}

double hp_survey_least(const struct hp_survey *survey, double sample_ns)
{
	double ns = sample_ns - hp_survey_error(survey, sample_ns);

	return wall_of(survey, ns > 0 && survey->cpu_ns > 0 ? ns / survey->cpu_ns : 0);
}

/* Of the samples, 0 to 1; 0 if there are none. */
static double share_at(const struct hp_survey *survey, double sample_ns)
{
	double share = survey->cpu_ns > 0 && survey->effective > 0 ? sample_ns / survey->cpu_ns : 0;

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

double hp_survey_error(const struct hp_survey *survey, double sample_ns)
{
	double share = share_at(survey, sample_ns);

	if (share <= 0)
		return 0;
	return hp_cpu_share_error(share, survey->effective, survey->missed) * survey->cpu_ns;
}

bool hp_survey_is_part(const struct hp_survey *survey, double sample_ns, double least)
{
	return sample_ns - hp_survey_error(survey, sample_ns) >= least * survey->cpu_ns;
}

const char *hp_survey_accuracy(const struct hp_survey *survey, double sample_ns,
			       struct hp_text_cell *cell)
{
	double share = share_at(survey, sample_ns), n = survey->effective;
	double error = share > 0 ? hp_cpu_share_error(share, n, survey->missed) : 0;

	cell->text[0] = 0;
	if (share > 0 && error > hp_cpu_share_error(share, n, 0))
		snprintf(cell->text, sizeof(cell->text), ", accurate to %.0f points",
			 ceil(100 * error));
	return cell->text;
}

const char *hp_survey_share(const struct hp_survey *survey, double sample_ns,
			    struct hp_text_cell *cell)
{
	struct hp_text_cell accuracy;

	snprintf(cell->text, sizeof(cell->text), "%.0f%%%.40s", 100 * share_at(survey, sample_ns),
		 hp_survey_accuracy(survey, sample_ns, &accuracy));
	return cell->text;
}

bool hp_survey_is_worth(const struct hp_survey *survey, double gain_ns)
{
	return gain_ns >= HP_GAIN_MIN * survey->wall_ns && gain_ns >= HP_GAIN_MIN_NS;
}

bool hp_survey_has_samples(const struct hp_survey *survey)
{
	return survey->samples >= HP_RULE_SAMPLES;
}

double hp_survey_blocked(const struct hp_survey *survey, const char *on)
{
	double ns = 0;

	for (size_t i = 0; i < survey->stall_count; i++)
		if (strcmp(survey->stalls[i].on, on) == 0)
			ns += (double)survey->stalls[i].ns;
	return ns;
}

double hp_survey_cpu_of(const struct hp_survey *survey, uint32_t function)
{
	const struct hp_cost *cost = hp_survey_cost(survey, function);

	return cost ? (double)cost->ns : 0;
}

const struct hp_cost *hp_survey_cost(const struct hp_survey *survey, uint32_t function)
{
	for (size_t i = 0; i < survey->cost_count; i++)
		if (survey->costs[i].function == function)
			return &survey->costs[i];
	return NULL;
}

char *hp_survey_row(const struct hp_survey *survey, uint32_t function)
{
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);

	return hp_xstrdup(hp_cpu_name(survey->report, &cpu->functions[function]));
}
