/* SPDX-License-Identifier: MIT */
/*
 * callers.h - callers and callees of one function over all paths, level by
 * level, as in `hotpath report --callers` and `--callees`.
 */
#ifndef HP_LIVE_ANSWER_CALLERS_H
#define HP_LIVE_ANSWER_CALLERS_H

#include "live/answer/route.h"

/* GET /functions_timing/{id}/callers, /callees; ?limit=N nodes, the heaviest. */
struct hp_answer *hp_callers_render(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_callees_render(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
