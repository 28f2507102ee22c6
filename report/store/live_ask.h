/* SPDX-License-Identifier: MIT */
/*
 * live_ask.h - requests the segments of many sessions at once.
 *
 * A stopped or fake helper does not answer. So all are asked at the same time,
 * with a common limit of 2 s.
 */
#ifndef HP_REPORT_STORE_LIVE_ASK_H
#define HP_REPORT_STORE_LIVE_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "report/store/live_find.h"

/* Gets a read-only descriptor, and closes it. */
typedef void (*hp_live_answer)(void *context, const struct hp_live_door *door, int fd);

/*
 * Calls `answer` for each that answers in time. Other users' helpers only
 * answer root and are only asked with `is_all`.
 */
void hp_live_ask(const struct hp_live_door *doors, size_t count, bool is_all, hp_live_answer answer,
		 void *context);

#endif
