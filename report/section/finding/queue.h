/* SPDX-License-Identifier: MIT */
/*
 * queue.h - shared parts of the rules about channels.
 */
#ifndef HP_REPORT_SECTION_FINDING_QUEUE_H
#define HP_REPORT_SECTION_FINDING_QUEUE_H

#include "report/section/channel/row/channel.h"
#include "report/section/finding/rule.h"

/* Of the threads that ran or were ready longest: the first, and the second. */
struct hp_busiest {
	const struct hp_thread_row *first;
	double first_ns;
	double second_ns;
};

struct hp_busiest hp_survey_busiest(const struct hp_survey *survey);

/* The row with the longest waits of a side: for room (`is_full`), or for a message. */
const struct hp_channel_row *hp_queue_most(struct hp_survey *survey, bool is_full, size_t *place);

/* "worker (tid 123)"; fresh. */
char *hp_thread_text(const struct hp_thread_row *row);

#endif
