/* SPDX-License-Identifier: MIT */
/*
 * alloc_churn.c - blocks are allocated and freed so often that it takes a significant part of the
 * time.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/site.h"

#define GAIN_MIN 0.1 /* of the wall time: most programs allocate */
#define CPU_MIN 0.08 /* of the CPU time, in the allocator */
#define PATH_MIN 0.2 /* of all blocks */
#define BLOCKS_MIN 10000
#define WHOLE_MIN 0.6 /* of a function: it does little else */
#define SHORT_MIN 0.5 /* of the blocks: they do not live long, */
#define SHORT_LIFE 0.01 /* of the wall time */
#define BLOCK_NS 20 /* that a block takes at least */

/* CPU time in the allocator. */
static double allocator_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_ALLOC];
	return ns;
}

/* If a function does little else, all of its time. */
static double built_ns(const struct hp_cost *cost)
{
	double ns = (double)cost->marked_ns[HP_SIGN_BUILD];

	return ns >= WHOLE_MIN * (double)cost->ns ? (double)cost->ns : ns;
}

/* Includes allocating functions of the C++ library: making a string also copies it. */
static double around_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += built_ns(&survey->costs[i]);
	return ns;
}

static double hooks_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].hooks_ns;
	return ns;
}

static double smaller(double a, double b)
{
	return a < b ? a : b;
}

/*
 * The function's share of the time around the allocator, or the least that its blocks take.
 * Never more than the threads had: without these blocks, all other work remains.
 */
static double gain_of(const struct hp_survey *survey, double around, double share, uint64_t blocks)
{
	double gain = hp_survey_worth_hooked(survey, around * share, hooks_ns(survey) * share);

	if (gain < BLOCK_NS * (double)blocks)
		gain = BLOCK_NS * (double)blocks;
	return smaller(gain, smaller(survey->ran_ns + survey->ready_ns, survey->wall_ns));
}

/* Each long-lived block is needed. */
static bool are_short(struct hp_survey *survey, struct hp_alloc_row *row, uint64_t blocks)
{
	return hp_site_function_short(survey, row, SHORT_LIFE * survey->wall_ns) >=
	       SHORT_MIN * (double)blocks;
}

/*
 * The class whose constructor allocates, by the subject "f file.cc:9 (regex::regex) ← main"; NULL =
 * something else does. Fresh.
 */
static char *built_class(const char *subject)
{
	const char *callee = strstr(subject, " ("), *end = callee ? strchr(callee, ')') : NULL;
	const char *own = NULL, *outer;
	size_t length;

	if (!end)
		return NULL;
	callee += 2;
	outer = callee;
	for (const char *at = callee; at + 1 < end; at++)
		if (at[0] == ':' && at[1] == ':') {
			outer = own ? own : callee;
			own = at + 2;
		}
	if (!own)
		return NULL;
	length = (size_t)(end - own);
	if (length == strlen("basic_string") && strncmp(own, "basic_string", length) == 0)
		return hp_xstrdup("string");
	return (size_t)(own - outer) == length + 2 && strncmp(own, outer, length) == 0
		       ? hp_xprintf("%.*s", (int)length, own)
		       : NULL;
}

static char *advice_of(const char *subject)
{
	char *built = built_class(subject), *advice;

	if (built)
		advice = hp_xprintf("%.*s builds a %s each time: build it once and keep it, or "
				    "pass a reference.",
				    (int)(strstr(subject, " (") - subject), subject, built);
	else
		advice = hp_xprintf("Allocate less often: %s.  Reuse a block, or reserve once.",
				    subject);
	free(built);
	return advice;
}

static void find(struct hp_survey *survey)
{
	const struct hp_alloc_sum *sum;
	struct hp_alloc_row *row = hp_site_most(survey, HP_SITE_BLOCKS, &sum);
	double allocator = allocator_ns(survey), all, gain, share;
	struct hp_finding *finding;
	struct hp_text_cell count, every, time, cpu;
	uint64_t blocks;

	if (!row || !hp_site_is_named(survey, row) || !hp_survey_has_samples(survey) ||
	    sum->count < BLOCKS_MIN || !hp_survey_is_part(survey, allocator, CPU_MIN))
		return;
	blocks = hp_site_function_blocks(survey, row);
	share = (double)blocks / (double)survey->answer->heap_blocks;
	all = around_ns(survey) > allocator ? around_ns(survey) : allocator;
	gain = gain_of(survey, all, share, blocks);
	if (share < PATH_MIN || gain < GAIN_MIN * survey->wall_ns ||
	    !hp_survey_is_worth(survey, gain) || !are_short(survey, row, blocks))
		return;
	finding = hp_finding_add(survey, &hp_rule_alloc_churn, hp_site_name(survey, row));
	finding->advice = advice_of(finding->subject);
	finding->facts =
		hp_xprintf("%s of %s blocks; the allocator takes %s of %s CPU time",
			   hp_format_count(&count, blocks),
			   hp_format_count(&every, survey->answer->heap_blocks),
			   hp_format_time(&time, allocator), hp_format_time(&cpu, survey->cpu_ns));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_alloc_sites_section, hp_site_row(survey, row),
			    hp_xstrdup(finding->facts));
}

const struct hp_rule hp_rule_alloc_churn = {
	.key = "alloc-churn",
	.find = find,
	.pattern =
		"At least 8% of the CPU time is spent in the allocator, one function makes at "
		"least 20% of all blocks, one of its call paths at least 10,000, and half of them or "
		"more live for less than 1% of the wall time; the gain is at least 10%.  It is the function's share of the CPU time of the allocator, and of the functions of "
		"C++'s library that called it, except a map's search (where that is 60% of a "
		"function, of all of it); at least 20 ns a block.  A leak of the same function "
		"comes first.",
	.wrong = "The blocks live long, and each is needed.",
	.verify = "Reuse one buffer, reserve room once, or pass references, and compare both with "
		  "hotpath compare, which counts blocks exactly.",
};
