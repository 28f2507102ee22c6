/* SPDX-License-Identifier: MIT */
/*
 * popup.h - the content of the open popup.
 */
#ifndef HP_LIVE_CONSOLE_STATE_POPUP_H
#define HP_LIVE_CONSOLE_STATE_POPUP_H

#include "live/console/state/app.h"

/* Number of lines of the open popup. */
size_t hp_popup_lines(const struct hp_app *app);

/* inspect.c: all data of the selected row, as lines; free with hp_lines_free. */
char **hp_inspect_lines(const struct hp_app *app, size_t *count);

/* stacks.c: stacks of all threads, as lines of the last answer of /stacks; the same. */
char **hp_stacks_lines(const struct hp_app *app, size_t *count);
void hp_lines_free(char **lines, size_t count);

#endif
