/* SPDX-License-Identifier: MIT */
/*
 * text.h - texts of a target as a terminal may have them, and what a number that
 * is written for people stands for.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TEXT_H
#define HP_LIVE_CONSOLE_STATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum hp_cut { HP_CUT_END, HP_CUT_MIDDLE };

/*
 * Writes `text` into `room` so that it takes at most `width` columns, an ellipsis
 * where something is missing.  Controls, marks that turn the direction of the line
 * and broken UTF-8 become '?'.  Where the terminal is not of UTF-8 the result is
 * ASCII.  Returns the columns it takes; `size` is of `room`, 4 * width + 1 is enough.
 */
size_t hp_console_fit(char *room, size_t size, const char *text, size_t width, enum hp_cut cut,
		      bool is_utf8);

/* Columns that the whole of it takes there. */
size_t hp_console_width(const char *text, bool is_utf8);

/*
 * "1.65 ms" -> 1650000 (ns), "4.5 KB" -> 4608 (bytes), "25,616", "~12.5%", "-1.0 KB".
 * False = it begins with no number.
 */
bool hp_console_number(const char *text, double *number);

/* Is `part` in `text`, whatever the case of ASCII letters?  "" is in all. */
bool hp_console_has(const char *text, const char *part);

#endif
