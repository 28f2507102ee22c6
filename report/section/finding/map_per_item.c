/* SPDX-License-Identifier: MIT */
/*
 * map_per_item.c - a file, or memory, is mapped and unmapped again for each item.
 *
 * Each time, the kernel sets up a mapping, fills it page by page, and clears the processor's
 * memory of it.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/again.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.25 /* of the CPU time, in both calls */
#define PART_MIN 0.03 /* of it, in each of them */
#define OPENED_MAX 0.15 /* of that time, to open files: each of them is mapped once */
#define WHOLE_MIN 0.6 /* of a function: the fix removes nearly all of its work */

/* Called by the program itself: an allocator that maps large blocks has rules of its own. */
static bool is_by_program(const char *callee, const char *call)
{
	while (*callee == '_')
		callee++;
	return !*callee || strncmp(callee, call, strlen(call)) == 0;
}

static bool is_map(const struct hp_owned_call *call)
{
	return strncmp(call->entry, "mmap", 4) == 0 && is_by_program(call->callee, "mmap");
}

static bool is_unmap(const struct hp_owned_call *call)
{
	return strcmp(call->entry, "munmap") == 0 && is_by_program(call->callee, "munmap");
}

static bool is_either(const struct hp_owned_call *call)
{
	return is_map(call) || is_unmap(call);
}

static bool is_part(const struct hp_owned_call *call)
{
	return is_either(call) || (!*call->callee && strcmp(call->entry, "page faults") == 0);
}

static double opened_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_OPEN];
	return ns;
}

static void find(struct hp_survey *survey)
{
	double maps, unmaps, gain;
	struct hp_text_cell time, share;
	struct hp_owned most;
	char *where;

	if (!hp_survey_has_samples(survey))
		return;
	maps = hp_owned_all(survey, is_map);
	unmaps = hp_owned_all(survey, is_unmap);
	if (maps < PART_MIN * survey->cpu_ns || unmaps < PART_MIN * survey->cpu_ns ||
	    !hp_survey_is_part(survey, maps + unmaps, CPU_MIN) ||
	    opened_ns(survey) > OPENED_MAX * (maps + unmaps))
		return;
	most = hp_owned_most(survey, is_map);
	gain = hp_survey_worth(survey, hp_owned_whole(survey, is_part, WHOLE_MIN));
	if (most.samples < HP_RULE_SAMPLES_OF || !hp_survey_is_worth(survey, gain) ||
	    hp_owned_pieces(survey, is_map, most.function) < HP_AGAIN_MIN)
		return;
	where = hp_owned_where(survey, most.function);
	hp_owned_finding(
		survey, &hp_rule_map_per_item, most.function,
		hp_xprintf("%s maps memory again and again, and unmaps it: map the file or the "
			   "memory once, and keep it.",
			   where),
		hp_xprintf("%s of CPU time (%s) in mmap and munmap",
			   hp_format_time(&time, maps + unmaps),
			   hp_survey_share(survey, maps + unmaps, &share)),
		gain, HP_LIKELY);
	free(where);
}

static const struct hp_rule_over over[] = { { "page-faults", false }, { NULL, false } };

const struct hp_rule hp_rule_map_per_item = {
	.key = "map-per-item",
	.find = find,
	.over = over,
	.pattern =
		"At least 25% of the CPU time is spent in mmap and munmap, called by the program itself, "
		"opening files takes less than 15% of that time, and samples show at least five pieces of "
		"it with other work between them.  The gain is "
		"that time with the page faults, and all of a function's if that is 60% of it.",
	.wrong = "The files differ, or all of them do not fit into the address space.",
	.verify = "Count the calls with strace -c.  Map the whole file once, and compare both with "
		  "hotpath compare.",
};
