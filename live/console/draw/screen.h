/* SPDX-License-Identifier: MIT */
/*
 * screen.h - the terminal, using ncurses: capabilities, output, keys; and
 * restoring it however we end.
 *
 * Texts are untrusted UTF-8: unprintable characters are replaced, and terminals
 * without UTF-8 get ASCII.
 */
#ifndef HP_LIVE_CONSOLE_DRAW_SCREEN_H
#define HP_LIVE_CONSOLE_DRAW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/console/state/press.h"
#include "live/console/state/text.h"

enum hp_ink {
	HP_INK_PLAIN = 0,
	HP_INK_STRONG,
	HP_INK_DIM,
	HP_INK_TITLE,	/* our name */
	HP_INK_TAB,
	HP_INK_TAB_ON,
	HP_INK_SUB_ON,
	HP_INK_HEAD,	/* of columns */
	HP_INK_HEAD_SORT,
	HP_INK_CHOSEN,
	HP_INK_CHOSEN_AWAY,	/* the same without keyboard focus */
	HP_INK_HOT,
	HP_INK_WARM,
	HP_INK_MILD,
	HP_INK_COLD,
	HP_INK_GOOD,
	HP_INK_WARN,
	HP_INK_BAD,
	HP_INK_KEY,
	HP_INK_BOX,
	HP_INK_CPU,	/* time lines */
	HP_INK_BYTES,
	HP_INK_WAIT,
	HP_INKS
};

enum hp_side { HP_LEFT, HP_RIGHT };

struct hp_screen {
	int width, height;
	bool is_utf8;
	int colours;	/* 0 = none */
};

extern struct hp_screen hp_screen;

/* NULL = opened; else the reason and remedy, one line without our name. */
const char *hp_screen_open(void);
void hp_screen_close(void);

/*
 * Waits for a key, for `fd` to become readable, or for the timeout. Returns a
 * terminating signal, or 0; handles stops from the keyboard itself. -1 = the
 * terminal is gone.
 */
int hp_screen_wait(int fd, int timeout_ms);

/* The next press. False = none. */
bool hp_screen_press(struct hp_press *press);

void hp_screen_begin(void);	/* an empty frame */
void hp_screen_end(void);	/* shows it */

/* Writes a text of at most `width` columns, padded with blanks. */
void hp_put(int y, int x, int width, enum hp_ink ink, enum hp_side side, enum hp_cut cut,
	    const char *text);

/* Writes only the text (printf); returns its columns. */
int hp_print(int y, int x, enum hp_ink ink, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Columns that the text takes here. */
int hp_width(const char *text);

/* A box with a title, filled with blanks. */
void hp_box(int y, int x, int height, int width, const char *title);

/* A bar: `share` of `width` columns, from 0 to 1. */
void hp_bar(int y, int x, int width, enum hp_ink ink, double share);

/* One column of a graph `height` rows high, whose lowest row is at y: `share` from 0 to 1. */
void hp_graph(int y, int x, int height, enum hp_ink ink, double share);

void hp_cursor(int y, int x);	/* shown there; hidden again by hp_screen_begin */

#endif
