/* SPDX-License-Identifier: MIT */
/*
 * format.h - how numbers and names are written, in tables and JSON alike.
 *
 * All of it is independent of the locale.  Functions that take a `struct
 * hp_text_cell` write a short text into it and return its `text`.
 */
#ifndef HP_REPORT_BASE_FORMAT_H
#define HP_REPORT_BASE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

struct hp_text_cell {
	char text[48];
};

/* 17 ns, 1.50 µs, 2.00 ms, 3.25 s; the limits apply to the unrounded ns. */
const char *hp_format_time(struct hp_text_cell *cell, double ns);

/* The same glued, as in 123.86ms. */
const char *hp_format_elapsed(struct hp_text_cell *cell, uint64_t ns);

/* 17, 1,234 */
const char *hp_format_count(struct hp_text_cell *cell, uint64_t count);

/* A rate per second: one decimal below 100, else as a count. */
const char *hp_format_rate(struct hp_text_cell *cell, double rate);

/* 0 B, 1.5 KB, 2.0 MB */
const char *hp_format_bytes(struct hp_text_cell *cell, uint64_t bytes);

/* The same with a minus sign before it. */
const char *hp_format_signed_bytes(struct hp_text_cell *cell, double bytes);

/* 12.34% with 2 decimals, 99.9% with 1 */
const char *hp_format_percent(struct hp_text_cell *cell, double percent, int decimals);

/* 95, 99.9: without a fraction if there is none. */
const char *hp_format_percentile(struct hp_text_cell *cell, double percentile);

/* Columns of a terminal that UTF-8 text takes; bytes that aren't UTF-8 take one each. */
size_t hp_text_width(const char *text);

/* Bytes of the longest start of `text` that takes at most `width` columns. */
size_t hp_text_start(const char *text, size_t width);

/* A fresh copy in which control characters and broken UTF-8 are '?'. */
char *hp_text_clean(const char *text);

/* KILL, TERM, ...; NULL = unknown. */
const char *hp_format_signal(int number);

/*
 * Converts to an integer, towards 0: negative numbers and NaN give 0, too large
 * ones the maximum. A torn or hostile segment may give any sum.
 */
static inline uint64_t hp_whole(double number)
{
	if (!(number > 0))
		return 0;
	return number < 18446744073709551615.0 ? (uint64_t)number : UINT64_MAX;
}

#endif
