/* SPDX-License-Identifier: MIT */
/*
 * section.c - what is asked of any section: its place, its words, how many of its rows
 * are shown.
 */
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/section.h"

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

bool hp_section_is_listed(const struct hp_section *section)
{
	return section->columns && section->json[0];
}

bool hp_section_has_data(const struct hp_section *section, const struct hp_report *report)
{
	if (section->is_on_demand)
		return false;
	return !section->has_data || section->has_data(report);
}

const char *hp_section_about(const struct hp_section *section, const struct hp_report *report)
{
	return section->describe ? section->describe(report) : section->about;
}

const char *hp_section_none(const struct hp_section *section, struct hp_report *report)
{
	return section->empty ? section->empty(report) : section->none;
}

/* Most specific first: HOTPATH_<SECTION>_LIMIT, HOTPATH_LIMIT, built-in; 0 = all. */
void hp_section_cut(const struct hp_section *section, const struct hp_report *report,
		    struct hp_list *list)
{
	const char *settings = (const char *)report->settings;
	uint64_t limit = HP_LIMIT_UNSET;

	if (section->limit.type)
		limit = *(const uint64_t *)(const void *)(settings + section->limit.offset);
	if (limit == HP_LIMIT_UNSET)
		limit = report->settings->limit;
	if (limit == HP_LIMIT_UNSET)
		limit = section->usual;
	list->shown = limit && limit < list->total ? (size_t)limit : list->total;
}
