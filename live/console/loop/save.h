/* SPDX-License-Identifier: MIT */
/*
 * save.h - saves the current report in a file. Existing files are never
 * touched.
 */
#ifndef HP_LIVE_CONSOLE_LOOP_SAVE_H
#define HP_LIVE_CONSOLE_LOOP_SAVE_H

#include "live/console/state/app.h"

/* Writes the body to a new file in the current folder, and shows its name. */
void hp_app_save(struct hp_app *app, const struct hp_heard *heard);

#endif
