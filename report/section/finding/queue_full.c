/* SPDX-License-Identifier: MIT */
/*
 * queue_full.c - writers of a queue wait for its readers.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/channel/row/name.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"

#define BLOCKED_MIN 0.2	/* of the wall time */
#define WAITS_MIN 20

/* "its reader, thread 12 (worker), ran for 1.20 s": the busiest of several; fresh. */
static char *reader_text(const struct hp_queue_side *readers, const struct hp_busiest *busiest)
{
	const struct hp_thread_row *row = readers->most ? readers->most : busiest->first;
	char *thread = hp_thread_text(row), *text;
	struct hp_text_cell ran;

	hp_format_time(&ran, row->ran_ns);
	if (!readers->most)
		text = hp_xprintf("the busiest thread is %s", thread);
	else if (readers->count == 1)
		text = hp_xprintf("its reader, %s, ran for %s", thread, ran.text);
	else
		text = hp_xprintf("the busiest of its %zu readers, %s, ran for %s", readers->count,
				  thread, ran.text);
	free(thread);
	return text;
}

static void find(struct hp_survey *survey)
{
	size_t place = 0;
	const struct hp_channel_row *row = hp_queue_most(survey, true, &place);
	struct hp_busiest busiest = hp_survey_busiest(survey);
	struct hp_queue_side readers;
	double blocked, gain, most;
	struct hp_finding *finding;
	struct hp_text_cell count, time;
	char *reader, *queue;

	if (!row || survey->worked < 2 || row->blocked.count < WAITS_MIN)
		return;
	blocked = (double)row->blocked.ticks * survey->report->model.ns_per_tick;
	readers = hp_queue_receivers(survey, row);
	most = survey->wall_ns -
	       (readers.most ? hp_survey_other_ns(survey, readers.most) : busiest.second_ns);
	gain = blocked < most ? blocked : most;
	if (blocked < BLOCKED_MIN * survey->wall_ns || row->blocked.ticks < row->starved.ticks ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add(survey, &hp_rule_queue_full,
				 hp_text_clean(hp_channel_row_name(survey->report, place)));
	queue = hp_queue_text(survey, place);
	reader = reader_text(&readers, &busiest);
	finding->advice = hp_xprintf("The reader of %s is too slow: read with more threads, or do "
				     "less for each message.",
				     queue);
	finding->facts = hp_xprintf("writers waited %s times for room, %s in all; %s",
				    hp_format_count(&count, row->blocked.count),
				    hp_format_time(&time, blocked), reader);
	finding->gain_ns = gain;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_channels_section, hp_xstrdup(finding->subject),
			    hp_xstrdup(finding->facts));
	free(queue);
	free(reader);
}

static const struct hp_rule_over over[] = {
	{ "imbalance", false }, { "one-busy-thread", false }, { "small-io", false }, { NULL, false }
};

const struct hp_rule hp_rule_queue_full = {
	.key = "queue-full",
	.find = find,
	.over = over,
	.pattern = "Writers of a pipe or queue inside one process wait for room for at least 20% "
		   "of the wall time, at least 20 times, and for longer than readers wait for "
		   "messages.  The gain is that time, at most the wall time minus the work of the "
		   "busiest thread that does not read from it.",
	.wrong = "The reader is slow because it waits for something that a second one would wait "
		 "for too; or the messages must be handled one after the other.",
	.verify =
		"Add a second reader, or make the first one do less, and compare both with hotpath "
		"compare.",
};
