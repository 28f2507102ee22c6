/* SPDX-License-Identifier: MIT */
/*
 * section.c - the table of sections, see sections.h.
 */
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

#define POINTER(name, key) &hp_##name##_section,

const struct hp_section *const hp_sections[] = { HP_SECTIONS(POINTER) NULL };

const size_t hp_section_count = sizeof(hp_sections) / sizeof(hp_sections[0]) - 1;

static_assert(sizeof(hp_sections) / sizeof(hp_sections[0]) - 1 <= HP_SECTIONS_MAX,
	      "struct hp_report has a flag for each");

size_t hp_section_place(const struct hp_section *section)
{
	size_t place = 0;

	while (place < hp_section_count && hp_sections[place] != section)
		place++;
	return place;
}

const struct hp_section *hp_section_of_json(const char *json)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (*json && strcmp(hp_sections[i]->json, json) == 0)
			return hp_sections[i];
	return NULL;
}

const struct hp_section **hp_sections_arrange(const struct hp_section *const *first, size_t count)
{
	const struct hp_section **to = hp_xcalloc(hp_section_count, sizeof(*to));
	size_t done = 0;

	for (; done < count; done++)
		to[done] = first[done];
	for (size_t i = 0; i < hp_section_count; i++) {
		size_t at = 0;

		while (at < count && first[at] != hp_sections[i])
			at++;
		if (at == count)
			to[done++] = hp_sections[i];
	}
	return to;
}
