/* SPDX-License-Identifier: MIT */
/*
 * owned.c - see owned.h.
 */
#include "report/section/finding/owned.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"

/* A function's name; many stacks share it. */
static char *callee_name(struct hp_survey *survey, char **names, uint32_t function)
{
	if (function == HP_NONE)
		return hp_xstrdup("");
	if (!names[function])
		names[function] = hp_answer_function(survey->report, function);
	return hp_xstrdup(names[function]);
}

static bool is_judged(const struct hp_survey *survey, const struct hp_owner *owner, uint32_t stack)
{
	const struct hp_model_stack *samples = &survey->report->model.sampling.stacks[stack];

	return samples->samples && !samples->is_profiler && owner->function != HP_NONE &&
	       (owner->callee != HP_NONE || owner->entry != HP_NONE);
}

/* What each stack's function calls. Half a dozen rules need it, so it is made once. */
static void calls_make(struct hp_survey *survey, const struct hp_owners *owners)
{
	size_t count = hp_report_cpu(survey->report)->function_count;
	char **names = hp_xcalloc(count + 1, sizeof(*names));

	survey->calls = hp_xcalloc(owners->count + 1, sizeof(*survey->calls));
	for (uint32_t i = 1; i < owners->count; i++) {
		const struct hp_owner *owner = &owners->of_stack[i];

		if (!is_judged(survey, owner, i))
			continue;
		survey->calls[i] = (struct hp_owned_call){
			.callee = callee_name(survey, names, owner->callee),
			.entry = owner->entry == HP_NONE
					 ? hp_xstrdup("")
					 : hp_owner_entry_text(survey->report, owner->entry),
			.marks = survey->stack_marks[i]
		};
	}
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

void hp_owned_release(struct hp_survey *survey)
{
	size_t count = survey->calls ? hp_owners_of(survey->report)->count : 0;

	for (size_t i = 0; i < count; i++) {
		free(survey->calls[i].callee);
		free(survey->calls[i].entry);
	}
	free(survey->calls);
}

/* The test's verdict of each stack; fresh. */
static bool *verdicts_make(struct hp_survey *survey, hp_owned_test *is_it)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *verdicts = hp_xcalloc(owners->count + 1, sizeof(bool));

	if (!survey->stack_marks)
		return verdicts;
	if (!survey->calls)
		calls_make(survey, owners);
	for (uint32_t i = 1; i < owners->count; i++)
		verdicts[i] = survey->calls[i].callee && is_it(&survey->calls[i]);
	return verdicts;
}

struct hp_owned hp_owned_most(struct hp_survey *survey, hp_owned_test *is_it)
{
	struct hp_owned most = { .function = HP_NONE, .callee = HP_NONE };
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(survey->report);
	struct hp_owned *sums = hp_xcalloc(survey->cost_count + 1, sizeof(*sums));
	bool *verdicts = verdicts_make(survey, is_it);
	uint64_t of_callee = 0;

	for (uint32_t i = 1; i < owners->count; i++)
		for (size_t at = 0; verdicts[i] && at < survey->cost_count; at++)
			if (survey->costs[at].function == owners->of_stack[i].function) {
				sums[at].ns += sampling->stacks[i].cpu_ns;
				sums[at].samples += sampling->stacks[i].samples;
			}
	for (size_t at = 0; at < survey->cost_count; at++)
		if (sums[at].ns > most.ns && hp_cost_is_named(survey, &survey->costs[at])) {
			most = sums[at];
			most.function = survey->costs[at].function;
		}
	most.callee = HP_NONE;
	for (uint32_t i = 1; i < owners->count; i++)
		if (verdicts[i] && owners->of_stack[i].function == most.function &&
		    sampling->stacks[i].cpu_ns >= of_callee) {
			of_callee = sampling->stacks[i].cpu_ns;
			most.callee = owners->of_stack[i].callee;
		}
	free(verdicts);
	free(sums);
	return most;
}

double hp_owned_all(struct hp_survey *survey, hp_owned_test *is_it)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *verdicts = verdicts_make(survey, is_it);
	double ns = 0;

	for (uint32_t i = 1; i < owners->count; i++)
		ns += verdicts[i] ? (double)survey->report->model.sampling.stacks[i].cpu_ns : 0;
	free(verdicts);
	return ns;
}

uint64_t hp_owned_pieces(struct hp_survey *survey, hp_owned_test *is_it, uint32_t function)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *verdicts = verdicts_make(survey, is_it);
	uint64_t pieces;

	for (uint32_t i = 1; i < owners->count; i++)
		verdicts[i] &= owners->of_stack[i].function == function;
	pieces = hp_again_count(survey, verdicts);
	free(verdicts);
	return pieces;
}

double hp_owned_whole(struct hp_survey *survey, hp_owned_test *is_it, double share)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *verdicts = verdicts_make(survey, is_it);
	double sum = 0;

	for (size_t at = 0; at < survey->cost_count; at++) {
		double all = (double)survey->costs[at].ns, ns = 0;

		for (uint32_t i = 1; i < owners->count; i++)
			if (verdicts[i] &&
			    owners->of_stack[i].function == survey->costs[at].function)
				ns += (double)survey->report->model.sampling.stacks[i].cpu_ns;
		sum += ns >= share * all ? all : ns;
	}
	free(verdicts);
	return sum;
}

void hp_owned_finding(struct hp_survey *survey, const struct hp_rule *rule, uint32_t function,
		      char *advice, char *facts, double gain, enum hp_confidence confidence)
{
	struct hp_finding *finding = hp_finding_add_function(survey, rule, function);

	finding->advice = advice;
	finding->facts = facts;
	finding->gain_ns = gain;
	finding->confidence = confidence;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, function),
			    hp_xstrdup(facts));
}

char *hp_owned_where(struct hp_survey *survey, uint32_t function)
{
	char *name = hp_answer_function(survey->report, function), *where;
	struct hp_finding place = { .subject = name };

	hp_survey_line(survey, function, &place.file, &place.line);
	where = hp_finding_where(&place);
	free(name);
	return where;
}

bool hp_name_is_one_of(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(name, *words) == 0)
			return true;
	return false;
}
