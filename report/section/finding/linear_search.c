/* SPDX-License-Identifier: MIT */
/*
 * linear_search.c - a container is searched element by element.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/spots.h"

#define NAMED_MIN 0.75 /* of the CPU time, in a function that searches by its name */
#define COMPARE_MIN 0.25 /* of its time, in comparisons: a search whose name does not show it */
#define LINES_MAX \
	3 /* of the source: a loop and its condition; a hash or a binary search has more */
#define LINE_MIN 0.04 /* of the function's CPU time, for a line that counts */
/* The same where a function compares: a binary search spends little time around each call. */
#define COMPARED_LINES_MAX 2
#define COMPARED_LINE_MIN 0.01
#define HELPER_MAX 0.03 /* of it, in the program's functions that it calls: one computes a hash */
#define LISTED_MAX 64 /* lines */
#define LOOP_MIN 0.5 /* of the CPU time, in a loop whose machine code searches */
#define WHOLE_MIN 0.6 /* of the function: the fix removes nearly all of its work */
#define EACH_MIN 500.0 /* ns of a call, where calls are counted: shorter ones are ignored */

/* --- by the name of the program's own function --- */

/* Its own loop, and the comparisons that it calls. */
static double searched_ns(const struct hp_cost *cost)
{
	return (double)cost->leaf_ns + (double)cost->marked_ns[HP_SIGN_COMPARE];
}

/* Where the calls are counted, they show whether each one takes long. */
static bool is_long(const struct hp_survey *survey, const struct hp_cost *cost)
{
	uint32_t place = hp_report_cpu(survey->report)->functions[cost->function].instrumented;
	const struct hp_model_function *f =
		place == HP_NONE ? NULL : &survey->report->model.functions[place];

	return !f || !f->calls || searched_ns(cost) / (double)f->calls >= EACH_MIN;
}

static bool is_comparing(const struct hp_cost *cost)
{
	return (double)cost->marked_ns[HP_SIGN_COMPARE] >= COMPARE_MIN * (double)cost->ns;
}

/* Lines of the source that take a part of its time; 0 = not known. */
static size_t line_count(struct hp_survey *survey, const struct hp_cost *cost)
{
	double least = is_comparing(cost) ? COMPARED_LINE_MIN : LINE_MIN;
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);
	const struct hp_owners *owners = hp_owners_of(survey->report);
	struct {
		int line;
		uint64_t ns;
	} lines[LISTED_MAX];
	size_t listed = 0, count = 0, at;

	for (size_t i = 1; i < owners->count; i++) {
		const struct hp_model_stack *stack = &survey->report->model.sampling.stacks[i];
		int line = owners->of_stack[i].function == cost->function && !stack->is_profiler
				   ? cpu->frames[owners->of_stack[i].frame].line
				   : 0;

		if (line <= 0)
			continue;
		for (at = 0; at < listed && lines[at].line != line;)
			at++;
		if (at == LISTED_MAX)
			return LISTED_MAX;
		if (at == listed) {
			lines[listed].line = line;
			lines[listed++].ns = 0;
		}
		lines[at].ns += stack->cpu_ns;
	}
	for (at = 0; at < listed; at++)
		count += (double)lines[at].ns >= least * (double)cost->ns;
	return count;
}

/*
 * What the program's own function on top of a stack was called by: also the function that it was
 * inlined into. HP_NONE = not known.
 */
static uint32_t caller_of(const struct hp_cpu *cpu, const struct hp_model_sampling *sampling,
			  uint32_t stack, uint32_t frame)
{
	bool is_found = false;

	for (; stack; stack = sampling->stacks[stack].parent) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];

		for (uint32_t i = place->first; i < place->first + place->count; i++) {
			if (is_found)
				return cpu->frames[i].function;
			is_found = i == frame;
		}
	}
	return HP_NONE;
}

/* Functions of the program that it calls, such as a hash; comparisons belong to any search. */
static double helpers_ns(struct hp_survey *survey, const struct hp_cost *cost)
{
	static const char *const compares[] = { "eq",	   "equal",   "equals", "same",	 "is",
						"matches", "compare", "cmp",	"match", NULL };
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);
	const struct hp_owners *owners = hp_owners_of(survey->report);
	double ns = 0;

	for (uint32_t i = 1; i < owners->count; i++) {
		const struct hp_owner *owner = &owners->of_stack[i];
		const struct hp_cost helper = { .function = owner->function };

		if (sampling->stacks[i].cpu_ns && !sampling->stacks[i].is_profiler &&
		    owner->function != HP_NONE && owner->function != cost->function &&
		    caller_of(cpu, sampling, i, owner->frame) == cost->function &&
		    !hp_cost_has_word(survey, &helper, compares))
			ns += (double)sampling->stacks[i].cpu_ns;
	}
	return ns;
}

static bool is_search(struct hp_survey *survey, const struct hp_cost *cost)
{
	static const char *const words[] = { "find",	"search", "lookup", "contains",
					     "indexof", "locate", NULL };
	static const char *const others[] = { "binary", "bsearch", "bin",   "hash",    "tree",
					      "trie",	"map",	   "best",  "match",   "path",
					      "paths",	"fast",	   "cmp",   "compare", "less",
					      "sort",	"sorted",  "order", "regex",   "dict",
					      "bucket", "bisect",  "lower", "upper",   NULL };

	return hp_cost_is_named(survey, cost) && cost->depth <= 1 &&
	       (double)cost->marked_ns[HP_SIGN_KEY] <= HELPER_MAX * (double)cost->ns &&
	       !hp_cost_has_word(survey, cost, others) &&
	       (hp_cost_has_word(survey, cost, words) ||
		(is_comparing(cost) && line_count(survey, cost) > 0));
}

static void named_find(struct hp_survey *survey)
{
	const struct hp_cost *cost = survey->cost_count ? &survey->costs[0] : NULL;
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	double ns, gain;
	char *where;

	if (!cost || !hp_survey_has_samples(survey) || cost->samples < HP_RULE_SAMPLES_OF)
		return;
	ns = searched_ns(cost);
	gain = hp_survey_worth(survey, ns >= WHOLE_MIN * (double)cost->ns ? (double)cost->ns : ns);
	if (!hp_survey_is_part(survey, ns, NAMED_MIN) || !hp_survey_is_worth(survey, gain) ||
	    !is_search(survey, cost) || !is_long(survey, cost) ||
	    line_count(survey, cost) > (is_comparing(cost) ? COMPARED_LINES_MAX : LINES_MAX) ||
	    helpers_ns(survey, cost) > HELPER_MAX * (double)cost->ns)
		return;
	finding = hp_finding_add_function(survey, &hp_rule_linear_search, cost->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s may search element by element: if so, use a hash map, or "
				     "keep the elements sorted.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) in its own code and in comparisons, "
				    "on few lines",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, cost->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

/* --- by its machine code --- */

static void loop_add(struct hp_survey *survey, const struct hp_spot *sum)
{
	double ns = (double)sum->ns, all = hp_survey_cpu_of(survey, sum->function);
	double gain = hp_survey_worth(survey, ns >= WHOLE_MIN * all ? all : ns);
	struct hp_text_cell time, share;
	char *where;

	if (!hp_survey_is_worth(survey, gain))
		return;
	where = hp_owned_where(survey, sum->function);
	hp_owned_finding(
		survey, &hp_rule_linear_search, sum->function,
		hp_xprintf("%s searches an array element by element: use a hash map, or keep the "
			   "elements sorted.",
			   where),
		hp_xprintf("%s of CPU time (%s) in a loop that compares elements until one is "
			   "found",
			   hp_format_time(&time, ns), hp_survey_share(survey, ns, &share)),
		gain, HP_LIKELY);
	free(where);
}

/* The hottest address is in a loop that compares elements, and little happens around it. */
static void loop_find(struct hp_survey *survey)
{
	const struct hp_model *model = &survey->report->model;
	struct hp_spots spots;
	struct hp_code_loop loop;
	struct hp_code code;

	if (!hp_survey_has_samples(survey))
		return;
	spots = hp_spots_make(survey);
	if (spots.count && hp_owner_is_named(survey->report, spots.list[0].function) &&
	    hp_code_read(&code, &model->objects[spots.list[0].object],
			 model->reader.header.created_unix_ns, spots.list[0].address) &&
	    hp_code_searches(&code, spots.list[0].address, &loop)) {
		struct hp_spot sum = hp_spots_sum(&spots, &spots.list[0], loop.begin, loop.end);

		if (sum.samples >= HP_RULE_SAMPLES_OF &&
		    hp_survey_is_part(survey, (double)sum.ns, LOOP_MIN) &&
		    hp_spots_are_alone(&spots, &sum, &loop))
			loop_add(survey, &sum);
	}
	free(spots.list);
}

/* --- by functions of libraries --- */

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_linear_search,
		.mark = HP_SIGN_FIND,
		.of_cpu = 0.1,
		.of_function = 0.1,
		.confidence = HP_LIKELY,
		.advice =
			"searches a container element by element: use a hash map, or keep it sorted.",
		.what = "in std::find and similar functions",
	};

	size_t before = survey->findings->count;

	hp_pattern_find(survey, &pattern);
	if (survey->findings->count == before)
		loop_find(survey);
	if (survey->findings->count == before)
		named_find(survey);
}

const struct hp_rule hp_rule_linear_search = {
	.key = "linear-search",
	.find = find,
	.pattern =
		"At least 10% of the CPU time is spent in std::find, std::find_if, std::any_of, lfind "
		"or their conditions, below one function.  Or half of it is spent in a loop, with "
		"hardly any around it, whose machine code (x86-64) only compares one element of an "
		"array after the other, each of at least four bytes, until one is equal.  Or the "
		"function with the most CPU time, at least three quarters of the total, spends it in "
		"its own code and in strcmp or memcmp, on two or three lines at most, and hardly any "
		"in other functions of the program that it calls, or in a map, a set or a binary "
		"search.  Then its name must contain find, search, lookup, contains or locate, or it "
		"must compare strings for a quarter of its time; and its name must not contain a word "
		"such as hash, binary, sort, compare, tree or map.  If the search is 60% of the "
		"function, the gain is all of its CPU time.",
	.wrong =
		"The container is always short, so a hash map would be no faster; or the search "
		"condition cannot be expressed by a key.  By its lines only: the function searches in "
		"another way.",
	.verify = "Replace the container by one with a key, and compare both with hotpath compare.",
};
