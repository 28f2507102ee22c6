/* SPDX-License-Identifier: MIT */
/*
 * pattern.c - see pattern.h.
 */
#include "report/section/finding/pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"

#define WHOLE_MIN 0.6 /* of a function: the fix removes all of its work */

bool hp_cost_is_named(const struct hp_survey *survey, const struct hp_cost *cost)
{
	return hp_owner_is_named(survey->report, cost->function);
}

/* A word of a name: "wait_for", "busyWait" and "spin" have one, "await" and "spinner" have none. */
static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = name; (at = strcasestr(at, word)) != NULL; at++) {
		bool begins = at == name || !isalpha((unsigned char)at[-1]) ||
			      (isupper((unsigned char)at[0]) && islower((unsigned char)at[-1]));
		char next = at[length];

		if (begins && (!isalpha((unsigned char)next) || isupper((unsigned char)next)))
			return true;
	}
	return false;
}

bool hp_name_has_word(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (has_word(name, *words))
			return true;
	return false;
}

bool hp_cost_has_word(struct hp_survey *survey, const struct hp_cost *cost,
		      const char *const *words)
{
	char *name = hp_answer_function(survey->report, cost->function);
	bool has = hp_name_has_word(name, words);

	free(name);
	return has;
}

static const struct hp_cost *most_of(const struct hp_survey *survey, enum hp_sign mark)
{
	const struct hp_cost *most = NULL;

	for (size_t i = 0; i < survey->cost_count; i++)
		if (!most || survey->costs[i].marked_ns[mark] > most->marked_ns[mark])
			most = &survey->costs[i];
	return most;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

const struct hp_cost *hp_cost_most(const struct hp_survey *survey, enum hp_sign mark)
{
	const struct hp_cost *most = most_of(survey, mark);

	return most && hp_survey_has_samples(survey) && hp_cost_is_named(survey, most) &&
			       most->marked_samples[mark] >= HP_RULE_SAMPLES_OF
		       ? most
		       : NULL;
}

void hp_pattern_find(struct hp_survey *survey, const struct hp_pattern *pattern)
{
	const struct hp_cost *cost = hp_cost_most(survey, pattern->mark);
	double marked, all, gain;
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	char *where;

	if (!cost)
		return;
	marked = (double)cost->marked_ns[pattern->mark];
	all = larger((double)cost->ns, marked);
	gain = hp_survey_worth_hooked(survey, marked >= WHOLE_MIN * all ? all : marked,
				      (double)cost->hooks_ns);
	if (!hp_survey_is_part(survey, marked, pattern->of_cpu) ||
	    marked < pattern->of_function * all || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, pattern->rule, cost->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s %s", where, pattern->advice);
	finding->gain_ns = gain;
	finding->confidence = pattern->confidence;
	finding->facts = hp_xprintf("%s of CPU time (%s) %s", hp_format_time(&time, marked),
				    hp_survey_share(survey, marked, &share), pattern->what);
	hp_finding_evidence(
		finding, &hp_cpu_section,
		hp_xstrdup(hp_cpu_name(survey->report,
				       &hp_report_cpu(survey->report)->functions[cost->function])),
		hp_xstrdup(finding->facts));
	free(where);
}
