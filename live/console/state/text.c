/* SPDX-License-Identifier: MIT */
/*
 * text.c - see text.h.
 */
#include "live/console/state/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "report/base/format.h"
#include "report/base/memory.h"

/* ASCII substitutes for the reports' own symbols. Anything else becomes '?'. */
static const struct {
	const char *sign;
	const char *ascii;
} signs[] = {
	{ "…", "~" }, { "←", "<-" }, { "→", "->" }, { "µ", "u" }, { "≥", ">=" }, { "±", "+-" },
	{ "·", "." }, { "─", "-" },  { "│", "|" },  { "▲", "^" }, { "▼", "v" },	 { "▸", "+" },
	{ "▾", "-" }, { "●", "*" },  { "×", "x" },  { "–", "-" }, { "—", "-" },
};

#define SIGNS (sizeof(signs) / sizeof(signs[0]))

static size_t sign_at(const char *text)
{
	for (size_t i = 0; i < SIGNS; i++)
		if (strncmp(text, signs[i].sign, strlen(signs[i].sign)) == 0)
			return i;
	return SIGNS;
}

/* For clean text. No symbol is longer in ASCII than in UTF-8. */
static void to_ascii(char *text)
{
	char *to = text;

	while (*text) {
		size_t i = (unsigned char)*text < 0x80 ? SIGNS : sign_at(text);

		if (i < SIGNS) {
			to = stpcpy(to, signs[i].ascii);
			text += strlen(signs[i].sign);
		} else if ((unsigned char)*text < 0x80) {
			*to++ = *text++;
		} else {
			*to++ = '?';
			for (text++; ((unsigned char)*text & 0xc0) == 0x80; text++)
				;
		}
	}
	*to = 0;
}

static char *printable(const char *text, bool is_utf8)
{
	char *clean = hp_text_clean(text);

	if (!is_utf8)
		to_ascii(clean);
	return clean;
}

size_t hp_console_width(const char *text, bool is_utf8)
{
	char *clean = printable(text, is_utf8);
	size_t width = hp_text_width(clean);

	free(clean);
	return width;
}

/* Head, ellipsis and tail of an overlong text. */
static void cut_out(char *room, size_t size, const char *text, size_t width, enum hp_cut cut,
		    const char *ellipsis)
{
	size_t whole = hp_text_width(text), tail = cut == HP_CUT_MIDDLE ? (width - 1) / 2 : 0;
	size_t head = hp_text_start(text, width - 1 - tail),
	       skip = hp_text_start(text, whole - tail);
	size_t end = strlen(text + skip), dots = strlen(ellipsis);

	/* A wide character at the cut would make the tail one column too wide: drop it, too. */
	while (end && hp_text_width(text + skip) > tail) {
		for (skip++; ((unsigned char)text[skip] & 0xc0) == 0x80; skip++)
			;
		end = strlen(text + skip);
	}
	if (head + dots + end + 1 > size) {
		room[0] = 0;
		return;
	}
	memcpy(room, text, head);
	memcpy(room + head, ellipsis, dots);
	memcpy(room + head + dots, text + skip, end + 1);
}

size_t hp_console_fit(char *room, size_t size, const char *text, size_t width, enum hp_cut cut,
		      bool is_utf8)
{
	char *clean = printable(text, is_utf8);

	room[0] = 0;
	if (width && hp_text_width(clean) > width)
		cut_out(room, size, clean, width, cut, is_utf8 ? "…" : "~");
	else if (width && strlen(clean) < size)
		strcpy(room, clean);
	free(clean);
	return hp_text_width(room);
}

static double unit_of(const char *text)
{
	static const struct {
		const char *name;
		double worth;
	} units[] = {
		{ "ns", 1 }, { "µs", 1e3 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
		{ "B", 1 },  { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 },
	};
	size_t length;

	while (*text == ' ')
		text++;
	length = strcspn(text, " /");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (length == strlen(units[i].name) && memcmp(text, units[i].name, length) == 0)
			return units[i].worth;
	return 1;
}

bool hp_console_number(const char *text, double *number)
{
	double sign = 1, value = 0, place = 1;
	const char *at = text;

	while (*at == '~' || *at == ' ' || strncmp(at, "≥", 3) == 0)
		at += *at == '~' || *at == ' ' ? 1 : 3;
	if (*at == '-' || *at == '+')
		sign = *at++ == '-' ? -1 : 1;
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at) || *at == ','; at++)
		if (*at != ',')
			value = value * 10 + (*at - '0');
	if (*at == '.')
		for (at++; isdigit((unsigned char)*at); at++)
			value += (*at - '0') * (place /= 10);
	*number = sign * value * unit_of(at);
	return true;
}

bool hp_console_has(const char *text, const char *part)
{
	return strcasestr(text, part) != NULL;
}
