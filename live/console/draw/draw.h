/* SPDX-License-Identifier: MIT */
/*
 * draw.h - the parts of a frame.  draw.c puts them in their places.
 *
 * Folder: live/console/draw - the console's frames out of its state, and the
 *   terminal
 * May use: live/console/state report/base report/name segment
 */
#ifndef HP_LIVE_CONSOLE_DRAW_DRAW_H
#define HP_LIVE_CONSOLE_DRAW_DRAW_H

#include "live/console/state/app.h"
#include "live/console/draw/screen.h"

/*
 * A table with its head in the area, which is of the rows and the head above
 * them; what of it is for rows is left in *rows.  Scrolls so that the chosen row
 * is seen.  Heads are noted as spots if `app` is given.
 */
void hp_draw_table(struct hp_table *table, struct hp_area area, bool has_focus, struct hp_app *app,
		   struct hp_area *rows);

/* One line, or more: CPU, bytes, waits side by side. */
void hp_draw_trend(const struct hp_app *app, int y, int height);

/* Whatever is open over the frame. */
void hp_draw_popup(struct hp_app *app);

enum hp_ink hp_ink_of_share(double share);

/* A whole frame. */
void hp_app_draw(struct hp_app *app);

#endif
