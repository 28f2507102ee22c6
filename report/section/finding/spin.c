/* SPDX-License-Identifier: MIT */
/*
 * spin.c - a loop that reads memory until another thread changes it.
 *
 * The machine code shows it (report/elf/code.h): neither names nor debug information are needed to
 * tell it from a loop that computes.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/elf/code.h"
#include "report/section/answer/owner.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/spots.h"

#define CPU_MIN 0.1
#define EXCHANGE_MIN 0.3 /* for an atomic exchange: usually it succeeds at once */
#define SPOTS_MAX 8 /* hottest addresses whose code is read */

static void finding_add(struct hp_survey *survey, const struct hp_spot *sum, bool is_lock)
{
	double gain = hp_survey_worth(survey, (double)sum->ns);
	struct hp_finding *finding = hp_finding_add_function(survey, &hp_rule_spin, sum->function);
	char *where = hp_finding_where(finding);
	struct hp_text_cell time, share;

	finding->advice =
		is_lock ? hp_xprintf(
				  "%s tries to take a lock in a loop that never sleeps: use a mutex, "
				  "or hold the lock for less time.",
				  where)
			: hp_xprintf("%s waits in a loop that reads memory until another thread "
				     "changes it: sleep on a condition, a semaphore or a futex.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) in that loop",
				    hp_format_time(&time, (double)sum->ns),
				    hp_survey_share(survey, (double)sum->ns, &share));
	/* With a spare core, a spinning thread delays nobody. */
	finding->gain_ns = survey->is_full && !survey->is_serial && hp_survey_is_worth(survey, gain)
				   ? gain
				   : 0;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, sum->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

static bool is_known(const struct hp_spot *done, size_t count, const struct hp_spot *spot)
{
	for (size_t i = 0; i < count; i++)
		if (done[i].function == spot->function)
			return true;
	return false;
}

static void find(struct hp_survey *survey)
{
	const struct hp_model *model = &survey->report->model;
	struct hp_spot done[SPOTS_MAX];
	size_t count = 0;
	struct hp_spots spots;

	if (!hp_survey_has_samples(survey))
		return;
	spots = hp_spots_make(survey);
	for (size_t i = 0; i < spots.count && i < SPOTS_MAX; i++) {
		const struct hp_spot *spot = &spots.list[i];
		struct hp_code_loop loop;
		struct hp_code code;

		if (!hp_owner_is_named(survey->report, spot->function) ||
		    is_known(done, count, spot) ||
		    !hp_code_read(&code, &model->objects[spot->object],
				  model->reader.header.created_unix_ns, spot->address) ||
		    !hp_code_waits(&code, spot->address, &loop))
			continue;
		if (loop.is_exchange && survey->worked < 2)
			continue;
		done[count] = hp_spots_sum(&spots, spot, loop.begin, loop.end);
		if (done[count].samples >= HP_RULE_SAMPLES_OF &&
		    hp_spots_are_alone(&spots, &done[count], &loop) &&
		    (double)done[count].ns >=
			    (loop.is_exchange ? EXCHANGE_MIN : CPU_MIN) * survey->cpu_ns)
			finding_add(survey, &done[count++], loop.is_exchange);
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
		"the same in each turn, from memory that the loop does not write, and little around it; 30% "
		"and two threads, if it takes a lock with an atomic exchange.  "
		"A gain in wall time is given only where all cores are in use; otherwise it is a fact.",
	.wrong = "The waits are shorter than sleeping and waking up.",
	.verify =
		"Use std::atomic::wait, a condition variable or a semaphore, and compare the CPU time "
		"of both with hotpath compare.",
};
