/* SPDX-License-Identifier: MIT */
/*
 * draw.h - the parts of a frame.  draw.c puts them in their places.
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

/* A text in lines of at most `width` columns, from y on; returns how many. */
int hp_draw_wrapped(int y, int x, int width, int most, enum hp_ink ink, const char *text);

/* How many lines the open popup has. */
size_t hp_popup_lines(const struct hp_app *app);

void hp_spot_add(struct hp_app *app, int kind, int number, int y, int x, int width);

enum hp_ink hp_ink_of_share(double share);

/* live/console/state/inspect.c: everything that is known of the chosen row, as lines; to be freed with hp_lines_free. */
char **hp_inspect_lines(const struct hp_app *app, size_t *count);
void hp_lines_free(char **lines, size_t count);

/* live/console/loop/keys.c: the table of keys, for help. */
struct hp_key_help {
	const char *keys;
	const char *what;
};
extern const struct hp_key_help hp_key_helps[];
extern const size_t hp_key_help_count;

#endif
