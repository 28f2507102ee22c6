/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - the functions of the program that used the CPU, with their callees.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/answer/answer.h"
#include "report/section/answer/owner.h"

#define ROW_MIN 0.02	/* of the CPU time, for a row */
#define CALLEE_MIN 0.01	/* of the CPU time, for callees */
#define CALLEE_OF_ROW 0.05	/* and of the row */

/* Functions by owner: samples. */
struct owned {
	uint32_t function;
	uint32_t launch;
	bool is_start;
	uint64_t ns;
	uint64_t samples;
};

/* One owner's callees. */
struct called {
	uint32_t callee;	/* a function, or the kernel function that was requested */
	bool is_kernel;
	uint64_t ns;
};

struct called_list {
	struct called *list;
	size_t count;
	size_t room;
};

static int compare_owned(const void *left, const void *right)
{
	const struct owned *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* Whose row a stack is in: without `ns` and `samples`. */
static struct owned owned_of(struct hp_report *report, const struct hp_answer *answer,
			     const struct hp_owner *owner)
{
	uint32_t object = owner->function == HP_NONE
				  ? HP_NONE
				  : hp_report_cpu(report)->functions[owner->function].object;

	if (hp_answer_is_launch(answer, object))
		return (struct owned){ .function = HP_NONE, .launch = object };
	return (struct owned){ .function = owner->function,
			       .launch = HP_NONE,
			       .is_start = owner->is_start };
}

static uint64_t key_of(const struct owned *owned)
{
	if (owned->launch != HP_NONE)
		return ((uint64_t)owned->launch + 1) << 34;
	return 2 * (uint64_t)owned->function + owned->is_start + 1;
}

/* All owners, most first; the caller frees the list. */
static struct owned *owned_list(struct hp_report *report, const struct hp_answer *answer,
				size_t *count)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(report);
	struct hp_map places = HP_MAP_NONE;
	struct owned *list = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < owners->count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		struct owned owned;
		uint32_t *place;
		bool is_new;

		if (stack->is_profiler || !stack->samples)
			continue;
		owned = owned_of(report, answer, &owners->of_stack[i]);
		place = hp_map_at(&places, key_of(&owned), &is_new);
		if (is_new) {
			list = hp_xgrow(list, *count, &room, sizeof(*list));
			list[*count] = owned;
			*place = (uint32_t)(*count)++;
		}
		list[*place].ns += stack->cpu_ns;
		list[*place].samples += stack->samples;
	}
	hp_map_release(&places);
	if (*count)
		qsort(list, *count, sizeof(*list), compare_owned);
	return list;
}

/* --- its callees --- */

static bool is_same(const struct hp_report *report, const struct called *called, uint32_t callee,
		    bool is_kernel)
{
	char *a, *b;
	bool same;

	if (called->is_kernel != is_kernel)
		return false;
	if (called->callee == callee || !is_kernel)
		return called->callee == callee;
	/* Several of the kernel's functions are one system call. */
	a = hp_owner_entry_text(report, called->callee);
	b = hp_owner_entry_text(report, callee);
	same = strcmp(a, b) == 0;
	free(a);
	free(b);
	return same;
}

static void called_add(const struct hp_report *report, struct called_list *calls, uint32_t callee,
		       bool is_kernel, uint64_t ns)
{
	for (size_t i = 0; i < calls->count; i++)
		if (is_same(report, &calls->list[i], callee, is_kernel)) {
			calls->list[i].ns += ns;
			return;
		}
	calls->list = hp_xgrow(calls->list, calls->count, &calls->room, sizeof(*calls->list));
	calls->list[calls->count++] = (struct called){ callee, is_kernel, ns };
}

static int compare_called(const void *left, const void *right)
{
	const struct called *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* A processor-specific copy of a function, such as __memset_avx2_unaligned_erms, has the
 * function's name. */
static void variant_cut(char *name)
{
	static const char *const kinds[] = { "__mem", "__str", "__wcs", "__wmem" };
	static const char *const variants[] = { "_sse", "_ssse", "_avx", "_evex", "_erms" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(name, kinds[i], strlen(kinds[i])) != 0)
			continue;
		for (size_t j = 0; j < sizeof(variants) / sizeof(variants[0]); j++) {
			char *variant = strstr(name, variants[j]);

			if (variant)
				*variant = 0;
		}
		memmove(name, name + 2, strlen(name + 2) + 1);
	}
}

/* A stub for a library's function has that function's name. */
static char *callee_name(struct hp_report *report, const struct called *called)
{
	const char *name;
	char *text, *stub;

	if (called->is_kernel)
		return hp_owner_entry_text(report, called->callee);
	name = hp_cpu_name(report, &hp_report_cpu(report)->functions[called->callee]);
	text = hp_answer_name(report, name);
	stub = strchr(text, '@');
	if (stub)
		*stub = 0;
	variant_cut(text);
	return text;
}

static bool is_of(struct hp_report *report, const struct hp_answer *answer,
		  const struct hp_answer_cpu *row, const struct hp_owner *owner)
{
	struct owned owned = owned_of(report, answer, owner);

	return owned.function == row->function && owned.launch == row->launch &&
	       owned.is_start == row->is_start;
}

static void callees_set(struct hp_report *report, const struct hp_answer *answer,
			struct hp_answer_cpu *row)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(report);
	struct called_list calls = { .list = NULL };

	for (size_t i = 0; i < owners->count; i++) {
		const struct hp_owner *owner = &owners->of_stack[i];
		const struct hp_model_stack *stack = &sampling->stacks[i];

		if (stack->is_profiler || !stack->samples || !is_of(report, answer, row, owner))
			continue;
		if (owner->entry != HP_NONE)
			called_add(report, &calls, owner->entry, true, stack->cpu_ns);
		else if (owner->callee != HP_NONE)
			called_add(report, &calls, owner->callee, false, stack->cpu_ns);
	}
	if (calls.count)
		qsort(calls.list, calls.count, sizeof(*calls.list), compare_called);
	for (size_t i = 0; i < calls.count && row->callee_count < HP_ANSWER_CALLEES; i++) {
		const struct called *called = &calls.list[i];

		if ((double)called->ns < CALLEE_MIN * (double)answer->cpu_ns ||
		    (double)called->ns < CALLEE_OF_ROW * (double)row->ns)
			break;
		row->callees[row->callee_count++] =
			(struct hp_answer_callee){ callee_name(report, called), called->is_kernel,
						   called->ns };
	}
	free(calls.list);
}

/* --- where in the source --- */

/* The line of the function with most samples, its callees' included. */
static void line_set(struct hp_report *report, const struct hp_answer *answer,
		     struct hp_answer_cpu *row)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);
	const struct hp_owners *owners = hp_owners_of(report);
	struct hp_map lines = HP_MAP_NONE;
	uint64_t *sums = NULL, most = 0;
	size_t count = 0, room = 0;

	for (size_t i = 0; i < owners->count; i++) {
		const struct hp_owner *owner = &owners->of_stack[i];
		const struct hp_model_stack *stack = &report->model.sampling.stacks[i];
		const struct hp_cpu_frame *frame;
		uint32_t *place;
		bool is_new;

		if (stack->is_profiler || !stack->samples || !is_of(report, answer, row, owner))
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
		sums[*place] += stack->cpu_ns;
		if (sums[*place] > most) {
			most = sums[*place];
			row->file = frame->file;
			row->line = frame->line;
		}
	}
	free(sums);
	hp_map_release(&lines);
}

static void calls_set(struct hp_report *report, struct hp_answer_cpu *row)
{
	uint32_t instrumented = hp_report_cpu(report)->functions[row->function].instrumented;

	if (instrumented != HP_NONE)
		row->calls = report->model.functions[instrumented].calls;
}

/* The program's name, or what kind of work it was. */
static char *other_name(const struct hp_report *report, const struct owned *owned)
{
	if (owned->launch != HP_NONE)
		return hp_xprintf("[%s]", hp_model_object_name(&report->model, owned->launch));
	return hp_xstrdup(owned->is_start ? "[start and end]" : "[unknown]");
}

static void row_set(struct hp_report *report, const struct hp_answer *answer,
		    struct hp_answer_cpu *row, const struct owned *owned)
{
	*row = (struct hp_answer_cpu){ .function = owned->function,
				       .launch = owned->launch,
				       .is_start = owned->is_start,
				       .ns = owned->ns,
				       .samples = owned->samples };
	callees_set(report, answer, row);
	if (owned->function == HP_NONE) {
		row->name = other_name(report, owned);
		return;
	}
	row->name = hp_answer_function(report, owned->function);
	line_set(report, answer, row);
	calls_set(report, row);
}

/* --- by the hooks --- */

static int compare_timed(const void *left, const void *right)
{
	const struct hp_model_function *a = *(const struct hp_model_function *const *)left;
	const struct hp_model_function *b = *(const struct hp_model_function *const *)right;

	if (a->self_ns > b->self_ns || a->self_ns < b->self_ns)
		return a->self_ns > b->self_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void timed_make(struct hp_report *report, struct hp_answer *answer)
{
	const struct hp_model *model = &report->model;
	const struct hp_model_function **list = hp_xcalloc(model->function_count, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];

		if (!f->calls || f->self_ns <= 0 || !hp_report_allows(report, f))
			continue;
		answer->timed_ns += f->self_ns;
		list[count++] = f;
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_timed);
	for (size_t i = 0; i < count && i < HP_ANSWER_CPU; i++) {
		if (list[i]->self_ns < ROW_MIN * answer->timed_ns)
			break;
		answer->timed[answer->timed_count++] =
			(struct hp_answer_timed){ hp_report_short_name(report, list[i]),
						  list[i]->self_ns, list[i]->calls };
	}
	free(list);
}

void hp_answer_cpu_make(struct hp_report *report, struct hp_answer *answer)
{
	struct owned *list = NULL;
	size_t count = 0;

	if (report->model.sampling.is_there) {
		const struct hp_cpu *cpu = hp_report_cpu(report);

		answer->cpu_ns = cpu->total_ns;
		answer->samples = cpu->total_samples;
		answer->effective = hp_sampling_effective(&report->model.sampling,
							  cpu->total_samples, cpu->total_ns);
	}
	if (answer->samples < HP_ANSWER_SAMPLES) {
		timed_make(report, answer);
		return;
	}
	list = owned_list(report, answer, &count);
	for (size_t i = 0; i < count; i++) {
		if (answer->cpu_count == HP_ANSWER_CPU ||
		    (double)list[i].ns < ROW_MIN * (double)answer->cpu_ns) {
			answer->cpu_more = count - i;
			break;
		}
		row_set(report, answer, &answer->cpu[answer->cpu_count++], &list[i]);
	}
	free(list);
}
