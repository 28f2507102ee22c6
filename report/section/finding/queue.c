/* SPDX-License-Identifier: MIT */
/*
 * queue.c - see queue.h.
 */
#include "report/section/finding/queue.h"

#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/channel/row/name.h"

#define SIGNALS_MIN 0.9 /* of a condition's signals, by one thread */

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
	busiest.second_ns = hp_survey_other_ns(survey, busiest.first);
	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];

		if (row != busiest.first && row->ran_ns + row->ready_ns > busiest.second_wanted_ns)
			busiest.second_wanted_ns = row->ran_ns + row->ready_ns;
	}
	return busiest;
}

/* --- its threads --- */

static const struct hp_thread_row *row_of(const struct hp_survey *survey, uint32_t tid)
{
	for (size_t i = 0; i < survey->threads->count; i++)
		if (survey->threads->rows[i].thread->tid == tid)
			return &survey->threads->rows[i];
	return NULL;
}

static bool is_earlier(const struct hp_channel_message *messages, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (messages[i].record.tid == messages[at].record.tid)
			return true;
	return false;
}

static struct hp_queue_side side_of(const struct hp_survey *survey,
				    const struct hp_channel_message *messages, size_t count)
{
	struct hp_queue_side side = { .most = NULL };

	for (size_t i = 0; i < count; i++) {
		const struct hp_thread_row *row = row_of(survey, messages[i].record.tid);

		if (!row || is_earlier(messages, i))
			continue;
		side.count++;
		if (!side.most ||
		    row->ran_ns + row->ready_ns > side.most->ran_ns + side.most->ready_ns)
			side.most = row;
	}
	return side;
}

struct hp_queue_side hp_queue_senders(const struct hp_survey *survey,
				      const struct hp_channel_row *row)
{
	return side_of(survey, row->sent, row->sent_shown);
}

struct hp_queue_side hp_queue_receivers(const struct hp_survey *survey,
					const struct hp_channel_row *row)
{
	return side_of(survey, row->received, row->received_shown);
}

double hp_survey_other_ns(const struct hp_survey *survey, const struct hp_thread_row *row)
{
	double most = 0;

	for (size_t i = 0; i < survey->threads->count; i++)
		if (&survey->threads->rows[i] != row && survey->threads->rows[i].ran_ns > most)
			most = survey->threads->rows[i].ran_ns;
	return most;
}

/* --- a condition --- */

bool hp_wait_is_ended_by(const struct hp_locks *locks, const struct hp_lock_contest *contest,
			 uint32_t waker)
{
	uint64_t all = 0, own = 0;

	if (contest->from_tid)
		return contest->from_tid == waker;
	for (size_t i = 0; i < locks->poster_count; i++)
		if (locks->posters[i].lock == contest->lock) {
			all += locks->posters[i].count;
			own += locks->posters[i].tid == waker ? locks->posters[i].count : 0;
		}
	return (double)own >= SIGNALS_MIN * (double)all && all;
}

/* --- the channel --- */

/* Our rows do not include another process's part of a channel. */
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
