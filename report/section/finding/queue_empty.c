/* SPDX-License-Identifier: MIT */
/*
 * queue_empty.c - readers of a queue wait for the one thread that fills it.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/channel/row/name.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"

#define STARVED_MIN 0.3	/* of the wall time */
#define BUSY_MIN 0.7	/* of it, for the writer */
#define READER_MAX 0.3	/* of it, for all others */
#define READER_MIN 0.05	/* of it, for readers of single bytes */

/*
 * Runtimes wake up a thread for signals or finalizers by a byte in a pipe. That thread is no stage
 * of the work, and waits most of the time as it should.
 */
static bool only_wakes(const struct hp_survey *survey, const struct hp_channel_row *row)
{
	struct hp_queue_side readers = hp_queue_receivers(survey, row);

	return row->received_bytes <= row->received_count && readers.most &&
	       (double)readers.most->ran_ns < READER_MIN * survey->wall_ns;
}

static void find(struct hp_survey *survey)
{
	size_t place = 0;
	const struct hp_channel_row *row = hp_queue_most(survey, false, &place);
	struct hp_busiest busiest = hp_survey_busiest(survey);
	struct hp_queue_side writers;
	double starved, gain, cores;
	struct hp_finding *finding;
	struct hp_text_cell count, time, busy;
	char *writer, *queue;

	if (!row || survey->worked < 2 || survey->cores < 2)
		return;
	writers = hp_queue_senders(survey, row);
	if (writers.most && writers.most != busiest.first)
		return;
	starved = (double)row->starved.ticks * survey->report->model.ns_per_tick;
	cores = (double)survey->worked < survey->cores ? (double)survey->worked : survey->cores;
	gain = busiest.first_ns * (1 - 1 / cores);
	if (starved < STARVED_MIN * survey->wall_ns ||
	    busiest.first_ns < BUSY_MIN * survey->wall_ns ||
	    /* Others had the cores: it is not known to be too slow. */
	    busiest.first->ready_ns > busiest.first->ran_ns ||
	    busiest.second_ns > READER_MAX * survey->wall_ns ||
	    /* As busy, but for want of a core. */
	    busiest.second_wanted_ns > BUSY_MIN * survey->wall_ns || only_wakes(survey, row) ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add(survey, &hp_rule_queue_empty,
				 hp_text_clean(hp_channel_row_name(survey->report, place)));
	queue = hp_queue_text(survey, place);
	writer = hp_thread_text(busiest.first);
	finding->advice = hp_xprintf("One thread cannot fill %s fast enough: write with more "
				     "threads, or let the readers do part of the work.",
				     queue);
	finding->facts =
		hp_xprintf("readers waited %s times, %s in all; %s%s was busy for %s",
			   hp_format_count(&count, row->starved.count),
			   hp_format_time(&time, starved), writers.most ? "its writer, " : "",
			   writer, hp_format_time(&busy, busiest.first_ns));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_channels_section, hp_xstrdup(finding->subject),
			    hp_xstrdup(finding->facts));
	free(queue);
	free(writer);
}

static const struct hp_rule_over over[] = {
	{ "imbalance", false }, { "one-busy-thread", false }, { "small-io", false }, { NULL, false }
};

const struct hp_rule hp_rule_queue_empty = {
	.key = "queue-empty",
	.find = find,
	.over = over,
	.pattern =
		"Readers of a pipe or queue inside one process wait for messages for at least 30% "
		"of the wall time, the thread that writes is busy for at least 70% of it, mostly with a core, and no "
		"other thread is for more than 30%, or would be with more cores.  If messages are single bytes, a reader runs for at "
		"least 5%.  The gain is the busy thread's work on all cores.",
	.wrong = "The work of the busy thread cannot be divided.",
	.verify = "Add a second writer, and compare both with hotpath compare.",
};
