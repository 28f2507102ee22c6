/* SPDX-License-Identifier: MIT */
/*
 * cost.c - CPU time and waits by owner, and the owner's activity.
 *
 * An owner's activity is named after the functions of libraries and of the kernel between
 * it and the innermost one.  A function that a library's search calls back, such as the
 * condition of std::find_if, is an owner itself; its time is marked as a search of the function
 * that requested it. The same holds for the comparison of a sort, and for an assignment that a
 * vector calls to move its elements.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/short.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/rule.h"
#include "report/section/wait/offcpu.h"

#define KNOWN (UINT32_C(1) << 31)
#define LIBRARY (UINT32_C(1) << 30)	/* of the C++ library, by its name */
#define REQUESTED /* library functions that call the program back as a part of their work */ \
	(HP_SIGN_BIT(HP_SIGN_FIND) | HP_SIGN_BIT(HP_SIGN_SORT) | HP_SIGN_BIT(HP_SIGN_KEY))
#define FRAMES_MAX 2000	/* between a sample and its owner */
#define CALLERS_MAX 32	/* frames of a library between a search and its caller in the program */

static_assert(HP_SIGNS < 30, "a bit for each, and two more");

struct build {
	struct hp_survey *survey;
	const struct hp_cpu *cpu;
	uint32_t *marks;	/* by function, with KNOWN */
	struct hp_map places;	/* function + 1 -> place in costs */
	bool *allocates;	/* by stack */
	struct hp_map builders;	/* an owner, and a function of C++\'s library that allocates for it */
};

/* The frames of a stack, from the innermost outward. */
struct walk {
	const struct build *b;
	uint32_t stack;
	uint32_t frame;	/* of its place */
	uint32_t seen;	/* frames: no more than FRAMES_MAX */
};

static bool walk_next(struct walk *walk, uint32_t *function)
{
	const struct hp_cpu *cpu = walk->b->cpu;

	while (walk->stack && walk->seen < FRAMES_MAX) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[walk->stack]];

		if (walk->frame < place->count) {
			walk->seen++;
			*function = cpu->frames[place->first + walk->frame++].function;
			return true;
		}
		walk->stack = walk->b->survey->report->model.sampling.stacks[walk->stack].parent;
		walk->frame = 0;
	}
	return false;
}

/* A constructor of the C++ library that copies another object, where the name has parameters. */
static bool is_copy(const char *name)
{
	static const char end[] = "const&)";
	size_t length = strlen(name);

	return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0 &&
	       strncmp(name, "std::", 5) == 0 &&
	       (strstr(name, "::basic_string(") || strstr(name, "::vector("));
}

static uint32_t marks_of(struct build *b, uint32_t function)
{
	const struct hp_report *report = b->survey->report;
	bool is_kernel;
	char *name;

	if (b->marks[function])
		return b->marks[function];
	is_kernel = hp_owner_is_kernel(report, function);
	name = hp_name_display(b->cpu->functions[function].name, 0, HP_NAME_SHORT);
	b->marks[function] = KNOWN | hp_signs_of_call(name) |
			     (is_kernel ? hp_signs_of_kernel(name) : hp_signs_of_library(name));
	if (strncmp(name, "std::", 5) == 0 || strncmp(name, "__gnu_cxx::", 11) == 0 ||
	    b->marks[function] & REQUESTED)
		b->marks[function] |= LIBRARY;
	else if (!is_kernel && hp_sign_is_value(name))
		b->marks[function] |= HP_SIGN_BIT(HP_SIGN_VALUE);
	if (is_copy(b->cpu->functions[function].name))
		b->marks[function] |= HP_SIGN_BIT(HP_SIGN_COPIED);
	free(name);
	return b->marks[function];
}

static struct hp_cost *cost_of(struct build *b, uint32_t function)
{
	struct hp_survey *survey = b->survey;
	bool is_new;
	uint32_t *place = hp_map_at(&b->places, (uint64_t)function + 1, &is_new);

	if (is_new) {
		survey->costs = hp_xgrow(survey->costs, survey->cost_count, &survey->cost_room,
					 sizeof(*survey->costs));
		survey->costs[survey->cost_count] = (struct hp_cost){ .function = function };
		*place = (uint32_t)survey->cost_count++;
	}
	return &survey->costs[*place];
}

/* HP_SIGN_BUILD is added later, once for each stack. */
static void marks_add(struct hp_cost *cost, uint32_t marks, const struct hp_model_stack *stack)
{
	for (int i = 0; i < HP_SIGNS; i++)
		if (marks & HP_SIGN_BIT(i)) {
			cost->marked_ns[i] += stack->cpu_ns;
			cost->marked_samples[i] += stack->samples;
		}
}

/*
 * The first caller of the owner that had a library search or sort with it, or move elements of its
 * class; HP_NONE = none.
 */
static uint32_t requester(struct build *b, struct walk *walk, uint32_t *request)
{
	uint32_t function, marks = 0;

	for (int i = 0; i < CALLERS_MAX && walk_next(walk, &function); i++) {
		uint32_t more = marks_of(b, function);

		if (!(more & LIBRARY)) {
			*request = marks & (REQUESTED | HP_SIGN_BIT(HP_SIGN_MOVE));
			return *request ? function : HP_NONE;
		}
		marks |= more;
	}
	return HP_NONE;
}

/*
 * The time of a value's constructor or destructor counts for the function that makes the value,
 * such as a loop that copies each element: this one, or HP_NONE. `between` gets the marks of the
 * functions between them. The walk has passed the owner.
 */
static uint32_t value_maker(struct build *b, const struct hp_owner *owner, struct walk walk,
			    uint32_t *between)
{
	const uint32_t passed = LIBRARY | HP_SIGN_BIT(HP_SIGN_VALUE);
	uint32_t function;

	*between = 0;
	if (!(marks_of(b, owner->function) & HP_SIGN_BIT(HP_SIGN_VALUE)))
		return HP_NONE;
	for (int n = 0; n < CALLERS_MAX && walk_next(&walk, &function); n++) {
		uint32_t more = marks_of(b, function);

		if (!(more & passed))
			return function;
		*between |= more;
	}
	return HP_NONE;
}

static void value_add(struct build *b, uint32_t i, const struct hp_owner *owner, struct walk walk,
		      uint32_t marks)
{
	uint32_t between, maker = value_maker(b, owner, walk, &between);
	uint32_t add = HP_SIGN_BIT(HP_SIGN_VALUE);
	struct hp_cost *cost;

	if (maker == HP_NONE)
		return;
	cost = cost_of(b, maker);
	if (marks & HP_SIGN_BIT(HP_SIGN_COPIED)) {
		cost->value = owner->function;
		add |= HP_SIGN_BIT(HP_SIGN_COPIED) | (between & HP_SIGN_BIT(HP_SIGN_GROW));
	}
	marks_add(cost, add, &b->survey->report->model.sampling.stacks[i]);
}

/* Our own code, called by the owner. */
static void hooks_add(struct build *b, uint32_t i, const struct hp_owner *owner)
{
	uint64_t ns = b->survey->report->model.sampling.stacks[i].cpu_ns;
	struct walk walk = { b, i, 0, 0 };
	uint32_t function, maker, between;

	cost_of(b, owner->function)->hooks_ns += ns;
	while (walk_next(&walk, &function) && function != owner->function)
		;
	maker = value_maker(b, owner, walk, &between);
	if (maker != HP_NONE)
		cost_of(b, maker)->value_hooks_ns += ns;
}

static void stack_add(struct build *b, uint32_t i, const struct hp_owner *owner)
{
	const struct hp_model_stack *stack = &b->survey->report->model.sampling.stacks[i];
	struct walk walk = { b, i, 0, 0 };
	struct hp_cost *cost = cost_of(b, owner->function);
	uint32_t function, marks = 0, request = 0, caller;
	bool is_leaf = true;

	while (walk_next(&walk, &function) && function != owner->function) {
		uint32_t more = marks_of(b, function);

		/* An insertion that operator+ makes is a copy: the program asked for none. */
		if (more & HP_SIGN_BIT(HP_SIGN_JOIN))
			marks &= ~HP_SIGN_BIT(HP_SIGN_MOVE);
		marks |= is_leaf ? more : more & ~HP_SIGN_BIT(HP_SIGN_CALL);
		is_leaf = false;
	}
	/* The first touch of a page is a fault, whoever touches it. */
	if (marks & HP_SIGN_BIT(HP_SIGN_FAULT))
		marks &= ~HP_SIGN_BIT(HP_SIGN_CLEAR);
	cost->ns += stack->cpu_ns;
	cost->samples += stack->samples;
	cost->leaf_ns += is_leaf ? stack->cpu_ns : 0;
	marks &= ~(HP_SIGN_BIT(HP_SIGN_VALUE) | HP_SIGN_BIT(HP_SIGN_GROW));
	marks_add(cost, marks & ~(HP_SIGN_BIT(HP_SIGN_BUILD) | HP_SIGN_BIT(HP_SIGN_COPIED)), stack);
	value_add(b, i, owner, walk, marks);
	b->survey->stack_marks[i] = marks;
	b->allocates[i] = (marks & (HP_SIGN_BIT(HP_SIGN_ALLOC) | HP_SIGN_BIT(HP_SIGN_BUILD))) != 0;
	caller = requester(b, &walk, &request);
	if (caller == HP_NONE || caller == owner->function)
		return;
	cost = cost_of(b, caller);
	marks_add(cost, request, stack);
	cost->called_ns += request & REQUESTED ? stack->cpu_ns : 0;
	b->survey->stack_marks[i] |= request & HP_SIGN_BIT(HP_SIGN_SORT);
}

static int compare_costs(const void *left, const void *right)
{
	const struct hp_cost *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* How deep an owner is on its stack in at least half of its samples. */
static void depths_set(struct build *b, const struct hp_owners *owners)
{
	const struct hp_model_sampling *sampling = &b->survey->report->model.sampling;
	struct hp_survey *survey = b->survey;

	/* A binary search for the depth, for all owners at once: it is at most 1,000. */
	for (uint32_t step = 512; step; step /= 2) {
		uint64_t *deeper = hp_xcalloc(survey->cost_count, sizeof(*deeper));

		for (size_t i = 0; i < owners->count; i++) {
			const struct hp_owner *owner = &owners->of_stack[i];
			const struct hp_model_stack *stack = &sampling->stacks[i];
			const uint32_t *place;

			if (!stack->samples || stack->is_profiler || owner->function == HP_NONE)
				continue;
			place = hp_map_find(&b->places, (uint64_t)owner->function + 1);
			if (owner->depth >= survey->costs[*place].depth + step)
				deeper[*place] += stack->samples;
		}
		for (size_t i = 0; i < survey->cost_count; i++)
			if (2 * deeper[i] >= survey->costs[i].samples && deeper[i])
				survey->costs[i].depth += step;
		free(deeper);
	}
}

/* A container's function that first searches for a key: the search remains without the block. */
static bool is_by_key(struct build *b, uint32_t function)
{
	static const char *const by_key[] = { "operator[]", "at",	   "find",     "count",
					      "contains",   "emplace",	   "insert",   "erase",
					      "_M_emplace", "try_emplace", "_M_insert" };
	char *name = hp_name_display(b->cpu->functions[function].name, 0, HP_NAME_SHORT);
	const char *last = strrchr(name, ':');
	bool is_it = false;

	for (size_t i = 0; last && i < sizeof(by_key) / sizeof(by_key[0]); i++)
		is_it |= strncmp(last + 1, by_key[i], strlen(by_key[i])) == 0;
	free(name);
	return is_it && marks_of(b, function) & HP_SIGN_BIT(HP_SIGN_KEY);
}

/* The library function that the owner called, if it belongs to the C++ library and only builds. */
static uint64_t builder(struct build *b, const struct hp_owner *owner)
{
	if (owner->callee == HP_NONE || !(marks_of(b, owner->callee) & LIBRARY) ||
	    is_by_key(b, owner->callee))
		return 0;
	return ((uint64_t)owner->function << 32 | owner->callee) + 1;
}

/* The time of a C++ library function that allocates in some of its samples. */
static void builders_add(struct build *b, const struct hp_owners *owners)
{
	const struct hp_model_sampling *sampling = &b->survey->report->model.sampling;
	bool is_new;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 1; i < owners->count; i++) {
			const struct hp_owner *owner = &owners->of_stack[i];
			const struct hp_model_stack *stack = &sampling->stacks[i];
			uint64_t key;

			if (!stack->samples || stack->is_profiler || owner->function == HP_NONE)
				continue;
			key = builder(b, owner);
			if (key && !pass && b->allocates[i])
				hp_map_at(&b->builders, key, &is_new);
			else if (pass &&
				 (b->allocates[i] || (key && hp_map_find(&b->builders, key))))
				marks_add(cost_of(b, owner->function), HP_SIGN_BIT(HP_SIGN_BUILD),
					  stack);
		}
}

void hp_costs_make(struct hp_survey *survey)
{
	struct hp_report *report = survey->report;
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct build b = { .survey = survey };
	const struct hp_owners *owners;

	if (!sampling->is_there || survey->samples < HP_ANSWER_SAMPLES)
		return;
	owners = hp_owners_of(report);
	b.cpu = hp_report_cpu(report);
	b.marks = hp_xcalloc(b.cpu->function_count, sizeof(*b.marks));
	b.allocates = hp_xcalloc(owners->count, sizeof(bool));
	survey->stack_marks = hp_xcalloc(owners->count, sizeof(*survey->stack_marks));
	for (uint32_t i = 1; i < owners->count; i++)
		if (sampling->stacks[i].samples && owners->of_stack[i].function != HP_NONE) {
			if (sampling->stacks[i].is_profiler)
				hooks_add(&b, i, &owners->of_stack[i]);
			else
				stack_add(&b, i, &owners->of_stack[i]);
		}
	depths_set(&b, owners);
	builders_add(&b, owners);
	if (survey->cost_count)
		qsort(survey->costs, survey->cost_count, sizeof(*survey->costs), compare_costs);
	hp_map_release(&b.places);
	hp_map_release(&b.builders);
	free(b.allocates);
	free(b.marks);
}

/* --- waits --- */

static void block_add(struct hp_survey *survey, const struct hp_stall *block)
{
	for (size_t i = 0; i < survey->stall_count; i++) {
		struct hp_stall *known = &survey->stalls[i];

		if (known->function != block->function || strcmp(known->on, block->on) != 0 ||
		    known->is_join != block->is_join)
			continue;
		known->waits += block->waits;
		known->ns += block->ns;
		known->write_ns += block->write_ns;
		known->file_ns += block->file_ns;
		known->guessed_ns += block->guessed_ns;
		known->is_sync |= block->is_sync;
		return;
	}
	survey->stalls = hp_xgrow(survey->stalls, survey->stall_count, &survey->stall_room,
				  sizeof(*survey->stalls));
	survey->stalls[survey->stall_count++] = *block;
}

static bool is_one_of(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

/* What the kernel did meanwhile. */
static void entry_add(struct hp_report *report, uint32_t entry, struct hp_stall *block)
{
	static const char *const writes[] = { "write", "truncate", "fallocate", "sendfile", NULL };
	static const char *const files[] = { "open",  "creat", "unlink", "rename", "link",
					     "mkdir", "rmdir", "stat",	 "close",  NULL };
	char *name = entry == HP_NONE ? NULL : hp_owner_entry_text(report, entry);

	if (!name)
		return;
	block->write_ns = is_one_of(name, writes) ? block->ns : 0;
	block->file_ns = !block->write_ns && is_one_of(name, files) ? block->ns : 0;
	free(name);
}

void hp_stalls_make(struct hp_survey *survey)
{
	struct hp_report *report = survey->report;
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_owners *owners;

	if (!sampling->is_there || !sampling->record.blocked_ns)
		return;
	owners = hp_owners_of(report);
	for (uint32_t i = 0; i < owners->count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		const struct hp_owner *owner = &owners->of_stack[i];

		struct hp_stall block = {
			.function = owner->function,
			.is_sync = owner->is_sync,
			.is_join = owner->is_join,
			.waits = stack->waits,
			.ns = stack->blocked_ns,
			.guessed_ns = stack->guessed_ns,
		};

		if (!stack->waits || hp_offcpu_is_profiler(report, i))
			continue;
		block.on = i ? hp_offcpu_cause(report, i) : "-";
		entry_add(report, owner->entry, &block);
		block_add(survey, &block);
	}
}

/* --- lines --- */

void hp_survey_line(struct hp_survey *survey, uint32_t function, const char **file, int *line)
{
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);
	const struct hp_owners *owners = hp_owners_of(survey->report);
	struct hp_map lines = HP_MAP_NONE;
	uint64_t *sums = NULL, most = 0;
	size_t count = 0, room = 0;

	for (size_t i = 1; i < owners->count; i++) {
		const struct hp_owner *owner = &owners->of_stack[i];
		const struct hp_model_stack *stack = &survey->report->model.sampling.stacks[i];
		const struct hp_cpu_frame *frame;
		uint32_t *place;
		bool is_new;

		if (owner->function != function || stack->is_profiler)
			continue;
		frame = &cpu->frames[owner->frame];
		if (!frame->file || frame->line <= 0)
			continue;
		place = hp_map_at(&lines, (uint64_t)(uint32_t)frame->line, &is_new);
		if (is_new) {
			sums = hp_xgrow(sums, count, &room, sizeof(*sums));
			sums[count] = 0;
			*place = (uint32_t)count++;
		}
		sums[*place] += stack->cpu_ns + stack->blocked_ns;
		if (sums[*place] > most) {
			most = sums[*place];
			*file = frame->file;
			*line = frame->line;
		}
	}
	free(sums);
	hp_map_release(&lines);
}
