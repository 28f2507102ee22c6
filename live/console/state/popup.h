/* SPDX-License-Identifier: MIT */
/*
 * popup.h - what is in the popup that is open.
 */
#ifndef HP_LIVE_CONSOLE_STATE_POPUP_H
#define HP_LIVE_CONSOLE_STATE_POPUP_H

#include "live/console/state/app.h"

/* How many lines the open popup has. */
size_t hp_popup_lines(const struct hp_app *app);

/* inspect.c: everything that is known of the chosen row, as lines; to be freed with hp_lines_free. */
char **hp_inspect_lines(const struct hp_app *app, size_t *count);
void hp_lines_free(char **lines, size_t count);

#endif
