/* SPDX-License-Identifier: MIT */
/*
 * text.h - makes a target's texts safe for a terminal, and parses formatted
 * numbers.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TEXT_H
#define HP_LIVE_CONSOLE_STATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum hp_cut { HP_CUT_END, HP_CUT_MIDDLE };

/*
 * Writes `text` into `room` in at most `width` columns, with an ellipsis for
 * omitted parts. Control characters, bidi marks and invalid UTF-8 become '?'.
 * Without UTF-8 the result is ASCII. Returns its columns; `size` is of `room`,
 * 4 * width + 1 is enough.
 */
size_t hp_console_fit(char *room, size_t size, const char *text, size_t width, enum hp_cut cut,
		      bool is_utf8);

/* Columns of the complete text. */
size_t hp_console_width(const char *text, bool is_utf8);

/*
 * "1.65 ms" -> 1650000 (ns), "4.5 KB" -> 4608 (bytes), "25,616", "~12.5%", "-1.0 KB".
 * False = does not begin with a number.
 */
bool hp_console_number(const char *text, double *number);

/* Does `text` contain `part`, ignoring ASCII case? "" always matches. */
bool hp_console_has(const char *text, const char *part);

#endif
