/* SPDX-License-Identifier: MIT */
/*
 * sum.c - attributes the samples.
 *
 * A function gets each sample once, however often it is on the stack: at its
 * outermost frame, as part of the sum from there inward. So one pass over the
 * stacks, callees first, is enough.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/build.h"
#include "report/base/memory.h"

#define OUTER_BITS 32	/* in `outer`; few places have more frames */

struct sum {
	uint64_t ns;
	uint64_t samples;
};

static const struct hp_cpu_place *place_of(const struct hp_cpu_build *b, uint32_t stack)
{
	return &b->cpu->places[b->cpu->of_stack[stack]];
}

static bool is_row(const struct hp_cpu_build *b, const struct hp_cpu_function *f)
{
	return !b->has_functions || f->instrumented != HP_NONE;
}

/* The innermost function at a place that is a row; HP_NONE = none. */
static uint32_t owner_at(const struct hp_cpu_build *b, uint32_t stack)
{
	const struct hp_cpu_place *place = place_of(b, stack);

	for (uint32_t i = 0; i < place->count; i++) {
		uint32_t function = b->cpu->frames[place->first + i].function;

		if (is_row(b, &b->cpu->functions[function]))
			return function;
	}
	return HP_NONE;
}

static bool is_at(const struct hp_cpu_build *b, uint32_t stack, uint32_t first, uint32_t function)
{
	const struct hp_cpu_place *place = place_of(b, stack);

	for (uint32_t i = first; i < place->count; i++)
		if (b->cpu->frames[place->first + i].function == function)
			return true;
	return false;
}

/* No outer frame has the same function as this one, the `frame`-th of its place. */
static bool is_outer(const struct hp_cpu_build *b, uint32_t stack, uint32_t frame)
{
	const struct hp_model_stack *stacks = b->report->model.sampling.stacks;
	uint32_t function = b->cpu->frames[place_of(b, stack)->first + frame].function;

	if (is_at(b, stack, frame + 1, function))
		return false;
	for (uint32_t at = b->ups[stacks[stack].parent]; at; at = b->ups[stacks[at].parent])
		if (is_at(b, at, 0, function))
			return false;
	return true;
}

static uint32_t outer_at(const struct hp_cpu_build *b, uint32_t stack)
{
	uint32_t count = place_of(b, stack)->count, bits = 0;

	for (uint32_t i = 0; i < count && i < OUTER_BITS; i++)
		bits |= (uint32_t)is_outer(b, stack, i) << i;
	return bits;
}

static void stack_settle(struct hp_cpu_build *b, uint32_t stack)
{
	uint32_t parent = b->report->model.sampling.stacks[stack].parent;

	b->owners[stack] = owner_at(b, stack);
	if (b->owners[stack] == HP_NONE)
		b->owners[stack] = b->owners[parent];
	b->outer[stack] = outer_at(b, stack);
	/* These shorten the way outward in a deep recursion. */
	b->ups[stack] =
		b->outer[stack] || place_of(b, stack)->count > OUTER_BITS ? stack : b->ups[parent];
}

/* A caller has a lower number. */
static void stacks_settle(struct hp_cpu_build *b)
{
	size_t count = b->report->model.sampling.stack_count;
	uint32_t first = b->is_stale ? 0 : (uint32_t)b->stack_count;

	if (!count)
		return;
	b->owners = hp_xrealloc(b->owners, count, sizeof(*b->owners));
	b->outer = hp_xrealloc(b->outer, count, sizeof(*b->outer));
	b->ups = hp_xrealloc(b->ups, count, sizeof(*b->ups));
	b->owners[0] = HP_NONE;
	b->outer[0] = b->ups[0] = 0;
	for (uint32_t i = first ? first : 1; i < count; i++)
		stack_settle(b, i);
}

static void own_add(struct hp_cpu_build *b, uint32_t stack, struct sum *sum)
{
	const struct hp_model_stack *from = &b->report->model.sampling.stacks[stack];
	struct hp_cpu *cpu = b->cpu;
	uint32_t owner = b->owners[stack];

	if (from->is_profiler) {
		cpu->profiler_ns += from->cpu_ns;
		cpu->profiler_samples += from->samples;
		return;
	}
	cpu->total_ns += from->cpu_ns;
	cpu->total_samples += from->samples;
	if (!from->samples)
		return;
	sum->ns += from->cpu_ns;
	sum->samples += from->samples;
	if (owner == HP_NONE)
		return;
	cpu->functions[owner].self_ns += from->cpu_ns;
	cpu->functions[owner].self_samples += from->samples;
	cpu->attributed_ns += from->cpu_ns;
}

/* `sum` covers the stack and all its callees. */
static void total_add(struct hp_cpu_build *b, uint32_t stack, const struct sum *sum)
{
	const struct hp_cpu_place *place = place_of(b, stack);

	for (uint32_t i = 0; i < place->count; i++) {
		struct hp_cpu_function *f =
			&b->cpu->functions[b->cpu->frames[place->first + i].function];

		if (i < OUTER_BITS ? !(b->outer[stack] >> i & 1) : !is_outer(b, stack, i))
			continue;
		f->total_ns += sum->ns;
		f->total_samples += sum->samples;
	}
}

void hp_cpu_sum(struct hp_cpu_build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	struct sum *sums = hp_xcalloc(sampling->stack_count, sizeof(*sums));
	struct hp_cpu *cpu = b->cpu;

	stacks_settle(b);
	cpu->total_ns = cpu->total_samples = cpu->attributed_ns = 0;
	cpu->profiler_ns = cpu->profiler_samples = 0;
	for (size_t i = 0; i < cpu->function_count; i++) {
		struct hp_cpu_function *f = &cpu->functions[i];

		f->self_ns = f->self_samples = f->total_ns = f->total_samples = 0;
	}
	for (uint32_t i = (uint32_t)sampling->stack_count; i-- > 0;) {
		own_add(b, i, &sums[i]);
		if (!i || !sums[i].samples)
			continue;
		total_add(b, i, &sums[i]);
		sums[sampling->stacks[i].parent].ns += sums[i].ns;
		sums[sampling->stacks[i].parent].samples += sums[i].samples;
	}
	if (cpu->profiler != HP_NONE) {
		struct hp_cpu_function *f = &cpu->functions[cpu->profiler];

		f->self_ns = f->total_ns = cpu->profiler_ns;
		f->self_samples = f->total_samples = cpu->profiler_samples;
	}
	free(sums);
}
