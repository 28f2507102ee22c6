/* SPDX-License-Identifier: MIT */
/*
 * save.h - the present report in a file.  An existing file is never touched.
 */
#ifndef HP_LIVE_CONSOLE_LOOP_SAVE_H
#define HP_LIVE_CONSOLE_LOOP_SAVE_H

#include "live/console/state/app.h"

/* Writes the body to a file of its own here, and says its name. */
void hp_app_save(struct hp_app *app, const struct hp_heard *heard);

#endif
