/* SPDX-License-Identifier: MIT */
/*
 * section.c - properties of a section: its words, how many of its rows are shown.
 */
#include "report/section/core/section.h"

#include "segment/layout/header.h"

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

/* Why there can be no data; NULL = it was recorded, or unknown. */
static const char *not_recorded(const struct hp_section *section, const struct hp_report *report)
{
	uint32_t recorded = report->model.recorded;

	if (!section->needs || !(recorded & HP_RECORDED_KNOWN) || recorded & section->needs)
		return NULL;
	if (section->needs & HP_RECORDED_LOCKS)
		return "locks were not recorded: HOTPATH_REPORT did not ask for them when the "
		       "program ran";
	if (section->needs & HP_RECORDED_CHANNELS)
		return "channels were not recorded: HOTPATH_REPORT did not ask for them when the "
		       "program ran";
	if (section->needs & HP_RECORDED_LOOPS)
		return "event loops were not recorded: HOTPATH_REPORT did not ask for them when "
		       "the program ran";
	if (section->needs & HP_RECORDED_ALLOCATIONS)
		return "allocations were not recorded: HOTPATH_REPORT did not ask for them when "
		       "the program ran";
	if (section->needs & HP_RECORDED_VALUES)
		return "values were not recorded: HOTPATH_REPORT did not ask for them when the "
		       "program ran";
	if (section->needs & HP_RECORDED_STREAMS)
		return "streams were not recorded: HOTPATH_REPORT did not ask for them when the "
		       "program ran";
	if (section->needs & HP_RECORDED_FUTURES)
		return "futures were not recorded: HOTPATH_REPORT did not ask for them when the "
		       "program ran";
	return "threads were not recorded: HOTPATH_REPORT did not ask for them when the program "
	       "ran";
}

/* What did not fit may have been of this section. */
static bool may_be_lost(const struct hp_section *section, const struct hp_report *report)
{
	return section->needs && report->model.losses.refused_chunks;
}

const char *hp_section_none(const struct hp_section *section, struct hp_report *report)
{
	const char *why = not_recorded(section, report);

	if (!section->columns)
		return "this version of hotpath does not record it";
	if (why)
		return why;
	if (may_be_lost(section, report))
		return "none is known, and some may be lost: the segment was full; a larger "
		       "HOTPATH_SEGMENT_SIZE makes room";
	return section->empty ? section->empty(report) : section->none;
}

/* Most specific first: HOTPATH_<SECTION>_LIMIT, HOTPATH_LIMIT, built-in; 0 = all. */
void hp_section_cut(const struct hp_section *section, const struct hp_report *report,
		    struct hp_list *list)
{
	const char *settings = (const char *)report->settings;
	uint64_t limit = report->is_uncut ? 0 : HP_LIMIT_UNSET;

	if (section->limit.type && !report->is_uncut)
		limit = *(const uint64_t *)(const void *)(settings + section->limit.offset);
	if (limit == HP_LIMIT_UNSET)
		limit = report->settings->limit;
	if (limit == HP_LIMIT_UNSET)
		limit = section->usual;
	list->shown = limit && limit < list->total ? (size_t)limit : list->total;
}
