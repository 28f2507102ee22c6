/* SPDX-License-Identifier: MIT */
/*
 * routes.h - the table of routes: all that can be asked.
 *
 * Folder: live/routes - the table of all that can be asked, over HTTP, by MCP
 *   and by the console
 * May use: live/answer live/export report/base report/section
 *   report/section/channel report/section/core report/section/cpu
 *   report/section/memory report/section/mixed report/section/thread
 *   report/section/timing report/section/wait
 *
 * It stands above all that answers.  What serves it gets it as a parameter, so that
 * nothing below knows more of it than struct hp_routes.
 */
#ifndef HP_LIVE_ROUTES_ROUTES_H
#define HP_LIVE_ROUTES_ROUTES_H

#include "live/answer/route.h"

/* Made once, of the sections and of what else there is; it stays. */
const struct hp_routes *hp_routes(void);

#endif
