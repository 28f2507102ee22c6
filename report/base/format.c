/* SPDX-License-Identifier: MIT */
/*
 * format.c - numbers and text as people read them.
 */
#include "report/base/format.h"

#include <math.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "report/base/memory.h"

struct unit {
	double least;	/* used from here on */
	double size;
	int decimals;
	const char *name;
};

/*
 * Thresholds apply to the time, not to the rounded text, as in hotpath-rs: 999
 * 999 ns are 1000.00 µs.
 */
static const struct unit time_units[] = {
	{ 1e9, 1e9, 2, "s" },
	{ 1e6, 1e6, 2, "ms" },
	{ 1e3, 1e3, 2, "\302\265s" },
	{ 0, 1, 0, "ns" },
};

/* snprintf's decimal point is the locale's; nobody calls setlocale here, so it is a dot. */
static const char *time_with(struct hp_text_cell *cell, double ns, const char *gap)
{
	const struct unit *unit = time_units;

	while (ns < unit->least)
		unit++;
	snprintf(cell->text, sizeof(cell->text), "%.*f%s%s", unit->decimals, ns / unit->size, gap,
		 unit->name);
	return cell->text;
}

const char *hp_format_time(struct hp_text_cell *cell, double ns)
{
	return time_with(cell, ns > 0 ? rint(ns) : 0, " ");
}

const char *hp_format_elapsed(struct hp_text_cell *cell, uint64_t ns)
{
	return time_with(cell, (double)ns, "");
}

const char *hp_format_count(struct hp_text_cell *cell, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	char *to = cell->text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return cell->text;
}

const char *hp_format_rate(struct hp_text_cell *cell, double rate)
{
	if (rate >= 99.95)
		return hp_format_count(cell, hp_whole(rate + 0.5));
	snprintf(cell->text, sizeof(cell->text), "%.1f", rate);
	return cell->text;
}

const char *hp_format_bytes(struct hp_text_cell *cell, uint64_t bytes)
{
	static const char *const names[] = { "B", "KB", "MB", "GB", "TB" };
	double size = (double)bytes;
	int unit = 0;

	for (; size >= 1000 && unit < 4; unit++)
		size /= 1000;
	snprintf(cell->text, sizeof(cell->text), "%.*f %s", unit ? 1 : 0, size, names[unit]);
	return cell->text;
}

const char *hp_format_signed_bytes(struct hp_text_cell *cell, double bytes)
{
	size_t sign = bytes <= -1;
	struct hp_text_cell size;

	hp_format_bytes(&size, (uint64_t)(bytes < 0 ? -bytes : bytes));
	cell->text[0] = '-';
	memcpy(cell->text + sign, size.text, sizeof(size.text) - 1);
	cell->text[sizeof(cell->text) - 1] = 0;
	return cell->text;
}

const char *hp_format_percent(struct hp_text_cell *cell, double percent, int decimals)
{
	snprintf(cell->text, sizeof(cell->text), "%.*f%%", decimals, percent);
	return cell->text;
}

const char *hp_format_percentile(struct hp_text_cell *cell, double percentile)
{
	snprintf(cell->text, sizeof(cell->text), "%.10g", percentile);
	return cell->text;
}

/* Bytes of the character at `text` and its code point; 0 = not UTF-8. */
static size_t decode(const char *text, uint32_t *point)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t size = c[0] < 0x80 ? 1 : c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : c[0] >= 0xe0 ? 3 : 2;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (size == 1) {
		*point = c[0];
		return 1;
	}
	if (c[0] < 0xc2 || c[0] > 0xf4)
		return 0;
	*point = c[0] & (0xff >> (size + 1));
	for (size_t i = 1; i < size; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (c[i] & 0x3f);
	}
	return *point < least[size] || (*point >= 0xd800 && *point < 0xe000) ? 0 : size;
}

struct range {
	uint32_t first, last;
};

static bool is_in(uint32_t point, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

/* wcwidth would need a locale; these are the blocks that names of threads may use. */
static size_t width_of(uint32_t point)
{
	static const struct range none[] = { { 0x300, 0x36f },
					     { 0x200b, 0x200f },
					     { 0xfe00, 0xfe0f } };
	static const struct range two[] = {
		{ 0x1100, 0x115f }, { 0x2e80, 0xa4cf }, { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0x1f300, 0x1faff }, { 0x20000, 0x3fffd },
	};

	if (point < 0x300)
		return 1;
	if (is_in(point, none, sizeof(none) / sizeof(none[0])))
		return 0;
	return is_in(point, two, sizeof(two) / sizeof(two[0])) ? 2 : 1;
}

size_t hp_text_start(const char *text, size_t width)
{
	size_t bytes = 0;

	while (text[bytes]) {
		uint32_t point = 0;
		size_t size = decode(text + bytes, &point);
		size_t columns = size ? width_of(point) : 1;

		if (columns > width)
			break;
		width -= columns;
		bytes += size ? size : 1;
	}
	return bytes;
}

size_t hp_text_width(const char *text)
{
	size_t width = 0;

	while (*text) {
		uint32_t point = 0;
		size_t size = decode(text, &point);

		width += size ? width_of(point) : 1;
		text += size ? size : 1;
	}
	return width;
}

/* C0 and C1 controls, and marks that turn the direction of the line. */
static bool is_unwelcome(uint32_t point)
{
	return point < ' ' || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x202a && point <= 0x202e) || (point >= 0x2028 && point <= 0x2029) ||
	       (point >= 0x2066 && point <= 0x2069);
}

char *hp_text_clean(const char *text)
{
	char *clean = hp_xmalloc(strlen(text) + 1);
	char *to = clean;

	while (*text) {
		uint32_t point = 0;
		size_t size;

		/* Nearly all names are ASCII, and a large program has thousands. */
		if (*text >= ' ' && *text < 0x7f) {
			*to++ = *text++;
			continue;
		}
		size = decode(text, &point);
		if (size == 0 || is_unwelcome(point)) {
			*to++ = '?';
			text += size ? size : 1;
			continue;
		}
		memcpy(to, text, size);
		to += size;
		text += size;
	}
	*to = 0;
	return clean;
}

/* sigabbrev_np() came with glibc 2.32. */
const char *hp_format_signal(int number)
{
#define NAME(name) [SIG##name] = #name
	static const char *const names[] = {
		NAME(HUP),    NAME(INT),  NAME(QUIT),  NAME(ILL),  NAME(TRAP), NAME(ABRT),
		NAME(BUS),    NAME(FPE),  NAME(KILL),  NAME(USR1), NAME(SEGV), NAME(USR2),
		NAME(PIPE),   NAME(ALRM), NAME(TERM),  NAME(CHLD), NAME(CONT), NAME(STOP),
		NAME(TSTP),   NAME(TTIN), NAME(TTOU),  NAME(URG),  NAME(XCPU), NAME(XFSZ),
		NAME(VTALRM), NAME(PROF), NAME(WINCH), NAME(POLL), NAME(PWR),  NAME(SYS),
		NAME(STKFLT),
	};
#undef NAME

	return (size_t)number < sizeof(names) / sizeof(names[0]) ? names[number] : NULL;
}
