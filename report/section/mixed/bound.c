/* SPDX-License-Identifier: MIT */
/*
 * bound.c - see bound.h: the sums.  bound_section.c has the rows and columns.
 */
#include "report/section/mixed/bound.h"

#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/wait/offcpu.h"
#include "report/elf/demangle.h"
#include "report/name/wrapper.h"
#include "segment/layout/process.h"

struct build {
	struct hp_report *report;
	const struct hp_cpu *cpu;
	struct hp_bound *bound;
	bool *is_inside;	/* of each stack: an allocator is on it */
	uint32_t *stamps;	/* of each function: the last stack that it was counted for */
};

/* --- kinds of code --- */

static const struct hp_cpu_place *place_of(const struct build *b, uint32_t stack)
{
	return &b->cpu->places[b->cpu->of_stack[stack]];
}

/* Code of the library that counts: stand-ins, hooks, walks of the stack. */
static bool is_profiler(const struct build *b, uint32_t stack)
{
	uint32_t object = place_of(b, stack)->object;

	return b->report->model.sampling.stacks[stack].is_profiler ||
	       (object != HP_NONE && b->report->model.objects[object].is_profiler);
}

/* A caller has a lower number, so it was handled before. */
static void insides_find(struct build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	const struct hp_cpu *cpu = b->cpu;

	for (uint32_t i = 1; i < sampling->stack_count; i++) {
		const struct hp_cpu_place *place = place_of(b, i);

		b->is_inside[i] = b->is_inside[sampling->stacks[i].parent];
		for (uint32_t f = 0; f < place->count && !b->is_inside[i]; f++)
			b->is_inside[i] = hp_wrapper_allocates(
				cpu->functions[cpu->frames[place->first + f].function].name);
	}
}

static bool is_vdso(const struct hp_report *report, uint32_t object)
{
	return object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_VDSO;
}

static bool is_row(const struct hp_report *report, const struct hp_cpu_function *f)
{
	if (report->has_functions)
		return f->instrumented != HP_NONE;
	/* Time in a stub, or in the kernel's page of code, belongs to the caller. */
	return !hp_offcpu_is_libc(report, f->object) && !hp_wrapper_allocates(f->name) &&
	       !hp_symbol_is_plt(f->name) && !is_vdso(report, f->object);
}

/* The owner of a stack's time. */
static uint32_t owner_of(const struct build *b, uint32_t stack)
{
	const struct hp_report *report = b->report;
	uint32_t any = HP_NONE;

	for (; stack; stack = report->model.sampling.stacks[stack].parent) {
		const struct hp_cpu_place *place = place_of(b, stack);
		uint32_t object = place->object;

		if (object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_KERNEL)
			continue;
		for (uint32_t i = 0; i < place->count; i++) {
			uint32_t function = b->cpu->frames[place->first + i].function;

			if (is_row(report, &b->cpu->functions[function]))
				return function;
			/* Outside all instrumented code: the outermost known one, usually a
			 * library's thread. */
			any = function;
		}
	}
	return any;
}

/* --- sums --- */

static size_t cause_number(struct hp_bound *bound, const char *cause)
{
	size_t i;

	for (i = 0; i < bound->cause_count; i++)
		if (strcmp(bound->causes[i], cause) == 0)
			return i;
	if (i == HP_BOUND_CAUSES)
		return i - 1;
	bound->causes[bound->cause_count++] = cause;
	return i;
}

static struct hp_bound_row *row_at(struct hp_bound *bound, uint32_t function)
{
	return &bound->rows[function == HP_NONE ? bound->count - 1 : function];
}

static void cpu_add(struct build *b, uint32_t function, uint32_t stack)
{
	const struct hp_model_stack *from = &b->report->model.sampling.stacks[stack];
	struct hp_bound_row *row = row_at(b->bound, function);

	if (stack && is_profiler(b, stack)) {
		row->profiler_ns += from->cpu_ns;
	} else {
		row->cpu_ns += from->cpu_ns;
		row->samples += from->samples;
		row->counted_ns += from->counted_ns;
		row->memory_ns += from->memory_ns;
		if (b->is_inside[stack])
			row->allocator_ns += from->cpu_ns;
	}
}

static void wait_add(struct build *b, uint32_t function, uint32_t stack)
{
	const struct hp_model_stack *from = &b->report->model.sampling.stacks[stack];
	struct hp_bound_row *row = row_at(b->bound, function);
	const char *on = stack ? hp_offcpu_cause(b->report, stack) : "unknown";

	if (!from->blocked_ns || hp_offcpu_is_stop(on) ||
	    (stack && hp_offcpu_is_profiler(b->report, stack)))
		return;
	row->blocked_ns += from->blocked_ns;
	row->blocked_on[cause_number(b->bound, on)] += from->blocked_ns;
}

/* To each function that is a row, once. */
static void stack_add_all(struct build *b, uint32_t stack)
{
	const struct hp_cpu *cpu = b->cpu;

	for (uint32_t at = stack; at; at = b->report->model.sampling.stacks[at].parent) {
		const struct hp_cpu_place *place = place_of(b, at);

		for (uint32_t i = 0; i < place->count; i++) {
			uint32_t function = cpu->frames[place->first + i].function;

			if (b->stamps[function] == stack ||
			    !is_row(b->report, &cpu->functions[function]))
				continue;
			b->stamps[function] = stack;
			cpu_add(b, function, stack);
			wait_add(b, function, stack);
		}
	}
}

static void stacks_add(struct build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;

	for (uint32_t i = 0; i < sampling->stack_count; i++) {
		if (!sampling->stacks[i].samples && !sampling->stacks[i].waits)
			continue;
		if (i && b->report->settings->cpu_is_inclusive) {
			stack_add_all(b, i);
			continue;
		}
		cpu_add(b, i ? owner_of(b, i) : HP_NONE, i);
		wait_add(b, hp_offcpu_function(b->report, i), i);
	}
}

static void walls_add(struct build *b)
{
	const struct hp_report *report = b->report;
	const struct hp_cpu *cpu = b->cpu;

	for (size_t i = 0; i < cpu->function_count; i++) {
		uint32_t place = cpu->functions[i].instrumented;
		const struct hp_model_function *f =
			place == HP_NONE ? NULL : &report->model.functions[place];

		if (f)
			b->bound->rows[i].wall_ns =
				report->settings->cpu_is_inclusive ? f->total_ns : f->self_ns;
	}
}

/* --- the whole --- */

static void bound_free(void *held)
{
	struct hp_bound *bound = held;

	free(bound->rows);
	free(bound);
}

struct hp_bound *hp_report_bound(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = bound_free };
	struct build b = { .report = report, .bound = hp_views_get(&report->views, &kind) };
	const struct hp_cpu *cpu;

	if (b.bound)
		return b.bound;
	b.cpu = cpu = hp_report_cpu(report);
	b.bound = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*b.bound)));
	b.bound->count = cpu->function_count + 1;
	b.bound->rows = hp_xcalloc(b.bound->count, sizeof(*b.bound->rows));
	for (size_t i = 0; i < b.bound->count; i++)
		b.bound->rows[i] = (struct hp_bound_row){
			.function = i + 1 < b.bound->count ? (uint32_t)i : HP_NONE,
			.wall_ns = -1,
		};
	b.is_inside = hp_xcalloc(report->model.sampling.stack_count, sizeof(*b.is_inside));
	b.stamps = hp_xcalloc(cpu->function_count, sizeof(*b.stamps));
	insides_find(&b);
	stacks_add(&b);
	walls_add(&b);
	hp_bound_add_allocations(report, b.bound);
	free(b.is_inside);
	free(b.stamps);
	return b.bound;
}
