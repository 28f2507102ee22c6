/* SPDX-License-Identifier: MIT */
/*
 * live_ask.h - asks sessions for their segments, many at once.
 *
 * A helper that is stopped, or no helper at all, does not answer.  So all are asked at
 * the same time, and all together have 2 s.
 */
#ifndef HP_REPORT_STORE_LIVE_ASK_H
#define HP_REPORT_STORE_LIVE_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "report/store/live_find.h"

/* Gets a descriptor that cannot be written to, and closes it. */
typedef void (*hp_live_answer)(void *context, const struct hp_live_door *door, int fd);

/*
 * Calls `answer` for each that answers in time.  Of other users only root gets an
 * answer, and only with `is_all` they are asked.
 */
void hp_live_ask(const struct hp_live_door *doors, size_t count, bool is_all, hp_live_answer answer,
		 void *context);

#endif
