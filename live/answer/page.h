/* SPDX-License-Identifier: MIT */
/*
 * page.h - answers for the web page, and the default report as lines.
 */
#ifndef HP_LIVE_ANSWER_PAGE_H
#define HP_LIVE_ANSWER_PAGE_H

#include "live/answer/route.h"

struct hp_answer *hp_overview_render(struct hp_snapshot *snapshot,
				     const struct hp_request *request);

/* The default report, for `columns` (80), as lines in JSON or as text. */
struct hp_answer *hp_answers_render(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_answers_text(struct hp_snapshot *snapshot, const struct hp_request *request);

/* The page with its data inside, as a file. */
struct hp_answer *hp_page_render(struct hp_snapshot *snapshot, const struct hp_request *request);

/* ?seconds=N: only the last N seconds. */
struct hp_answer *hp_timeline_render(struct hp_snapshot *snapshot,
				     const struct hp_request *request);
struct hp_answer *hp_flame_render(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
