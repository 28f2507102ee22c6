/* SPDX-License-Identifier: MIT */
/*
 * text.c - values as text for people.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/value/value.h"

const char *hp_value_kind_name(uint32_t kind)
{
	static const char *const names[HP_VALUE_KINDS] = { "", "dbg", "val", "gauge" };

	return kind < HP_VALUE_KINDS ? names[kind] : "";
}

char *hp_value_source(const char *file, uint32_t line)
{
	const char *slash = NULL, *before = NULL;

	for (const char *c = file; *c; c++)
		if (*c == '/') {
			before = slash;
			slash = c;
		}
	return hp_xprintf("%s:%u", before ? before + 1 : file, line);
}

static double double_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

/* The fewest digits that identify the number. */
static char *double_text(double number, int digits, int most)
{
	char room[64];

	do
		snprintf(room, sizeof(room), "%.*g", digits, number);
	while (digits++ < most && isfinite(number) && strtod(room, NULL) != number);
	return hp_xstrdup(room);
}

/* The value was a float: the same with its fewer digits. */
static char *float_text(double number)
{
	char room[64];
	int digits = 6;

	do
		snprintf(room, sizeof(room), "%.*g", digits, number);
	while (digits++ < 9 && isfinite(number) && strtof(room, NULL) != (float)number);
	return hp_xstrdup(room);
}

static char *wide_text(const char bytes[HP_VALUE_BYTES], bool is_signed)
{
	__extension__ unsigned __int128 rest;
	char room[48], *at = room + sizeof(room);
	bool is_less;

	memcpy(&rest, bytes, sizeof(rest));
	is_less = is_signed && rest >> 127;
	if (is_less)
		rest = -rest;
	*--at = 0;
	do
		*--at = (char)('0' + (int)(rest % 10));
	while (rest /= 10);
	if (is_less)
		*--at = '-';
	return hp_xstrdup(at);
}

static char *quoted(const struct hp_value_seen *seen)
{
	uint32_t length = (uint32_t)seen->bits;
	char text[HP_VALUE_BYTES + 1], *clean, *whole;

	length = length > HP_VALUE_BYTES ? HP_VALUE_BYTES : length;
	memcpy(text, seen->bytes, length);
	text[length] = 0;
	clean = hp_text_clean(text);
	whole = hp_xprintf("\"%s\"%s", clean, seen->bits & HP_VALUE_CUT ? "..." : "");
	free(clean);
	return whole;
}

static char *char_text(uint64_t bits)
{
	unsigned char c = (unsigned char)bits;

	return c >= ' ' && c < 127 ? hp_xprintf("'%c'", c) : hp_xprintf("'\\x%02x'", c);
}

static char *complex_text(const char bytes[HP_VALUE_BYTES])
{
	double part[2];

	memcpy(part, bytes, sizeof(part));
	return hp_xprintf("%g%+gi", part[0], part[1]);
}

static char *long_text(const char bytes[HP_VALUE_BYTES])
{
	long double number = 0;

	memcpy(&number, bytes, sizeof(number));
	return hp_xprintf("%.18Lg", number);
}

char *hp_shown_text(const struct hp_value_seen *seen)
{
	if (!seen->number)
		return hp_xstrdup("-");
	switch (seen->type) {
	case HP_VALUE_BOOL:
		return hp_xstrdup(seen->bits ? "true" : "false");
	case HP_VALUE_CHAR:
		return char_text(seen->bits);
	case HP_VALUE_INT:
		return hp_xprintf("%" PRId64, (int64_t)seen->bits);
	case HP_VALUE_UINT:
		return hp_xprintf("%" PRIu64, seen->bits);
	case HP_VALUE_DOUBLE:
		return double_text(double_of(seen->bits), 15, 17);
	case HP_VALUE_FLOAT:
		return float_text(double_of(seen->bits));
	case HP_VALUE_POINTER:
		return hp_xprintf("0x%" PRIx64, seen->bits);
	case HP_VALUE_TEXT:
		return quoted(seen);
	case HP_VALUE_UNREADABLE:
		return seen->bits ? hp_xprintf("0x%" PRIx64 " (no text)", seen->bits)
				  : hp_xstrdup("NULL");
	case HP_VALUE_WIDE:
	case HP_VALUE_UWIDE:
		return wide_text(seen->bytes, seen->type == HP_VALUE_WIDE);
	case HP_VALUE_LONG:
		return long_text(seen->bytes);
	case HP_VALUE_COMPLEX:
		return complex_text(seen->bytes);
	default:
		return hp_xprintf("(%" PRIu64 " bytes)", seen->bits);
	}
}

bool hp_value_number(const struct hp_value_seen *seen, double *number)
{
	if (!seen->number)
		return false;
	switch (seen->type) {
	case HP_VALUE_BOOL:
	case HP_VALUE_UINT:
		*number = (double)seen->bits;
		return true;
	case HP_VALUE_INT:
		*number = (double)(int64_t)seen->bits;
		return true;
	case HP_VALUE_DOUBLE:
	case HP_VALUE_FLOAT:
		*number = double_of(seen->bits);
		return isfinite(*number);
	default:
		return false;
	}
}
