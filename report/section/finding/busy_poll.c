/* SPDX-License-Identifier: MIT */
/*
 * busy_poll.c - a function asks the kernel again and again whether something is ready, and hardly
 * ever waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1 /* of the CPU time */
#define FUNCTION_MIN 0.7 /* of the function's: a loop that serves peers reads and writes, too */
#define DATA_MAX 0.5 /* of that time, in all reads and writes: they hardly ever find something */
#define BLOCKED_MAX 0.25 /* of that time: it hardly waits */

/* Calls that can wait, but did not: with a timeout of 0. */
static bool is_poll(const struct hp_owned_call *call)
{
	static const char *const calls[] = { "poll",	    "ppoll",	    "select",
					     "pselect",	    "pselect6",	    "epoll_wait",
					     "epoll_pwait", "epoll_pwait2", NULL };

	const char *callee = call->callee;

	while (*callee == '_')
		callee++;
	return hp_name_is_one_of(call->entry, calls) || hp_name_is_one_of(callee, calls);
}

static double waited_ns(const struct hp_survey *survey, uint32_t function)
{
	double ns = 0;

	for (size_t i = 0; i < survey->stall_count; i++)
		if (survey->stalls[i].function == function)
			ns += (double)survey->stalls[i].ns;
	return ns;
}

/* A busy server asks as often, but then it reads and writes, perhaps in other functions. */
static double data_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_FILE] +
		      (double)survey->costs[i].marked_ns[HP_SIGN_SOCKET];
	return ns;
}

/*
 * With a spare core, a thread that asks delays nobody; without one, those that wait for a core.
 * The others' work remains, at best on all cores.
 */
static double gain_of(const struct hp_survey *survey, const struct hp_cost *cost)
{
	double asked_ns = (double)cost->ns + hp_survey_error(survey, (double)cost->ns);
	/* Our hooks of these calls ran, too. */
	double rest = (survey->ran_ns - asked_ns - (double)cost->hooks_ns) / survey->cores;
	double worth = hp_survey_worth_hooked(survey, (double)cost->ns, (double)cost->hooks_ns);

	if (survey->worked < 2)
		return 0;
	if (worth > survey->wall_ns - rest)
		worth = survey->wall_ns - rest;
	if ((!survey->is_full || survey->is_serial) && worth > survey->ready_ns)
		worth = survey->ready_ns;
	return hp_survey_is_worth(survey, worth) ? worth : 0;
}

static void find(struct hp_survey *survey)
{
	struct hp_owned most;
	struct hp_text_cell time, share;
	const struct hp_cost *cost;
	double ns, all, gain;
	char *where;

	if (!hp_survey_has_samples(survey))
		return;
	most = hp_owned_most(survey, is_poll);
	ns = (double)most.ns;
	cost = most.function == HP_NONE ? NULL : hp_survey_cost(survey, most.function);
	all = cost ? (double)cost->ns : 0;
	if (!cost || most.samples < HP_RULE_SAMPLES_OF || !hp_survey_is_part(survey, ns, CPU_MIN) ||
	    ns < FUNCTION_MIN * all || data_ns(survey) > DATA_MAX * ns ||
	    waited_ns(survey, most.function) > BLOCKED_MAX * ns)
		return;
	gain = gain_of(survey, cost);
	where = hp_owned_where(survey, most.function);
	hp_owned_finding(
		survey, &hp_rule_busy_poll, most.function,
		hp_xprintf("%s asks again and again whether something is ready, instead of waiting "
			   "for it: give its poll, select or epoll_wait a longer timeout than 0. "
			   "If it has one, it watches something that is always ready.",
			   where),
		hp_xprintf("%s of CPU time (%s) in these calls, which hardly wait",
			   hp_format_time(&time, ns), hp_survey_share(survey, ns, &share)),
		gain, HP_LIKELY);
	free(where);
}

static const struct hp_rule_over over[] = { { "busy-wait", true },
					    { "oversubscribed", false },
					    { NULL, false } };

const struct hp_rule hp_rule_busy_poll = {
	.key = "busy-poll",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of the CPU time, and 70% of a function's, is spent in poll, select, "
		"epoll_wait and similar calls; the function waits for at most a quarter of that time, and "
		"all reads and writes take at most half of it.  The gain is all CPU time of the function; where not all cores are in use, at most "
		"the time that threads waited for a core; and none with one thread.",
	.wrong = "The program must react faster than a sleeping thread can.",
	.verify =
		"See the timeouts with strace.  Wait without one, and compare the CPU time of both "
		"with hotpath compare.",
};
