/* SPDX-License-Identifier: MIT */
/*
 * connect_per_item.c - a connection is made for each item.
 *
 * Addresses are not recorded, so whether it is the same peer each time is unknown.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1 /* of the CPU time: connect */
#define FUNCTION_MIN 0.1 /* of the function's */
#define WHOLE_MIN 0.6 /* of a function: it does little else */

static uint64_t sockets_of(const struct hp_cost *cost)
{
	return cost->marked_ns[HP_SIGN_SOCKET] + cost->marked_ns[HP_SIGN_CONNECT] +
	       cost->marked_ns[HP_SIGN_CLOSE];
}

/* CPU time of functions that do something else: it remains. */
static double others_ns(const struct hp_survey *survey, const struct hp_cost *most)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++) {
		const struct hp_cost *cost = &survey->costs[i];
		double marked = (double)sockets_of(cost), all = (double)cost->ns;

		if (cost != most && marked < WHOLE_MIN * all)
			ns += all - marked;
	}
	return ns;
}

/* The connecting function waits for its peer. */
static double waits_ns(const struct hp_survey *survey, uint32_t function)
{
	double ns = 0;

	for (size_t i = 0; i < survey->stall_count; i++)
		if (survey->stalls[i].function == function && !survey->stalls[i].is_join)
			ns += (double)survey->stalls[i].ns;
	return ns;
}

/* The peer works for each connection, too, and both wait for each other: that is not counted. */
static double gain_of(const struct hp_survey *survey, const struct hp_cost *most)
{
	double own = hp_survey_worth(survey, (double)most->ns) + waits_ns(survey, most->function);
	double rest = survey->wall_ns - hp_survey_least(survey, others_ns(survey, most));

	if (!survey->has_programs && rest > own)
		return rest;
	return own < survey->wall_ns ? own : survey->wall_ns;
}

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_CONNECT);
	double ns = most ? (double)most->marked_ns[HP_SIGN_CONNECT] : 0, gain;
	struct hp_finding *finding;
	struct hp_text_cell time, count, share;
	uint64_t pieces;
	char *where;

	if (!most || !hp_survey_is_part(survey, ns, CPU_MIN) ||
	    ns < FUNCTION_MIN * (double)most->ns)
		return;
	gain = gain_of(survey, most);
	pieces = hp_again_marked(survey, most->function, HP_SIGN_BIT(HP_SIGN_CONNECT));
	if (pieces < HP_AGAIN_MIN || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_connect_per_item, most->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s makes a connection for each item: if it is to the same "
				     "peer, keep it open.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) in connect; the samples show at least "
				    "%s separate times",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share),
				    hp_format_count(&count, pieces));
	finding->gain_ns = gain;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, most->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

static const struct hp_rule_over over[] = { { "socket-io", false },
					    { "small-io", true },
					    { NULL, false } };

const struct hp_rule hp_rule_connect_per_item = {
	.key = "connect-per-item",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of all CPU time, and of the function's own, is spent in connect; samples "
		"of other work between them show at least 5 separate calls.  The gain is the "
		"function's CPU time and its waits; if the peer is in the same process, everything but the "
		"CPU time of functions that do not mainly use sockets.",
	.wrong = "The peers differ: their addresses are not recorded.",
	.verify = "Count the calls and look at the addresses: strace -f -e trace=connect.  Keep "
		  "connections open in a pool, and compare both with hotpath compare.",
};
