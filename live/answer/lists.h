/* SPDX-License-Identifier: MIT */
/*
 * lists.h - the sections as lists, each the answer of a route.
 */
#ifndef HP_LIVE_ANSWER_LISTS_H
#define HP_LIVE_ANSWER_LISTS_H

#include "live/answer/route.h"

struct cJSON;

/*
 * The list of the route's section.  ?limit=N gives N rows of it (0 = all there
 * may be), ?calls=1 tells the last and slowest calls of functions, too.
 */
struct hp_answer *hp_list_render(struct hp_scene *scene, const struct hp_request *request);

/* A section in JSON, fresh. */
struct cJSON *hp_list_json(struct hp_scene *scene, const struct hp_section *section);

#endif
