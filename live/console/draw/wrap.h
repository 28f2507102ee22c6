/* SPDX-License-Identifier: MIT */
/*
 * wrap.h - a text over several lines.
 */
#ifndef HP_LIVE_CONSOLE_DRAW_WRAP_H
#define HP_LIVE_CONSOLE_DRAW_WRAP_H

#include "live/console/draw/screen.h"

/* Writes a text in lines of at most `width` columns, from y on; returns their number. */
int hp_draw_wrapped(int y, int x, int width, int most, enum hp_ink ink, const char *text);

#endif
