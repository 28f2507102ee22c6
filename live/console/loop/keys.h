/* SPDX-License-Identifier: MIT */
/*
 * keys.h - key and mouse actions. They change the state and never paint.
 */
#ifndef HP_LIVE_CONSOLE_LOOP_KEYS_H
#define HP_LIVE_CONSOLE_LOOP_KEYS_H

#include "live/console/state/app.h"
#include "live/console/state/press.h"

void hp_app_press(struct hp_app *app, const struct hp_press *press);

#endif
