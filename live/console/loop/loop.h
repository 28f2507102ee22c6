/* SPDX-License-Identifier: MIT */
/*
 * loop.h - the console's main loop: requests the visible data, paints it, waits
 * for a key or news, and updates the state.
 *
 * Folder: live/console/loop - the running console: keys, data sources, and the loop between state
 *   and drawing
 * May use: live/answer live/cache live/console/draw live/console/state live/http live/routes
 *   report/base report/command report/store segment
 */
#ifndef HP_LIVE_CONSOLE_LOOP_LOOP_H
#define HP_LIVE_CONSOLE_LOOP_LOOP_H

#include "live/console/loop/feed.h"
#include "live/console/state/app.h"

/* Runs to the end. Returns the terminating signal, 0 = a key, -1 = the terminal is gone. */
int hp_loop_run(struct hp_app *app, struct hp_feed *feed);

#endif
