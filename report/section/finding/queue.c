/* SPDX-License-Identifier: MIT */
/*
 * queue.c - see queue.h.
 */
#include "report/section/finding/queue.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/channel/row/name.h"

struct hp_busiest hp_survey_busiest(const struct hp_survey *survey)
{
	struct hp_busiest busiest = { .first = NULL };

	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];
		double ns = row->ran_ns + row->ready_ns;

		if (busiest.first && ns <= busiest.first_ns)
			continue;
		busiest.first_ns = ns;
		busiest.first = row;
	}
	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];

		if (row != busiest.first && row->ran_ns > busiest.second_ns)
			busiest.second_ns = row->ran_ns;
	}
	return busiest;
}

/* Another process's part of a channel is in no row of ours. */
const struct hp_channel_row *hp_queue_most(struct hp_survey *survey, bool is_full, size_t *place)
{
	const struct hp_channels *channels = hp_channel_rows(survey->report);
	const struct hp_channel_row *most = NULL;
	uint64_t ticks = 0;

	for (size_t i = 0; i < channels->count; i++) {
		const struct hp_channel_row *row = &channels->rows[i];
		const struct hp_channel_wait *wait = is_full ? &row->blocked : &row->starved;

		if (row->is_shared || !row->sent_count || !row->received_count ||
		    wait->ticks <= ticks)
			continue;
		ticks = wait->ticks;
		most = row;
		*place = i;
	}
	return most;
}

char *hp_queue_text(struct hp_survey *survey, size_t place)
{
	const struct hp_channel_row *row = &hp_channel_rows(survey->report)->rows[place];
	char *name = hp_text_clean(hp_channel_row_name(survey->report, place));
	char *text = hp_xprintf("%s %s", hp_channel_kind_name(row->kind), name);

	free(name);
	return text;
}

char *hp_thread_text(const struct hp_thread_row *row)
{
	char *name = hp_text_clean(row->thread->name);
	char *text = *name ? hp_xprintf("thread %u (%s)", row->thread->tid, name)
			   : hp_xprintf("thread %u", row->thread->tid);

	free(name);
	return text;
}
