/* SPDX-License-Identifier: MIT */
/*
 * loop.h - the console as it runs: asks for what is visible, draws it, waits for a key
 * or for news, and lets these change the state.
 *
 * Folder: live/console/loop - the console as it runs: keys, sources of
 *   figures, and the loop between state and drawing
 * May use: live/answer live/cache live/console/draw live/console/state
 *   live/http live/routes report/base report/command report/store segment
 */
#ifndef HP_LIVE_CONSOLE_LOOP_LOOP_H
#define HP_LIVE_CONSOLE_LOOP_LOOP_H

#include "live/console/loop/feed.h"
#include "live/console/state/app.h"

/* Runs until it is over.  Returns the signal that ended it, 0 = a key, -1 = the terminal has gone. */
int hp_loop_run(struct hp_app *app, struct hp_feed *feed);

#endif
