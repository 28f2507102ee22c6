/* SPDX-License-Identifier: MIT */
/*
 * spin.c - a loop that reads memory until another thread changes it.
 *
 * The machine code shows it (report/elf/code.h): neither names nor debug information are needed to
 * tell it from a loop that computes.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/code.h"
#include "report/section/answer/owner.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1
#define AROUND 256 /* bytes before and after the loop: code that shares its samples, if it */
#define AROUND_MAX 0.1 /* does more than wait */
#define SPOTS_MAX 8 /* hottest addresses whose code is read */

/* An address with samples. */
struct spot {
	uint32_t object;
	uint32_t function;	/* the owner */
	uint64_t address;
	uint64_t ns;
	uint64_t samples;
};

struct spots {
	struct spot *list;	/* most first */
	size_t count;
	size_t room;
};

static int compare(const void *left, const void *right)
{
	const struct spot *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

static struct spots spots_make(const struct hp_survey *survey)
{
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(survey->report);
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);
	struct spots spots = { .count = 0 };
	struct hp_map places = HP_MAP_NONE;

	for (uint32_t i = 1; i < owners->count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[i]];
		uint32_t owner = owners->of_stack[i].function, *at;
		bool is_new;

		if (!stack->samples || stack->is_profiler || owner == HP_NONE ||
		    place->object == HP_NONE ||
		    survey->report->model.objects[place->object].is_profiler)
			continue;
		at = hp_map_at(&places, (uint64_t)owner << 32 | cpu->of_stack[i], &is_new);
		if (is_new) {
			*at = (uint32_t)spots.count;
			spots.list =
				hp_xgrow(spots.list, spots.count, &spots.room, sizeof(*spots.list));
			spots.list[spots.count++] =
				(struct spot){ place->object, owner, place->address, 0, 0 };
		}
		spots.list[*at].ns += stack->cpu_ns;
		spots.list[*at].samples += stack->samples;
	}
	hp_map_release(&places);
	if (spots.count)
		qsort(spots.list, spots.count, sizeof(*spots.list), compare);
	return spots;
}

/* All samples of one owner between two addresses. */
static struct spot range_sum(const struct spots *spots, const struct spot *of, uint64_t begin,
			     uint64_t end)
{
	struct spot sum = { of->object, of->function, begin, 0, 0 };

	for (size_t i = 0; i < spots->count; i++) {
		const struct spot *spot = &spots->list[i];

		if (spot->object != of->object || spot->function != of->function ||
		    spot->address < begin || spot->address >= end)
			continue;
		sum.ns += spot->ns;
		sum.samples += spot->samples;
	}
	return sum;
}

/* A condition that usually holds at once is part of a larger loop, which has samples, too. */
static bool is_alone(const struct spots *spots, const struct spot *sum,
		     const struct hp_code_loop *loop)
{
	uint64_t begin = loop->begin > AROUND ? loop->begin - AROUND : 0;
	struct spot all = range_sum(spots, sum, begin, loop->end + AROUND);

	return (double)(all.ns - sum->ns) <= AROUND_MAX * (double)sum->ns;
}

static void finding_add(struct hp_survey *survey, const struct spot *sum)
{
	double gain = hp_survey_worth(survey, (double)sum->ns);
	struct hp_finding *finding = hp_finding_add_function(survey, &hp_rule_spin, sum->function);
	char *where = hp_finding_where(finding);
	struct hp_text_cell time;

	finding->advice = hp_xprintf("%s waits in a loop that reads memory until another thread "
				     "changes it: sleep on a condition, a semaphore or a futex.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%.0f%%) in that loop",
				    hp_format_time(&time, (double)sum->ns),
				    100 * (double)sum->ns / survey->cpu_ns);
	/* With a spare core, a spinning thread delays nobody. */
	finding->gain_ns = survey->is_full && !survey->is_serial && hp_survey_is_worth(survey, gain)
				   ? gain
				   : 0;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, sum->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

static bool is_known(const struct spot *done, size_t count, const struct spot *spot)
{
	for (size_t i = 0; i < count; i++)
		if (done[i].function == spot->function)
			return true;
	return false;
}

static void find(struct hp_survey *survey)
{
	const struct hp_model *model = &survey->report->model;
	struct spot done[SPOTS_MAX];
	size_t count = 0;
	struct spots spots;

	if (!hp_survey_has_samples(survey))
		return;
	spots = spots_make(survey);
	for (size_t i = 0; i < spots.count && i < SPOTS_MAX; i++) {
		const struct spot *spot = &spots.list[i];
		struct hp_code_loop loop;
		struct hp_code code;

		if (!hp_owner_is_named(survey->report, spot->function) ||
		    is_known(done, count, spot) ||
		    !hp_code_read(&code, &model->objects[spot->object],
				  model->reader.header.created_unix_ns, spot->address) ||
		    !hp_code_waits(&code, spot->address, &loop))
			continue;
		done[count] = range_sum(&spots, spot, loop.begin, loop.end);
		if (done[count].samples >= HP_RULE_SAMPLES_OF &&
		    is_alone(&spots, &done[count], &loop) &&
		    (double)done[count].ns >= CPU_MIN * survey->cpu_ns)
			finding_add(survey, &done[count++]);
	}
	free(spots.list);
}

static const struct hp_rule_over over[] = { { "busy-wait", true }, { NULL, false } };

const struct hp_rule hp_rule_spin = {
	.key = "spin",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of the CPU time is spent in a loop whose machine code (x86-64) computes "
		"the same in each turn, from memory that the loop does not write, and little around it.  "
		"A gain in wall time is given only where all cores are in use; otherwise it is a fact.",
	.wrong = "The waits are shorter than sleeping and waking up.",
	.verify =
		"Use std::atomic::wait, a condition variable or a semaphore, and compare the CPU time "
		"of both with hotpath compare.",
};
