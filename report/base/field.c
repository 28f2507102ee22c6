/* SPDX-License-Identifier: MIT */
/*
 * field.c - see field.h.
 */
#include "report/base/field.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c != 127 && c != '\\';
}

/* In runs: the names of a large program are a megabyte, and fputc locks the stream for each byte. */
void hp_field_write(const char *text, FILE *out)
{
	while (*text) {
		size_t plain = 0;

		while (is_plain((unsigned char)text[plain]))
			plain++;
		fwrite(text, 1, plain, out);
		text += plain;
		if (*text)
			fprintf(out, "\\x%02x", (unsigned char)*text++);
	}
}

static void number_write(uint64_t number, unsigned base, char end, FILE *out)
{
	char text[24], *at = text + sizeof(text);

	if (end)
		*--at = end;
	do
		*--at = "0123456789abcdef"[number % base];
	while (number /= base);
	fwrite(at, 1, (size_t)(text + sizeof(text) - at), out);
}

void hp_field_write_number(uint64_t number, char end, FILE *out)
{
	number_write(number, 10, end, out);
}

void hp_field_write_address(uint64_t address, char end, FILE *out)
{
	number_write(address, 16, end, out);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Unescapes in place: the result is never longer. A NUL would hide the rest, so
 * none is produced.
 */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		int high = text[0] == '\\' && text[1] == 'x' ? digit(text[2]) : -1;
		int low = high >= 0 ? digit(text[3]) : -1;

		if (low < 0 || high * 16 + low == 0) {
			*to++ = *text++;
			continue;
		}
		*to++ = (char)(high * 16 + low);
		text += 4;
	}
	*to = 0;
}

size_t hp_field_split(char **text, char *fields[], size_t most)
{
	char *line = *text;
	char *end = line + strcspn(line, "\n");
	size_t count = 0;

	if (!*line)
		return 0;
	*text = *end ? end + 1 : end;
	*end = 0;
	for (char *next = line; next; count++) {
		char *field = strsep(&next, "\t");

		unescape(field);
		if (count < most)
			fields[count] = field;
	}
	for (size_t i = count; i < most; i++)
		fields[i] = end;
	return count;
}

uint64_t hp_field_number(const char *field)
{
	return *field >= '0' && *field <= '9' ? strtoull(field, NULL, 10) : 0;
}

uint64_t hp_field_address(const char *field)
{
	return digit(*field) >= 0 ? strtoull(field, NULL, 16) : 0;
}
