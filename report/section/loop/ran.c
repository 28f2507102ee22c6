/* SPDX-License-Identifier: MIT */
/*
 * ran.c - see ran.h.
 *
 * A sample counts for the CPU time since the previous one, a wait of the thread within the span for
 * its own duration. The named function is the innermost of those that were on the stack for most of
 * the span. As for waits, the kernel and the C library are skipped, and a function that only passes
 * a request on (g_usleep) is named if there is no other: their callers are named instead.
 *
 * On a busy machine the thread may be ready without a core for most of the span, or samples are lost.
 * Then the span has the name of what samples and waits that are there show, and is marked.
 */
#include "report/section/loop/ran.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/name/wrapper.h"
#include "report/read/model.h"
#include "report/section/cpu/cpu.h"
#include "report/section/wait/offcpu.h"

#define COVERED_MIN 0.5 /* of a span, as for calls */
#define SAMPLES_MIN 3 /* fewer may cover time outside it */
#define SAMPLES_SURE 10 /* so many tell something if they cover less, but */
#define COVERED_LEAST 0.1 /* this part of the span */

/* Samples and waits of one span. */
struct span {
	struct hp_loop_span_row *row;
	uint64_t begin_ns; /* since the start, as end_ns */
	uint64_t end_ns;
	struct hp_event *events;
	size_t count;
	size_t room;
	size_t samples;
	uint64_t waited_ns;
};

/* A function in the stacks of one span. */
struct ran {
	uint32_t function;
	size_t event; /* 1 + the last event that has it on its stack */
	double ns;
	double depth; /* times ns: from the first function of the thread */
};

struct rans {
	struct ran *all;
	size_t count;
	size_t room;
};

static void event_add(struct span *span, const struct hp_event *event)
{
	span->events = hp_xgrow(span->events, span->count, &span->room, sizeof(*span->events));
	span->events[span->count++] = *event;
	if (event->kind == HP_EVENT_CPU)
		span->samples++;
	else
		span->waited_ns += event->span_ns;
}

/* A wait that began before the span is the preceding one. */
static bool is_in(const struct span *span, const struct hp_event *event, uint64_t start_ns)
{
	uint64_t at = event->ns > start_ns ? event->ns - start_ns : 0;
	uint64_t length = event->kind == HP_EVENT_WAIT ? event->span_ns : 0;

	return event->tid == span->row->span.tid && event->pid == span->row->loop->record.pid &&
	       at <= span->end_ns && at >= span->begin_ns + length;
}

struct spans {
	const struct hp_model *model;
	struct span *list;
	size_t count;
};

static void spans_add(void *context, const struct hp_event *event)
{
	const struct spans *spans = context;
	uint64_t start_ns = spans->model->reader.header.start.ns;

	if (!event->node || event->node >= spans->model->sampling.stack_count)
		return;
	for (size_t i = 0; i < spans->count; i++)
		if (is_in(&spans->list[i], event, start_ns))
			event_add(&spans->list[i], event);
}

static bool is_servant(const struct hp_report *report, uint32_t stack)
{
	uint32_t object = report->model.sampling.stacks[stack].object;

	return (object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_KERNEL) ||
	       hp_offcpu_is_servant(report, object);
}

static size_t depth_of(const struct hp_report *report, uint32_t stack)
{
	size_t depth = 0;

	for (; stack; stack = report->model.sampling.stacks[stack].parent)
		depth++;
	return depth;
}

static struct ran *ran_of(struct rans *rans, uint32_t function)
{
	for (size_t i = 0; i < rans->count; i++)
		if (rans->all[i].function == function)
			return &rans->all[i];
	rans->all = hp_xgrow(rans->all, rans->count, &rans->room, sizeof(*rans->all));
	rans->all[rans->count] = (struct ran){ .function = function };
	return &rans->all[rans->count++];
}

/* A recursive function counts once, at its innermost place, which is met first. */
static void stack_add(struct hp_report *report, struct rans *rans, const struct hp_event *event,
		      size_t number)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);
	uint32_t stack = event->node;
	size_t depth = depth_of(report, stack);

	for (; stack; stack = report->model.sampling.stacks[stack].parent, depth--) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];

		for (uint32_t i = 0; i < place->count && !is_servant(report, stack); i++) {
			struct ran *ran = ran_of(rans, cpu->frames[place->first + i].function);

			if (ran->event == number + 1)
				continue;
			ran->event = number + 1;
			ran->ns += (double)event->span_ns;
			/* Inlined ones lie further in. */
			ran->depth += ((double)depth + 1.0 / (i + 2.0)) * (double)event->span_ns;
		}
	}
}

/* How well a function explains what ran. Code without a symbol has the name of its file, in brackets. */
enum fit { UNNAMED, WRAPPER, NAMED };

static enum fit fit_of(const struct hp_cpu *cpu, const struct ran *ran)
{
	const char *name = cpu->functions[ran->function].name;

	if (*name == '[' || hp_wrapper_is_outermost(name))
		return UNNAMED;
	return hp_wrapper_waits(name) ? WRAPPER : NAMED;
}

static bool is_better(const struct hp_cpu *cpu, const struct ran *ran, const struct ran *best)
{
	enum fit fit = fit_of(cpu, ran), of_best = best ? fit_of(cpu, best) : UNNAMED;

	if (fit != of_best)
		return fit > of_best;
	return !best || ran->depth / ran->ns > best->depth / best->ns;
}

/* The best of those with at least so many ns. */
static const struct ran *best_of(const struct hp_cpu *cpu, const struct rans *rans, double least)
{
	const struct ran *best = NULL;

	for (size_t i = 0; i < rans->count; i++)
		if (rans->all[i].ns >= least && is_better(cpu, &rans->all[i], best))
			best = &rans->all[i];
	return best;
}

/* ns that a function needs if samples cover little of the span; by chance, few find one too often. */
static double least_of_few(const struct span *span, double length)
{
	double known = 0;

	for (size_t i = 0; i < span->count; i++)
		known += (double)span->events[i].span_ns;
	if (span->samples < SAMPLES_SURE || known < COVERED_LEAST * length)
		return HUGE_VAL;
	return (COVERED_MIN + 1 / sqrt((double)span->samples)) * known;
}

static void span_name(struct hp_report *report, struct span *span)
{
	double length = (double)(span->end_ns - span->begin_ns);
	const struct hp_cpu *cpu = hp_report_cpu(report);
	const char *by = "samples";
	struct rans rans = { 0 };
	const struct ran *best;

	for (size_t i = 0; i < span->count; i++)
		stack_add(report, &rans, &span->events[i], i);
	best = best_of(cpu, &rans, COVERED_MIN * length);
	if (!best) {
		by = "few samples";
		best = best_of(cpu, &rans, least_of_few(span, length));
	}
	if (best && !hp_wrapper_is_outermost(cpu->functions[best->function].name)) {
		span->row->what = hp_xstrdup(hp_cpu_name(report, &cpu->functions[best->function]));
		span->row->by = by;
	}
	free(rans.all);
}

static bool is_covered(const struct span *span)
{
	return span->samples >= SAMPLES_MIN ||
	       (double)span->waited_ns >= COVERED_MIN * (double)(span->end_ns - span->begin_ns);
}

void hp_loop_ran(struct hp_report *report, struct hp_loops *loops)
{
	struct span *spans;
	size_t count = 0;

	if (!loops->span_count || !report->model.sampling.record.event_count)
		return;
	spans = hp_xcalloc(loops->span_count, sizeof(*spans));
	for (size_t i = 0; i < loops->span_count; i++) {
		struct hp_loop_span_row *row = &loops->spans[i];
		struct hp_call call = { .start = row->span.begin, .ticks = row->span.ticks };
		struct hp_model_call span = hp_model_call(&report->model, &call);

		if (!row->what)
			spans[count++] = (struct span){ .row = row,
							.begin_ns = span.start_ns,
							.end_ns = span.start_ns + span.ns };
	}
	hp_events_each(&report->model, spans_add, &(struct spans){ &report->model, spans, count });
	for (size_t i = 0; i < count; i++) {
		if (is_covered(&spans[i]))
			span_name(report, &spans[i]);
		free(spans[i].events);
	}
	free(spans);
}
