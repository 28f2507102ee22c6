/* SPDX-License-Identifier: MIT */
/*
 * prepare_per_item.c - something that can be used many times is prepared for each item.
 *
 * The preparing function may be in the program itself (a library that is linked statically), so its
 * time counts for the function that called it, not for the owner of the sample.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/short.h"
#include "report/name/wrapper.h"
#include "report/section/core/list.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/again.h"
#include "report/section/finding/prepared.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1 /* of the CPU time */
#define WHOLE_MIN 0.6 /* of the function: it does little else */
#define CALLERS_MAX 64

/* Below which call a stack is: the outermost one that prepares something. */
struct below {
	const struct hp_prepared_word *word;	/* NULL = of none */
	uint32_t function;	/* the one that was called */
	uint32_t caller;	/* HP_NONE = not known */
};

/* The time of one caller. */
struct caller {
	uint32_t function;
	enum hp_prepared kind;
	uint32_t callee;	/* with most samples first */
	uint64_t ns;	/* to prepare it and to free it */
	uint64_t samples;
};

struct search {
	struct hp_survey *survey;
	const struct hp_cpu *cpu;
	const struct hp_owners *owners;
	const struct hp_prepared_word **words;	/* by function */
	struct below *below;	/* by stack */
	uint64_t uses_ns[HP_PREPARED_KINDS];	/* in any function: it may be handed to another one */
	struct caller callers[CALLERS_MAX];
	size_t count;
};

/* False: the program has none of them. */
static bool words_make(struct search *search)
{
	bool has_any = false;

	search->words = hp_xcalloc(search->cpu->function_count + 1, sizeof(*search->words));
	for (uint32_t i = 0; i < search->cpu->function_count; i++) {
		char *name;

		if (!hp_prepared_may_be(search->cpu->functions[i].name))
			continue;
		name = hp_name_display(search->cpu->functions[i].name, 0, HP_NAME_SHORT);
		search->words[i] = hp_prepared_of(name);
		has_any |= search->words[i] && search->words[i]->part == HP_PREPARED_MAKES;
		free(name);
	}
	return has_any;
}

/* The function that made the call: of the place itself, if it is inlined there, or of its caller. */
static uint32_t caller_of(const struct search *search, uint32_t stack, uint32_t frame)
{
	const struct hp_cpu *cpu = search->cpu;
	const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];
	uint32_t parent = search->survey->report->model.sampling.stacks[stack].parent;

	for (uint32_t i = frame + 1; i < place->count; i++) {
		uint32_t function = cpu->frames[place->first + i].function;

		if (!hp_wrapper_is_library(cpu->functions[function].name))
			return function;
	}
	return search->owners->of_stack[parent].function;
}

/* Stacks are numbered from their roots on. */
static void below_make(struct search *search)
{
	const struct hp_cpu *cpu = search->cpu;
	const struct hp_model_stack *stacks = search->survey->report->model.sampling.stacks;

	search->below = hp_xcalloc(search->owners->count + 1, sizeof(*search->below));
	for (uint32_t i = 1; i < search->owners->count; i++) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[i]];
		struct below *below = &search->below[i];

		*below = search->below[stacks[i].parent];
		for (uint32_t at = place->count; at-- > 0 && !below->word;) {
			uint32_t function = cpu->frames[place->first + at].function;

			if (search->words[function])
				*below = (struct below){ search->words[function], function,
							 caller_of(search, i, at) };
		}
	}
}

static struct caller *caller_at(struct search *search, const struct below *below)
{
	for (size_t i = 0; i < search->count; i++)
		if (search->callers[i].function == below->caller &&
		    search->callers[i].kind == below->word->kind)
			return &search->callers[i];
	if (search->count == CALLERS_MAX)
		return NULL;
	search->callers[search->count] = (struct caller){
		.function = below->caller,
		.kind = below->word->kind,
		.callee = HP_NONE,
	};
	return &search->callers[search->count++];
}

static void callers_make(struct search *search)
{
	for (uint32_t i = 1; i < search->owners->count; i++) {
		const struct hp_model_stack *stack =
			&search->survey->report->model.sampling.stacks[i];
		const struct below *below = &search->below[i];
		struct caller *caller;

		if (!below->word || !stack->samples || stack->is_profiler)
			continue;
		if (below->word->part == HP_PREPARED_USES) {
			search->uses_ns[below->word->kind] += stack->cpu_ns;
			continue;
		}
		caller = below->caller == HP_NONE ? NULL : caller_at(search, below);
		if (!caller)
			continue;
		caller->ns += stack->cpu_ns;
		caller->samples += stack->samples;
		if (caller->callee == HP_NONE && below->word->part == HP_PREPARED_MAKES)
			caller->callee = below->function;
	}
}

/* Separate calls that samples show, at least. */
static uint64_t pieces_of(const struct search *search, const struct caller *caller)
{
	bool *is_it = hp_xcalloc(search->owners->count + 1, sizeof(bool));
	uint64_t pieces;

	for (uint32_t i = 1; i < search->owners->count; i++)
		is_it[i] = search->below[i].word &&
			   search->below[i].word->part == HP_PREPARED_MAKES &&
			   search->below[i].word->kind == caller->kind &&
			   search->below[i].caller == caller->function;
	pieces = hp_again_count(search->survey, is_it);
	free(is_it);
	return pieces;
}

/* The first use of it sets up what a kept one has: it costs about as much again, at most. */
static double gain_of(const struct search *search, const struct caller *caller)
{
	uint64_t uses_ns = search->uses_ns[caller->kind];
	double ns = (double)caller->ns + (double)(uses_ns < caller->ns ? uses_ns : caller->ns);
	double all = hp_survey_cpu_of(search->survey, caller->function);

	return hp_survey_worth(search->survey, ns >= WHOLE_MIN * all && all > ns ? all : ns);
}

static void caller_add(struct search *search, const struct caller *caller, uint64_t pieces)
{
	struct hp_survey *survey = search->survey;
	struct hp_finding *finding =
		hp_finding_add_function(survey, &hp_rule_prepare_per_item, caller->function);
	char *where = hp_finding_where(finding);
	char *callee = hp_answer_function(survey->report, caller->callee);
	struct hp_text_cell time, count, share;

	finding->advice =
		hp_xprintf("%s %s for each item (%s): %s.", where, hp_prepared_text(caller->kind),
			   callee, hp_prepared_advice(caller->kind));
	finding->facts = hp_xprintf("%s of CPU time (%s) to make and free it; the samples "
				    "show at least %s separate times",
				    hp_format_time(&time, (double)caller->ns),
				    hp_survey_share(survey, (double)caller->ns, &share),
				    hp_format_count(&count, pieces));
	finding->gain_ns = gain_of(search, caller);
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, caller->function),
			    hp_xstrdup(finding->facts));
	free(callee);
	free(where);
}

static void caller_look(struct search *search, const struct caller *caller)
{
	struct hp_survey *survey = search->survey;
	uint64_t pieces;

	if (caller->callee == HP_NONE || caller->samples < HP_RULE_SAMPLES_OF ||
	    !hp_survey_is_part(survey, (double)caller->ns, CPU_MIN) ||
	    !hp_owner_is_named(survey->report, caller->function) ||
	    !hp_survey_is_worth(survey, gain_of(search, caller)))
		return;
	pieces = pieces_of(search, caller);
	if (pieces >= HP_AGAIN_MIN)
		caller_add(search, caller, pieces);
}

static void find(struct hp_survey *survey)
{
	struct search *search;

	if (!survey->report->model.sampling.is_there || !hp_survey_has_samples(survey))
		return;
	search = hp_xcalloc(1, sizeof(*search));
	search->survey = survey;
	search->cpu = hp_report_cpu(survey->report);
	search->owners = hp_owners_of(survey->report);
	if (words_make(search)) {
		below_make(search);
		callers_make(search);
		for (size_t i = 0; i < search->count; i++)
			caller_look(search, &search->callers[i]);
	}
	free(search->below);
	free(search->words);
	free(search);
}

/* These are what the preparation consists of. */
static const struct hp_rule_over over[] = { { "alloc-churn", true },
					    { "copies", true },
					    { "clears", true },
					    { "string-scan", true },
					    { NULL, false } };

const struct hp_rule hp_rule_prepare_per_item = {
	.key = "prepare-per-item",
	.find = find,
	.over = over,
	.pattern =
		"One function spends at least 10% of the CPU time in calls that compile a regular "
		"expression or prepare an SQL statement, and in those that free it; samples of other "
		"work between them show at least 5 separate calls.  The gain is that time, and as much "
		"again of regexec or sqlite3_step, whose first call sets up what a kept one has; and "
		"all of the function's if that is 60% of it.",
	.wrong = "The text differs each time: it is not recorded whether it does.",
	.verify =
		"Look at the call: where does its text come from? Prepare it before the loop, or keep "
		"the prepared ones in a table, and compare both with hotpath compare.",
};
