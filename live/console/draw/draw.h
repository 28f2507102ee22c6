/* SPDX-License-Identifier: MIT */
/*
 * draw.h - the parts of a frame.  draw.c puts them in their places.
 *
 * Folder: live/console/draw - draws the console's state, and the terminal
 * May use: live/console/state report/base report/name segment
 */
#ifndef HP_LIVE_CONSOLE_DRAW_DRAW_H
#define HP_LIVE_CONSOLE_DRAW_DRAW_H

#include "live/console/state/app.h"
#include "live/console/draw/screen.h"

/*
 * Draws a table with its header into the area; *rows becomes the part for rows.
 * Scrolls to show the selected row. Registers headers as spots if `app` is
 * given.
 */
void hp_draw_table(struct hp_table *table, struct hp_area area, bool has_focus, struct hp_app *app,
		   struct hp_area *rows);

/*
 * A fresh copy of a name as in tables, truncated to the width. A source
 * location after the name is dropped if both do not fit. NULL: use the text as
 * it is, since it isn't a C++ or Rust name, or a path, which is cut at its end.
 */
char *hp_draw_name(const char *text, int width);

/* One line, or more: CPU, bytes, waits side by side. */
void hp_draw_trend(const struct hp_app *app, int y, int height);

/* The open popup. */
void hp_draw_popup(struct hp_app *app);

enum hp_ink hp_ink_of_share(double share);

/* A whole frame. */
void hp_app_draw(struct hp_app *app);

#endif
