/* SPDX-License-Identifier: MIT */
/*
 * sampled.c - how large blocks are and how long they live.
 *
 * Some blocks were sampled at random, all with the same probability, so a class has the same share
 * of all blocks as of these. The interval is the usual one of a share, p +- 1.96 sqrt(p (1 - p) /
 * n) (Wald's), relative to the share. The number of all blocks, and of temporary ones, is counted.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/view.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

/* --- rows --- */

static uint64_t total(const uint64_t *samples, uint32_t classes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < classes; i++)
		sum += samples[i];
	return sum;
}

static void rows_make(struct hp_class_row *rows, const uint64_t *samples, uint32_t classes,
		      uint64_t blocks)
{
	double all = (double)total(samples, classes);

	for (uint32_t i = 0; i < classes; i++)
		rows[i] = (struct hp_class_row){
			.number = i,
			.samples = samples[i],
			.count = all > 0 ? (double)samples[i] / all * (double)blocks : 0,
		};
}

/* From the first class that has some to the last one. */
static void list_make(struct hp_list *list, const struct hp_class_row *rows, uint32_t classes)
{
	uint32_t first = 0, last = classes;

	while (first < last && rows[first].samples == 0)
		first++;
	while (last > first && rows[last - 1].samples == 0)
		last--;
	for (uint32_t i = first; i < last; i++)
		list->rows[list->total++] = &rows[i];
	list->shown = list->total;
}

static void sizes_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	rows_make(view->size_rows, view->alloc.sampled.sizes, HP_SIZE_CLASSES,
		  view->alloc.all.count);
	list->rows = hp_xcalloc(HP_SIZE_CLASSES, sizeof(*list->rows));
	list->total = 0;
	list_make(list, view->size_rows, HP_SIZE_CLASSES);
}

static void lives_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	const struct hp_alloc_sum *all = &view->alloc.all;
	struct hp_class_row *temporary = &view->life_rows[HP_LIFE_CLASSES];

	rows_make(view->life_rows, view->alloc.sampled.lives, HP_LIFE_CLASSES,
		  all->frees > all->temporary ? all->frees - all->temporary : 0);
	*temporary =
		(struct hp_class_row){ .number = HP_LIFE_CLASSES, .count = (double)all->temporary };
	list->rows = hp_xcalloc(HP_LIFE_CLASSES + 1, sizeof(*list->rows));
	list->total = 0;
	if (all->temporary)
		list->rows[list->total++] = temporary;
	list_make(list, view->life_rows, HP_LIFE_CLASSES);
}

/* --- texts --- */

static const char *empty(struct hp_report *report)
{
	if (!hp_alloc_view(report)->alloc.all.count)
		return hp_alloc_empty(report);
	return "no block was sampled: the program allocated too few (one in 256 is)";
}

static const char *after(struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;
	struct hp_text_cell cell;

	if (!total(alloc->sampled.sizes, HP_SIZE_CLASSES))
		return NULL;
	free(report->text);
	report->text = hp_xprintf(
		"~ from %s randomly sampled blocks, one in 256.%s",
		hp_format_count(&cell, total(alloc->sampled.sizes, HP_SIZE_CLASSES)),
		alloc->sampled_lost ? " The age of some is unknown for lack of room." : "");
	return report->text;
}

/* --- columns --- */

static const struct hp_class_row *class_of(const void *row)
{
	return row;
}

/* "≤ 64 B": the last class is unbounded. */
static char *bound_text(bool is_last, const char *bound)
{
	return hp_xprintf("%s %s", is_last ? ">" : "\342\211\244", bound);
}

static void get_size(const struct hp_cell *cell, struct hp_value *value)
{
	uint32_t n = class_of(cell->row)->number;
	bool is_last = n == HP_SIZE_CLASSES - 1;
	struct hp_text_cell bound;

	hp_format_bytes(&bound, UINT64_C(1) << (n - is_last));
	hp_cell_set_text(cell, bound_text(is_last, bound.text), value);
}

static double age_ns(const struct hp_report *report, uint32_t n)
{
	return (double)(UINT64_C(1024) << n) * report->model.ns_per_tick;
}

static void get_age(const struct hp_cell *cell, struct hp_value *value)
{
	uint32_t n = class_of(cell->row)->number;
	bool is_last = n == HP_LIFE_CLASSES - 1;
	struct hp_text_cell bound;

	if (n == HP_LIFE_CLASSES) {
		value->text = "temporary";
		return;
	}
	hp_format_time(&bound, age_ns(cell->report, n - is_last));
	hp_cell_set_text(cell, bound_text(is_last, bound.text), value);
}

static void get_size_bound(const struct hp_cell *cell, struct hp_value *value)
{
	uint32_t n = class_of(cell->row)->number;

	value->number = n == HP_SIZE_CLASSES - 1 ? 0 : (double)(UINT64_C(1) << n);
	value->is_unknown = n == HP_SIZE_CLASSES - 1;
}

static void get_age_bound(const struct hp_cell *cell, struct hp_value *value)
{
	uint32_t n = class_of(cell->row)->number;

	value->number = n >= HP_LIFE_CLASSES - 1 ? 0 : age_ns(cell->report, n);
	value->is_unknown = n >= HP_LIFE_CLASSES - 1;
}

static void share(double count, double all, struct hp_value *value)
{
	value->number = all > 0 ? 100 * count / all : 0;
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	share(class_of(cell->row)->count, (double)hp_alloc_view(cell->report)->alloc.all.count,
	      value);
}

static void get_freed_share(const struct hp_cell *cell, struct hp_value *value)
{
	share(class_of(cell->row)->count, (double)hp_alloc_view(cell->report)->alloc.all.frees,
	      value);
}

static void error(const struct hp_class_row *row, uint64_t all, struct hp_value *value)
{
	double p = all ? (double)row->samples / (double)all : 0;

	value->is_unknown = p <= 0;
	value->number = p > 0 ? 196 * sqrt(p * (1 - p) / (double)all) / p : 0;
}

static void get_size_error(const struct hp_cell *cell, struct hp_value *value)
{
	error(cell->row, total(hp_alloc_view(cell->report)->alloc.sampled.sizes, HP_SIZE_CLASSES),
	      value);
}

static void get_life_error(const struct hp_cell *cell, struct hp_value *value)
{
	error(cell->row, total(hp_alloc_view(cell->report)->alloc.sampled.lives, HP_LIFE_CLASSES),
	      value);
}

static const struct hp_column size_columns[] = {
	{ "Size", "name", NULL, HP_UNIT_NAME, .get = get_size },
	{ .raw = "up_to_bytes", .unit = HP_UNIT_NUMBER, .get = get_size_bound },
	{ .raw = "samples", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_class_row, samples) },
	{ "~Count", "count", "count_estimated", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_class_row, count) },
	{ "\302\26195%", "error", "error_percent", HP_UNIT_ERROR, .get = get_size_error },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = get_share },
	{ 0 },
};

static const struct hp_column life_columns[] = {
	{ "Age", "name", NULL, HP_UNIT_NAME, .get = get_age },
	{ .raw = "up_to_ns", .unit = HP_UNIT_NUMBER, .get = get_age_bound },
	{ .raw = "samples", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_class_row, samples) },
	{ "~Count", "count", "count_estimated", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_class_row, count) },
	{ "\302\26195%", "error", "error_percent", HP_UNIT_ERROR, .get = get_life_error },
	{ "% Freed", "percent_total", "percent_total", HP_UNIT_SHARE, .get = get_freed_share },
	{ 0 },
};

/* --- JSON --- */

static void add_sampled(struct hp_report *report, cJSON *list)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	hp_json_whole(list, "drawn_blocks", total(alloc->sampled.sizes, HP_SIZE_CLASSES));
	hp_json_whole(list, "drawn_freed", total(alloc->sampled.lives, HP_LIFE_CLASSES));
	hp_json_whole(list, "drawn_without_age", alloc->sampled_lost);
	hp_json_whole(list, "allocated_count", alloc->all.count);
	hp_json_whole(list, "freed_count", alloc->all.frees);
	hp_json_whole(list, "temporary_count", alloc->all.temporary);
}

/* Those of a row, from one to the next. */
static void spreads_make(struct hp_alloc_view *view)
{
	const struct hp_alloc *alloc = &view->alloc;

	view->has_spreads = true;
	memset(view->spread_of, 0, alloc->count * sizeof(*view->spread_of));
	free(view->spread_next);
	view->spread_next = hp_xcalloc(alloc->spread_count, sizeof(*view->spread_next));
	for (uint32_t i = 0; i < alloc->spread_count; i++) {
		uint32_t *first = &view->spread_of[hp_alloc_folded(view, alloc->spreads[i].step)];

		view->spread_next[i] = *first;
		*first = i + 1;
	}
}

static struct hp_alloc_sampled spread_sum(struct hp_report *report, uint32_t step)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	struct hp_alloc_sampled sum = { .sizes = { 0 } };

	for (uint32_t i = view->spread_of[step]; i; i = view->spread_next[i - 1]) {
		struct hp_alloc_sampled one =
			hp_alloc_sampled(&report->model, &view->alloc.spreads[i - 1]);

		for (int n = 0; n < HP_SIZE_CLASSES; n++)
			sum.sizes[n] += one.sizes[n];
		for (int n = 0; n < HP_LIFE_CLASSES; n++)
			sum.lives[n] += one.lives[n];
	}
	return sum;
}

struct hp_alloc_sampled hp_alloc_row_sampled(struct hp_report *report,
					     const struct hp_alloc_row *row)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (!view->has_spreads)
		spreads_make(view);
	return spread_sum(report, row->step);
}

/* [end of the class, samples] of those that have some. */
static void classes_add(cJSON *entry, const char *key, const uint64_t *samples, uint32_t classes,
			double unit)
{
	cJSON *array = cJSON_AddArrayToObject(entry, key);

	for (uint32_t n = 0; n < classes; n++) {
		double pair[] = { (double)(UINT64_C(1) << n) * unit, (double)samples[n] };

		if (samples[n])
			cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(pair, 2));
	}
}

void hp_alloc_add_spread(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	uint32_t step = ((const struct hp_alloc_row *)row)->step;
	struct hp_alloc_sampled sum;

	hp_alloc_add_frames(report, row, entry);
	if (!view->has_spreads)
		spreads_make(view);
	if (!view->spread_of[step])
		return;
	sum = spread_sum(report, step);
	classes_add(entry, "drawn_sizes", sum.sizes, HP_SIZE_CLASSES, 1);
	classes_add(entry, "drawn_lives_ns", sum.lives, HP_LIFE_CLASSES,
		    1024 * report->model.ns_per_tick);
}

/* --- the sections --- */

#define KEYS \
	"drawn_blocks:i drawn_freed:i drawn_without_age:i allocated_count:i freed_count:i " \
	"temporary_count:i"

const struct hp_section hp_alloc_sizes_section = {
	.key = "alloc-sizes",
	.json = "alloc_sizes",
	.name = "alloc-sizes",
	.help = "how large blocks are",
	.subject = HP_SUBJECT_MEMORY,
	.columns = size_columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = sizes_fill,
	.is_on_demand = true,
	.is_quiet = true,
	.about = "How large blocks are.",
	.empty = empty,
	.after = after,
	.extra = { .head = add_sampled, .list_keys = KEYS },
	.tool = { .help = "How large blocks are, estimated from randomly sampled blocks.",
		  .meaning =
			  "Blocks by size, estimated from randomly sampled blocks: error_percent is "
			  "half of a 95 % interval.",
		  .next = "top_allocation_sites: its raw rows have drawn_sizes of each call path." },
	.has_no_tab = true,
};

const struct hp_section hp_alloc_lives_section = {
	.key = "alloc-lives",
	.json = "alloc_lives",
	.name = "alloc-lives",
	.help = "how long blocks live",
	.subject = HP_SUBJECT_MEMORY,
	.columns = life_columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = lives_fill,
	.is_on_demand = true,
	.is_quiet = true,
	.about = "How long freed blocks lived.",
	.empty = empty,
	.after = after,
	.extra = { .head = add_sampled, .list_keys = KEYS },
	.tool = { .help = "How long freed blocks lived, estimated like alloc_sizes.",
		  .meaning = "How long freed blocks lived, estimated like alloc_sizes. Many "
			     "short-lived blocks could be one reused block.",
		  .next = "top_allocation_sites, for call paths whose blocks are temporary." },
	.has_no_tab = true,
};
