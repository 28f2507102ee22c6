/* SPDX-License-Identifier: MIT */
/*
 * near.h - find the word nearest to a misspelt one.
 *
 * It uses the Levenshtein distance: missing, extra and replaced letters. Case
 * is ignored, and - equals _.
 */
#ifndef HP_UTIL_NEAR_H
#define HP_UTIL_NEAR_H

#include <stddef.h>
#include <stdint.h>

#define HP_NEAR_MAX 63	/* letters that are compared */

static inline char hp_near_letter(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c == '-' ? '_' : c);
}

static inline unsigned hp_near_least(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

static inline unsigned hp_near(const char *a, size_t a_length, const char *b, size_t b_length)
{
	uint8_t row[HP_NEAR_MAX + 1];	/* distances of the first letters of `a` to those of `b` */

	a_length = a_length < HP_NEAR_MAX ? a_length : HP_NEAR_MAX;
	b_length = b_length < HP_NEAR_MAX ? b_length : HP_NEAR_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = (uint8_t)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned before = row[0];	/* of one letter less of both */

		row[0] = (uint8_t)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned other = hp_near_letter(a[i - 1]) != hp_near_letter(b[j - 1]);
			unsigned now = hp_near_least(row[j] + 1u, row[j - 1] + 1u, before + other);

			before = row[j];
			row[j] = (uint8_t)now;
		}
	}
	return row[b_length];
}

#endif
