/* SPDX-License-Identifier: MIT */
/*
 * site.c - see site.h.
 */
#include "report/section/finding/site.h"

#include <string.h>

#include "report/base/memory.h"
#include "report/section/memory/view.h"

#define CLASS_TICKS 1024.0 /* ages up to this and its doubles: segment/layout/heap.h */
#define STEPS_MAX 4 /* of a call path: the function and three callers */

static uint64_t weight(const struct hp_alloc_sum *sum, enum hp_site_by by)
{
	int64_t bytes = by == HP_SITE_PEAK ? sum->peak_bytes : sum->live_bytes;

	if (by == HP_SITE_BLOCKS)
		return sum->count;
	return bytes > 0 ? (uint64_t)bytes : 0;
}

size_t hp_site_count(struct hp_survey *survey)
{
	struct hp_alloc_view *view;

	if (!survey->answer->has_heap)
		return 0;
	view = hp_alloc_view(survey->report);
	hp_alloc_sites_make(view);
	return view->site_count;
}

struct hp_alloc_row *hp_site_at(struct hp_survey *survey, size_t place,
				const struct hp_alloc_sum **sum)
{
	struct hp_alloc_row *row = &hp_alloc_view(survey->report)->sites[place];

	*sum = &row->sum;
	return row;
}

struct hp_alloc_row *hp_site_most(struct hp_survey *survey, enum hp_site_by by,
				  const struct hp_alloc_sum **sum)
{
	size_t count = hp_site_count(survey), most = count;
	struct hp_alloc_view *view = count ? hp_alloc_view(survey->report) : NULL;

	for (size_t i = 0; i < count; i++)
		if (weight(&view->sites[i].sum, by) >
		    (most < count ? weight(&view->sites[most].sum, by) : 0))
			most = i;
	return most < count ? hp_site_at(survey, most, sum) : NULL;
}

/* The function that a path is shown by, as a number; HP_NONE = none. */
static uint32_t function_of(struct hp_alloc_view *view, const struct hp_alloc_row *row)
{
	uint32_t step = hp_alloc_told(view, row->step);

	return step && !view->alloc.steps[step].mark ? hp_alloc_place(view, step)->function
						     : HP_NONE;
}

uint64_t hp_site_function_blocks(struct hp_survey *survey, struct hp_alloc_row *row)
{
	struct hp_alloc_view *view = hp_alloc_view(survey->report);
	uint32_t function = function_of(view, row);
	size_t count = hp_site_count(survey);
	uint64_t blocks = 0;

	for (size_t i = 0; i < count; i++)
		if (&view->sites[i] == row ||
		    (function != HP_NONE && function_of(view, &view->sites[i]) == function))
			blocks += view->sites[i].sum.count;
	return blocks;
}

double hp_site_short_share(struct hp_survey *survey, const struct hp_alloc_row *row, double life_ns)
{
	struct hp_alloc_sampled sampled = hp_alloc_row_sampled(survey->report, row);
	double end = CLASS_TICKS * survey->report->model.ns_per_tick, all = 0, count = 0;

	for (int i = 0; i < HP_LIFE_CLASSES; i++, end *= 2) {
		all += (double)sampled.lives[i];
		count += end <= life_ns ? (double)sampled.lives[i] : 0;
	}
	return all > 0 ? count / all : -1;
}

/* A path's blocks with a life that short, estimated from sampled ones; all freed ones if no age
 * is known. */
static double short_of(struct hp_survey *survey, const struct hp_alloc_row *row, double life_ns)
{
	double share = hp_site_short_share(survey, row, life_ns);
	double kept = (double)row->sum.frees - (double)row->sum.temporary;

	return (double)row->sum.temporary + (share >= 0 ? kept * share : kept);
}

double hp_site_function_short(struct hp_survey *survey, struct hp_alloc_row *row, double life_ns)
{
	struct hp_alloc_view *view = hp_alloc_view(survey->report);
	uint32_t function = function_of(view, row);
	size_t count = hp_site_count(survey);
	double blocks = 0;

	for (size_t i = 0; i < count; i++)
		if (&view->sites[i] == row ||
		    (function != HP_NONE && function_of(view, &view->sites[i]) == function))
			blocks += short_of(survey, &view->sites[i], life_ns);
	return blocks;
}

bool hp_site_knows_lost(struct hp_survey *survey)
{
	return survey->answer->has_heap && hp_alloc_of(survey->report)->leak_scans;
}

char *hp_site_row(struct hp_survey *survey, struct hp_alloc_row *row)
{
	return hp_xstrdup(hp_alloc_row_name(survey->report, row));
}

char *hp_site_name(struct hp_survey *survey, struct hp_alloc_row *row)
{
	return hp_answer_path_of(survey->report, hp_alloc_row_name(survey->report, row), STEPS_MAX);
}

bool hp_site_is_named(struct hp_survey *survey, struct hp_alloc_row *row)
{
	return hp_alloc_row_name(survey->report, row)[0] != '[';
}
