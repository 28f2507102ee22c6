/* SPDX-License-Identifier: MIT */
/*
 * stacks.h - the current stack of every thread, for HTTP and MCP.
 */
#ifndef HP_LIVE_ANSWER_STACKS_H
#define HP_LIVE_ANSWER_STACKS_H

#include "live/answer/route.h"

/* The stacks of the program, or with ?pid=N of one of its processes; an error answer if none
 * runs. */
struct hp_answer *hp_stacks_render(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
