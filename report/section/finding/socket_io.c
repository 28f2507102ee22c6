/* SPDX-License-Identifier: MIT */
/*
 * socket_io.c - small messages on sockets, one call for each.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.5 /* of the CPU time, below calls on sockets */
#define KERNEL_MIN 0.3 /* of the function */
#define WHOLE_MIN 0.6 /* of a function: it does little else */
#define BUSY_MIN 0.7 /* of the wall time, of all threads together; or ready for a processor */
#define DATA_MAX 0.3 /* of the calls: data are copied */

/* Over all functions: client and server may both be in this run. */
static double sockets_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_SOCKET];
	return ns;
}

/* And the rest of functions that do little else. */
static double whole_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++) {
		double marked = (double)survey->costs[i].marked_ns[HP_SIGN_SOCKET];
		double all = (double)survey->costs[i].ns;

		ns += marked >= WHOLE_MIN * all ? all : marked;
	}
	return ns;
}

/*
 * If this run's processors are busy most of the time, it does not wait for a remote peer: with
 * fewer calls there are fewer switches between both sides, and the other work remains.
 */
static double gain_of(const struct hp_survey *survey, double ns)
{
	double others = survey->cpu_ns - whole_ns(survey);

	if (survey->ran_ns + survey->ready_ns >= BUSY_MIN * survey->wall_ns &&
	    others < survey->wall_ns)
		return survey->wall_ns - others;
	return hp_survey_worth(survey, ns);
}

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_SOCKET);
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	double ns, gain;
	char *where;

	if (!most)
		return;
	ns = sockets_ns(survey);
	gain = gain_of(survey, ns);
	if (!hp_survey_is_part(survey, ns, CPU_MIN) ||
	    (double)most->marked_ns[HP_SIGN_SOCKET] < KERNEL_MIN * (double)most->ns ||
	    (double)most->marked_ns[HP_SIGN_DATA] >= DATA_MAX * ns ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_socket_io, most->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s sends or receives little with each call: send several "
				     "messages at once.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) in calls on sockets",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, most->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_socket_io = {
	.key = "socket-io",
	.find = find,
	.pattern = "At least half of the CPU time is spent in calls on sockets, less than 30% of "
		   "that on copying data. The finding names the function with the largest share.",
	.wrong = "The peer needs each message at once, or sends them one by one.",
	.verify = "Send several messages with one call (a buffer, writev, pipelining), and compare "
		  "both with hotpath compare.",
};
