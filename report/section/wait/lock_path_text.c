/* SPDX-License-Identifier: MIT */
/*
 * lock_path_text.c - text of call paths of waits, see lock_path.h.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "report/section/wait/lock_section.h"

#define TEXT_MAX 160	/* columns of a path in a table */

static const struct hp_lock_path *path_at(const struct hp_report *report, uint32_t path)
{
	const struct hp_lock_paths *paths = &hp_lock_view_locks(hp_lock_view(report))->paths;

	return path < paths->count ? &paths->all[path] : NULL;
}

static size_t columns_of(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

/* Appends a caller; false = no room for it. */
static bool caller_add(char **text, const char *name, bool is_short)
{
	char *whole = hp_name_short(name, 2), *caller = hp_name_plain(whole), *longer;

	free(whole);
	if (is_short && columns_of(*text) + columns_of(caller) + 3 > TEXT_MAX) {
		free(caller);
		longer = hp_xprintf("%s \342\206\220 \342\200\246", *text);
		free(*text);
		*text = longer;
		return false;
	}
	longer = hp_xprintf("%s \342\206\220 %s", *text, caller);
	free(*text);
	free(caller);
	*text = longer;
	return true;
}

/* The innermost function that is not a wrapper of a lock; the innermost one if all are. */
static size_t first_of(struct hp_report *report, const struct hp_lock_path *path)
{
	const struct hp_symbol_spot *spot;

	for (size_t i = 0; i < path->count; i++) {
		spot = hp_lock_code(report, &path->places[i]);
		if (!spot || !hp_wrapper_waits(spot->name))
			return spot && hp_wrapper_is_outermost(spot->name) &&
					       strcmp(spot->name, "main") != 0
				       ? 0
				       : i;
	}
	return 0;
}

char *hp_lock_path_text(struct hp_report *report, const struct hp_lock_place *at, uint32_t path)
{
	const struct hp_lock_path *known = path_at(report, path);
	size_t first = known ? first_of(report, known) : 0;
	char *text = hp_lock_place_text(report, known ? &known->places[first] : at);
	const struct hp_symbol_spot *spot;

	for (size_t i = first; known && i < known->count; i++) {
		spot = hp_lock_code(report, &known->places[i]);
		if (spot && i > first && hp_wrapper_is_plumbing(spot->name))
			continue;
		if (!spot ||
		    (i > first && hp_wrapper_is_outermost(spot->name) &&
		     strcmp(spot->name, "main") != 0) ||
		    (i > first && !caller_add(&text, spot->name, true)) ||
		    hp_wrapper_is_outermost(spot->name))
			break;
	}
	return text;
}

char *hp_lock_holder_text(struct hp_report *report, const struct hp_lock_place *holder,
			  uint32_t release)
{
	const struct hp_symbol_spot *spot = hp_lock_code(report, holder);
	const struct hp_lock_path *known = path_at(report, release);

	if (known && spot && hp_wrapper_waits(spot->name))
		holder = &known->places[first_of(report, known)];
	return hp_lock_place_text(report, holder);
}

void hp_lock_path_add(struct hp_report *report, uint32_t path, const char *key, cJSON *entry)
{
	const struct hp_lock_path *known = path_at(report, path);
	cJSON *array = cJSON_AddArrayToObject(entry, key);

	for (size_t i = 0; known && i < known->count; i++) {
		const struct hp_symbol_spot *spot = hp_lock_code(report, &known->places[i]);
		cJSON *frame;

		if (!spot)
			continue;
		frame = cJSON_CreateObject();
		cJSON_AddStringToObject(frame, "function", spot->name);
		if (spot->file) {
			cJSON_AddStringToObject(frame, "file", spot->file);
			cJSON_AddNumberToObject(frame, "line", spot->line);
		}
		cJSON_AddItemToArray(array, frame);
	}
}

void hp_lock_path_name(struct hp_report *report, uint32_t path)
{
	const struct hp_lock_path *known = path_at(report, path);

	for (size_t i = 0; known && i < known->count; i++)
		hp_lock_code(report, &known->places[i]);
}
