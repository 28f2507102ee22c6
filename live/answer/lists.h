/* SPDX-License-Identifier: MIT */
/*
 * lists.h - sections as lists, one per route.
 */
#ifndef HP_LIVE_ANSWER_LISTS_H
#define HP_LIVE_ANSWER_LISTS_H

#include "live/answer/route.h"

struct cJSON;

/*
 * The list of the route's section. ?limit=N returns N rows (0 = as many as
 * allowed), ?calls=1 adds the last and slowest calls of functions.
 */
struct hp_answer *hp_list_render(struct hp_snapshot *snapshot, const struct hp_request *request);

/* Adds `names_pending`, if names were missing. */
void hp_pending_add(const struct hp_snapshot *snapshot, struct cJSON *answer);

/* A section in JSON, fresh. */
struct cJSON *hp_list_json(struct hp_snapshot *snapshot, const struct hp_section *section);

#endif
