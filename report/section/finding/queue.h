/* SPDX-License-Identifier: MIT */
/*
 * queue.h - shared parts of the rules about channels.
 */
#ifndef HP_REPORT_SECTION_FINDING_QUEUE_H
#define HP_REPORT_SECTION_FINDING_QUEUE_H

#include "report/section/channel/row/channel.h"
#include "report/section/finding/rule.h"
#include "report/section/wait/lock.h"

/* The threads of one side of a channel, from the messages with a recorded thread. */
struct hp_queue_side {
	const struct hp_thread_row
		*most; /* the one that ran or was ready longest; NULL = not known */
	size_t count; /* threads */
};

struct hp_busiest {
	const struct hp_thread_row *first;	/* the thread that ran or was ready longest */
	double first_ns;
	double second_ns;	/* the longest time that any other thread ran: without a processor it does nothing */
	double second_wanted_ns;	/* the longest that any other thread ran or was ready */
};

struct hp_busiest hp_survey_busiest(const struct hp_survey *survey);

struct hp_queue_side hp_queue_senders(const struct hp_survey *survey,
				      const struct hp_channel_row *row);
struct hp_queue_side hp_queue_receivers(const struct hp_survey *survey,
					const struct hp_channel_row *row);

/* The most that any thread ran, except this one. */
double hp_survey_other_ns(const struct hp_survey *survey, const struct hp_thread_row *row);

/*
 * True if this thread ended the waits for a condition: it ended the longest one, if that is
 * recorded; else most signals are its own.
 */
bool hp_wait_is_ended_by(const struct hp_locks *locks, const struct hp_lock_contest *contest,
			 uint32_t waker);

/* The row with the longest waits of a side: for room (`is_full`), or for a message. */
const struct hp_channel_row *hp_queue_most(struct hp_survey *survey, bool is_full, size_t *place);

/* "pipe main.c:12"; fresh. */
char *hp_queue_text(struct hp_survey *survey, size_t place);

/* "worker (tid 123)"; fresh. */
char *hp_thread_text(const struct hp_thread_row *row);

#endif
