/* SPDX-License-Identifier: MIT */
/*
 * recursion.c - a function that calls itself very often, and may do the same work again.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/name/source.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CALLS_MIN 1000000
#define SHARE_MIN 0.15	/* of the wall time */
#define DEPTH_MIN 8

/* Its samples; NULL = none. */
static const struct hp_cost *cost_of(const struct hp_survey *survey, uint32_t function)
{
	if (!survey->cost_count)
		return NULL;
	for (size_t i = 0; i < survey->cost_count; i++)
		if (hp_report_cpu(survey->report)
			    ->functions[survey->costs[i].function]
			    .instrumented == function)
			return &survey->costs[i];
	return NULL;
}

/* Calls that are avoided cost neither their time nor that of the hooks, which the other figures
 * exclude. */
static double gain_of(const struct hp_survey *survey, const struct hp_model_function *f)
{
	const struct hp_model *model = &survey->report->model;
	double calls = 0, gain;

	for (size_t i = 0; i < model->function_count; i++)
		calls += (double)model->functions[i].calls;
	gain = f->total_ns + (double)model->overhead_ns * (double)f->calls / calls;
	return gain < survey->wall_ns ? gain : survey->wall_ns;
}

static void finding_add(struct hp_survey *survey, const struct hp_model_function *f,
			const struct hp_cost *cost, double gain)
{
	struct hp_report *report = survey->report;
	struct hp_finding *finding = hp_finding_add(
		survey, &hp_rule_recursion, hp_answer_name(report, hp_report_name(report, f)));
	struct hp_source source;
	struct hp_text_cell calls, time;
	char *where;

	if (hp_report_source(report, f, &source)) {
		finding->file = source.file;
		finding->line = source.line;
	}
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf(
		"%s calls itself very often: if arguments repeat, cache the results.", where);
	finding->facts = hp_xprintf("%s calls, %s in all", hp_format_count(&calls, f->calls),
				    hp_format_time(&time, f->total_ns));
	if (cost && hp_survey_has_samples(survey)) {
		char *more = hp_xprintf("%s; half of the samples at least %u deep", finding->facts,
					cost->depth);

		free(finding->facts);
		finding->facts = more;
	}
	finding->gain_ns = gain;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_functions_section, hp_xstrdup(hp_report_name(report, f)),
			    hp_xstrdup(finding->facts));
	free(where);
}

/* Calls are counted and timed without samples; if there are samples, they must agree. */
static void find(struct hp_survey *survey)
{
	const struct hp_model *model = &survey->report->model;

	for (uint32_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];
		const struct hp_cost *cost;
		double gain;

		if (!f->is_recursive || f->calls < CALLS_MIN ||
		    f->self_ns < SHARE_MIN * survey->wall_ns)
			continue;
		cost = cost_of(survey, i);
		gain = gain_of(survey, f);
		if ((hp_survey_has_samples(survey) && (!cost || cost->depth < DEPTH_MIN)) ||
		    !hp_survey_is_worth(survey, gain))
			continue;
		finding_add(survey, f, cost, gain);
	}
}

const struct hp_rule hp_rule_recursion = {
	.key = "recursion",
	.find = find,
	.pattern =
		"A function that calls itself has at least a million calls (counted only if the "
		"program is compiled for it), spends at least 15% of the wall time in its own "
		"code, and is on the stack at least 8 times in half of its samples, if there are "
		"50 or more.",
	.wrong = "Each call has different arguments: a tree walk has the same pattern.",
	.verify = "Count how many different arguments there are.",
};
