/* SPDX-License-Identifier: MIT */
/*
 * routes.h - the table of routes.
 *
 * Folder: live/routes - the table of routes for HTTP, MCP and the console
 * May use: live/answer live/export report/base report/section report/section/channel
 *   report/section/core report/section/cpu report/section/loop report/section/memory
 *   report/section/future report/section/mixed report/section/stream report/section/thread report/section/timing report/section/value
 *   report/section/wait
 *
 * It is above all answering code. Servers get it as a parameter, so that lower
 * layers only know struct hp_routes.
 */
#ifndef HP_LIVE_ROUTES_ROUTES_H
#define HP_LIVE_ROUTES_ROUTES_H

#include "live/answer/route.h"

/* Built once from the sections and the other routes; never freed. */
const struct hp_routes *hp_routes(void);

#endif
