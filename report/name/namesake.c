/* SPDX-License-Identifier: MIT */
/*
 * namesake.c - see namesake.h. Names are sorted, since a table may have thousands of rows.
 */
#include "report/name/namesake.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

struct named {
	const char *name;
	uint32_t kind;
	size_t row;
};

static int compare_same(const struct named *a, const struct named *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_named(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = compare_same(a, b);

	return order ? order : a->row < b->row ? -1 : a->row > b->row;
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The rows of one name. */
static void run_part(char **names, const struct named *run, size_t count, char **details)
{
	bool is_different = false;

	for (size_t i = 1; i < count; i++)
		is_different |= !is_equal(details[i], details[0]);
	for (size_t i = 0; i < count; i++) {
		char *name = is_different && details[i]
				     ? hp_xprintf("%s (%s)", run[i].name, details[i])
				     : NULL;

		free(details[i]);
		if (!name)
			continue;
		free(names[run[i].row]);
		names[run[i].row] = name;
	}
}

/* False if all names differ. */
static bool once(char **names, struct named *sorted, size_t count, unsigned detail,
		 hp_name_detail_of *detail_of, void *context)
{
	bool is_parted = false;

	qsort(sorted, count, sizeof(*sorted), compare_named);
	for (size_t i = 0, end; i < count; i = end) {
		char **details;

		for (end = i + 1; end < count && compare_same(&sorted[i], &sorted[end]) == 0;)
			end++;
		if (end == i + 1)
			continue;
		details = hp_xcalloc(end - i, sizeof(*details));
		for (size_t row = i; row < end; row++)
			details[row - i] = detail_of(context, sorted[row].row, detail);
		run_part(names, &sorted[i], end - i, details);
		free(details);
		is_parted = true;
	}
	return is_parted;
}

void hp_names_part(char **names, const uint32_t *kinds, size_t count, hp_name_detail_of *detail_of,
		   void *context)
{
	struct named *sorted = hp_xcalloc(count + 1, sizeof(*sorted));

	for (unsigned detail = 0; detail < HP_NAME_DETAILS; detail++) {
		size_t named = 0;

		for (size_t row = 0; row < count; row++)
			if (names[row])
				sorted[named++] =
					(struct named){ names[row], kinds ? kinds[row] : 0, row };
		if (!once(names, sorted, named, detail, detail_of, context))
			break;
	}
	free(sorted);
}
