/* SPDX-License-Identifier: MIT */
/*
 * brief_fit.c - texts of the default report in the width of the terminal.
 *
 * What is cut is what a reader misses least: the end of a list, callers far away, the scope of
 * a name.  Figures, and the last part of a name, stay as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/view/brief_part.h"

#define STEP_MIN 12	/* of a shortened function of a path */

#define ELLIPSIS "\342\200\246"
#define ARROW " \342\206\220 "

char *hp_part_text_fit(const char *text, size_t width)
{
	if (hp_text_width(text) <= width)
		return hp_xstrdup(text);
	return hp_xprintf("%.*s" ELLIPSIS, (int)hp_text_start(text, width ? width - 1 : 0), text);
}

/* --- remarks --- */

/* Start of the piece after the one at `text`; NULL = that is the last. */
static const char *piece_next(const char *text)
{
	const char *comma = strstr(text, ", "), *gap = strstr(text, "  ");

	if (!comma || (gap && gap < comma))
		return gap ? gap + 2 : NULL;
	return comma + 2;
}

/* A name without scopes that have no room; NULL = its last part does not fit either. */
static char *scope_fit(const char *name, size_t width)
{
	if (hp_text_width(name) > width && hp_text_width(hp_name_last(name)) + 1 > width)
		return NULL;
	return hp_name_fit(name, width);
}

/* "std::vector::operator[] 41%" with a shorter name, or "held by f (a.c:1)" without the place; NULL
 * = it is neither, or there is no room. */
static char *piece_fit(const char *piece, size_t length, size_t width)
{
	char *whole = hp_xprintf("%.*s", (int)length, piece), *fitted = NULL, *name = NULL;
	char *share = strrchr(whole, ' '), *place = strstr(whole, " (");

	if (place && whole[length - 1] == ')') {
		*place = '\0';
		fitted = hp_text_width(whole) <= width ? hp_xstrdup(whole) : NULL;
	} else if (share && whole[length - 1] == '%' && width > strlen(share)) {
		*share = '\0';
		name = scope_fit(whole, width - 1 - strlen(share + 1));
		fitted = name ? hp_xprintf("%s %s", name, share + 1) : NULL;
		free(name);
	}
	free(whole);
	return fitted;
}

/* "condition _PyRuntime.ceval.gil.cond" without the owners that have no room. */
static char *member_fit(const char *text, size_t width)
{
	const char *name = strrchr(text, ' ');
	size_t start = name ? (size_t)(name + 1 - text) : 0;

	name = text + start;
	for (const char *dot = strchr(name, '.'); dot && !strchr(name, ':');
	     dot = strchr(dot + 1, '.'))
		if (start + 1 + hp_text_width(dot + 1) <= width)
			return hp_xprintf("%.*s" ELLIPSIS "%s", (int)start, text, dot + 1);
	return hp_part_text_fit(text, width);
}

char *hp_part_remark_fit(const char *text, size_t width)
{
	size_t room = width > 3 ? width - 3 : 0, used;
	const char *end = text, *next;
	char *fitted, *whole;

	if (hp_text_width(text) <= width)
		return hp_xstrdup(text);
	/* Whole pieces up to `end`, with room for an ellipsis. */
	while ((next = piece_next(end)) && (size_t)(next - 2 - text) <= hp_text_start(text, room))
		end = next;
	used = hp_text_width(text) - hp_text_width(end);
	room = next ? room : width;
	fitted = room > used ? piece_fit(end, next ? (size_t)(next - 2 - end) : strlen(end),
					 room - used)
			     : NULL;
	if (fitted)
		whole = hp_xprintf("%.*s%s%s", (int)(end - text), text, fitted,
				   next ? ", " ELLIPSIS : "");
	else if (end == text)
		whole = member_fit(text, width);
	else
		whole = hp_xprintf("%.*s, " ELLIPSIS, (int)(end - 2 - text), text);
	free(fitted);
	return whole;
}

/* --- call paths --- */

/* "f a.cc:3 (std::vector::push_back)": with less of what it calls, or without. */
static char *step_fit(const char *step, size_t width)
{
	const char *open = strstr(step, " (");
	size_t taken = open ? (size_t)(open - step) + 3 : 0;
	char *whole, *inner = NULL;

	if (hp_text_width(step) <= width || !open || step[strlen(step) - 1] != ')')
		return hp_name_fit(step, width);
	whole = hp_xprintf("%.*s", (int)strlen(open + 2) - 1, open + 2);
	if (taken < width)
		inner = scope_fit(whole, width - taken);
	free(whole);
	whole = inner ? hp_xprintf("%.*s (%s)", (int)(open - step), step, inner)
		      : hp_xprintf("%.*s", (int)(open - step), step);
	free(inner);
	inner = hp_name_fit(whole, width);
	free(whole);
	return inner;
}

char *hp_part_path_fit(const char *path, size_t width)
{
	static const char more[] = ARROW ELLIPSIS;
	size_t room = width > 4 ? width - 4 : 0, used;
	const char *end = path, *next;
	char *step, *fitted, *whole;
	bool is_far;

	if (hp_text_width(path) <= width)
		return hp_xstrdup(path);
	/* Whole functions up to `end`. */
	while ((next = strstr(end, ARROW)) && (size_t)(next - path) <= hp_text_start(path, room))
		end = next + sizeof(ARROW) - 1;
	used = hp_text_width(path) - hp_text_width(end);
	room = next ? room : width;
	if (end > path && room < used + STEP_MIN)
		return hp_xprintf("%.*s" ELLIPSIS, (int)(end - path), path);
	step = next ? hp_xprintf("%.*s", (int)(next - end), end) : hp_xstrdup(end);
	/* The first caller may be cut, too: it is better than none. */
	is_far = end > path && strstr(path, ARROW) + sizeof(ARROW) - 1 < end;
	fitted = is_far ? scope_fit(step, room - used) : step_fit(step, room - used);
	whole = fitted ? hp_xprintf("%.*s%s%s", (int)(end - path), path, fitted, next ? more : "")
		       : hp_xprintf("%.*s" ELLIPSIS, (int)(end - path), path);
	free(step);
	free(fitted);
	return whole;
}
