/* SPDX-License-Identifier: MIT */
/*
 * loop_lag.c - an event loop that served nothing else for a long time.
 */
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/loop/loop.h"

#define LIFE_MIN 20	/* times HOTPATH_LOOP_LAG_MS: a shorter loop is mostly start and end */
#define BUSY_MAX 0.5	/* of its lifetime: a loop that is always busy has another problem */

/* Start-up precedes the first wait; the last span of an ended loop may be the program's end. */
static bool is_last(const struct hp_loop_span_row *row)
{
	return row->span.number >= row->loop->record.spans;	/* also HP_LOOP_TAIL */
}

static const struct hp_loop_span_row *longest(const struct hp_survey *survey, size_t *count)
{
	const struct hp_loops *loops = hp_loops_of(survey->report);
	double tick_ns = survey->report->model.ns_per_tick;
	double lag_ns = (double)survey->report->settings->loop_lag_ms * 1e6;
	const struct hp_loop_span_row *found = NULL;

	*count = 0;
	for (size_t i = 0; i < loops->span_count; i++) {
		const struct hp_loop_span_row *row = &loops->spans[i];
		double busy = (double)row->loop->busy_ticks - (double)row->loop->tail_ticks;
		double life = busy + (double)row->loop->wait_ticks;

		if ((double)row->span.ticks * tick_ns < lag_ns || is_last(row) ||
		    life * tick_ns < LIFE_MIN * lag_ns || busy > BUSY_MAX * life)
			continue;
		/* The longest come first. */
		found = found ? found : row;
		*count += row->loop == found->loop;
	}
	return found;
}

static void find(struct hp_survey *survey)
{
	size_t count;
	const struct hp_loop_span_row *row = longest(survey, &count);
	struct hp_finding *finding;
	struct hp_text_cell most;
	double ns;

	if (!row)
		return;
	ns = (double)row->span.ticks * survey->report->model.ns_per_tick;
	finding = hp_finding_add(survey, &hp_rule_loop_lag, hp_xstrdup(row->loop->name));
	finding->advice =
		row->what ? hp_xprintf("Take %s out of event loop %s, or split it: nothing else "
				       "is served meanwhile.",
				       row->what, row->loop->name)
			  : hp_xprintf("Split the longest work of event loop %s: nothing else is "
				       "served meanwhile.",
				       row->loop->name);
	finding->facts = hp_xprintf("busy for up to %s without a wait, %zu time%s above %llu ms",
				    hp_format_time(&most, ns), count, count == 1 ? "" : "s",
				    (unsigned long long)survey->report->settings->loop_lag_ms);
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_loops_section, hp_xstrdup(row->loop->name),
			    hp_xstrdup(finding->facts));
}

const struct hp_rule hp_rule_loop_lag = {
	.key = "loop-lag",
	.find = find,
	.pattern =
		"An event loop was busy for longer than HOTPATH_LOOP_LAG_MS (50) without a wait, "
		"existed for at least 20 times as long, and waited for at least half of its "
		"lifetime.  This is a fact: other events had to wait for that long.  The loop's "
		"last busy span does not count.",
	.wrong = "Nothing else was due: a program that computes now and then.",
	.verify = "Compare the longest busy span of both in hotpath report --report runtime.",
};
