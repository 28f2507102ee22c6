/* SPDX-License-Identifier: MIT */
/*
 * delayed_ack.c - each answer over a socket takes about 40 ms, the time after which Linux
 * acknowledges data at the latest.
 *
 * A program that sends a message in two parts waits with the second one until the first is
 * acknowledged (Nagle's algorithm), and the peer delays that, as it has nothing to send yet.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define WAITS_MIN 20
#define WAIT_MIN 38e6 /* ns, on average */
#define WAIT_MAX 52e6
#define WALL_MIN 0.3 /* of the wall time */
#define RAN_MAX 0.1 /* of the wall time: nobody computes the answer */
#define SLEPT_MAX 0.1 /* of the wall time: or sleeps before it */

static const struct hp_stall *most_of(const struct hp_survey *survey)
{
	const struct hp_stall *most = NULL;

	for (size_t i = 0; i < survey->stall_count; i++) {
		const struct hp_stall *stall = &survey->stalls[i];
		double each = stall->waits ? (double)stall->ns / (double)stall->waits : 0;

		if (strcmp(stall->on, "socket") == 0 && stall->waits >= WAITS_MIN &&
		    each >= WAIT_MIN && each <= WAIT_MAX &&
		    hp_owner_is_named(survey->report, stall->function) &&
		    (!most || stall->ns > most->ns))
			most = stall;
	}
	return most;
}

static void find(struct hp_survey *survey)
{
	const struct hp_stall *stall = most_of(survey);
	struct hp_finding *finding;
	struct hp_text_cell waits, each, all;
	double gain;
	const char *mark;
	char *where;

	if (!stall || survey->ran_ns > RAN_MAX * survey->wall_ns ||
	    hp_survey_blocked(survey, "sleep") > SLEPT_MAX * survey->wall_ns)
		return;
	gain = (double)stall->ns < survey->wall_ns ? (double)stall->ns : survey->wall_ns;
	if (gain < WALL_MIN * survey->wall_ns || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_delayed_ack, stall->function);
	where = hp_finding_where(finding);
	mark = hp_stall_mark(stall);
	finding->advice =
		hp_xprintf("%s waits about 40 ms each time, like TCP with Nagle's "
			   "algorithm and delayed acknowledgements: send each message with "
			   "one call (writev), or set TCP_NODELAY.",
			   where);
	finding->facts = hp_xprintf("%s%s waits for a socket, %s%s each on average, %s%s added up "
				    "over all threads",
				    mark, hp_format_count(&waits, stall->waits), mark,
				    hp_format_time(&each, (double)stall->ns / (double)stall->waits),
				    mark, hp_format_time(&all, (double)stall->ns));
	finding->gain_ns = gain;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_offcpu_section, hp_survey_row(survey, stall->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_delayed_ack = {
	.key = "delayed-ack",
	.find = find,
	.pattern =
		"A function waits for a socket at least 20 times, for 38 to 52 ms on average and for "
		"at least 30% of the wall time, while the process hardly computes or sleeps.  The gain "
		"is that time.",
	.wrong =
		"The peer, in another process, needs that long for an answer; or it is no TCP socket.",
	.verify =
		"See with strace whether a message is sent with several calls.  Send it with one, "
		"or set TCP_NODELAY, and compare both with hotpath compare.",
};
