/* SPDX-License-Identifier: MIT */
/*
 * reserves_again.c - a container's exact size is reserved again and again, so each time it moves
 * all of its elements into a new block, instead of doubling its room now and then.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.2 /* of the CPU time */
#define WHOLE_MIN 0.6 /* of the function: the fix removes all of its work */
#define MOVES_MIN 0.5 /* of the time in reserve: elements are there already */

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), of_end = strlen(end);

	return length >= of_end && strcmp(name + length - of_end, end) == 0;
}

/* The elements move; where there are none yet, the allocator has nearly all of the time. */
static bool is_move(const struct hp_owned_call *call)
{
	return (ends_with(call->callee, "::reserve") ||
		ends_with(call->callee, "::shrink_to_fit")) &&
	       !(call->marks & HP_SIGN_BIT(HP_SIGN_ALLOC));
}

static bool is_reserve(const struct hp_owned_call *call)
{
	return ends_with(call->callee, "::reserve") || ends_with(call->callee, "::shrink_to_fit");
}

static void find(struct hp_survey *survey)
{
	struct hp_text_cell time, share;
	struct hp_owned most;
	double moves, gain;
	char *where;

	if (!hp_survey_has_samples(survey))
		return;
	most = hp_owned_most(survey, is_move);
	moves = (double)most.ns;
	if (most.samples < HP_RULE_SAMPLES_OF || !hp_survey_is_part(survey, moves, CPU_MIN) ||
	    moves < MOVES_MIN * hp_owned_all(survey, is_reserve))
		return;
	gain = hp_survey_worth(survey, hp_owned_whole(survey, is_reserve, WHOLE_MIN));
	if (!hp_survey_is_worth(survey, gain))
		return;
	where = hp_owned_where(survey, most.function);
	hp_owned_finding(
		survey, &hp_rule_reserves_again, most.function,
		hp_xprintf("%s reserves exact room again and again, and each time all elements are "
			   "copied: reserve once, or let the container grow by itself.",
			   where),
		hp_xprintf("%s of CPU time (%s) in moving elements for reserve",
			   hp_format_time(&time, moves), hp_survey_share(survey, moves, &share)),
		gain, HP_LIKELY);
	free(where);
}

/* New blocks for the elements are a part of it. */
static const struct hp_rule_over over[] = { { "alloc-churn", false },  { "page-faults", true },
					    { "copies", true },	       { "moves-elements", true },
					    { "copies-values", true }, { NULL, false } };

const struct hp_rule hp_rule_reserves_again = {
	.key = "reserves-again",
	.find = find,
	.over = over,
	.pattern =
		"At least 20% of the CPU time is spent in reserve or shrink_to_fit of a container, for "
		"one function, and at least half of the time in these calls is for moving elements, "
		"not for allocating.  If that is 60% of the function, the gain is all of its CPU time.",
	.wrong = "The container is reserved once, and its elements are costly to move.",
	.verify = "Leave reserve out, and compare both with hotpath compare.",
};
