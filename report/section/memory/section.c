/* SPDX-License-Identifier: MIT */
/*
 * section.c - rows and columns of the sections about allocations.
 *
 * A row of the sites is a call path without the allocator's wrappers at its
 * inner end: paths that differ only in those are one row.
 */
#include "report/section/memory/section.h"

#include <stdlib.h>
#include <string.h>

#include "report/section/memory/view.h"
#include "report/section/memory/legend.h"
#include "report/section/core/list.h"
#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/read/size.h"
#include "report/base/top.h"
#include "segment/layout/process.h"
#include "segment/layout/header.h"

#define SITES_LIMIT 10

/* --- lists --- */

static int compare_live(const void *left, const void *right, void *context)
{
	const struct hp_alloc_row *a = *(const struct hp_alloc_row *const *)left;
	const struct hp_alloc_row *b = *(const struct hp_alloc_row *const *)right;
	int64_t x = a->sum.live_bytes, y = b->sum.live_bytes;

	(void)context;
	if (x == y) {
		x = a->sum.live;
		y = b->sum.live;
	}
	return x < y ? 1 : x > y ? -1 : a->step < b->step ? -1 : 1;
}

static void sites_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	hp_alloc_sites_make(view);
	hp_alloc_list(&hp_alloc_sites_section, report, list, view->sites, view->site_count);
}

static void leaks_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	size_t kept = 0;

	hp_alloc_sites_make(view);
	hp_alloc_list_make(report, list, view->sites, view->site_count);
	for (size_t i = 0; i < list->total; i++)
		if (((const struct hp_alloc_row *)list->rows[i])->sum.live)
			list->rows[kept++] = list->rows[i];
	list->total = kept;
	hp_section_cut(&hp_leaks_section, report, list);
	hp_top_sort(list->rows, list->total, list->shown, compare_live, report);
}

/* --- texts --- */

static const char *sites_describe(const struct hp_report *report)
{
	return hp_alloc_is_count(report) ? "Call paths by blocks allocated."
					 : "Call paths by bytes allocated.";
}

static const char *leaks_describe(const struct hp_report *report)
{
	return report->record.is_live ? "Call paths of blocks not freed yet."
				      : "Call paths of blocks not freed at the end.";
}

/* Facts about reachable blocks; "" = not requested. */
static const char *reach_text(const struct hp_alloc *alloc)
{
	switch (alloc->leak_state) {
	case HP_LEAKS_THREADS:
		return "; reachability unknown: other threads were running at the end";
	case HP_LEAKS_ALLOCATOR:
		return "; reachability is known for glibc's malloc only";
	case HP_LEAKS_REFUSED:
		return "; reachability unknown: memory could not be searched";
	default:
		return "";
	}
}

/* NULL = not known.  The caller frees it. */
static char *lost_text(const struct hp_alloc *alloc)
{
	struct hp_text_cell bytes, count;

	if (!alloc->leak_scans)
		return NULL;
	return hp_xprintf("; lost, since nothing points to them: %s in %s blocks",
			  hp_format_bytes(&bytes, alloc->all.lost_bytes),
			  hp_format_count(&count, alloc->all.lost));
}

static const char *sites_after(struct hp_report *report)
{
	char *line = hp_sizes_live_text(&report->model);

	if (!line)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("held over time  %s", line);
	free(line);
	return report->text;
}

/* "" = no process dropped rights while it held something. */
static char *left_text(const struct hp_alloc *alloc)
{
	struct hp_text_cell bytes, count;

	if (!alloc->left)
		return hp_xstrdup("");
	return hp_xprintf(
		"; not counted: %s in %s blocks, alive when their processes dropped privileges",
		hp_format_bytes(&bytes, alloc->left_bytes), hp_format_count(&count, alloc->left));
}

static const char *leaks_note(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_text_cell bytes, count;
	char *lost, *left;

	if (!alloc)
		return NULL;
	lost = lost_text(alloc);
	left = left_text(alloc);
	free(report->text);
	report->text = hp_xprintf(
		"Total: %s in %s blocks%s%s",
		hp_format_bytes(&bytes,
				alloc->all.live_bytes > 0 ? (uint64_t)alloc->all.live_bytes : 0),
		hp_format_count(&count, alloc->all.live > 0 ? (uint64_t)alloc->all.live : 0),
		lost ? lost : reach_text(alloc), left);
	free(lost);
	free(left);
	return report->text;
}

static const char *leaks_empty(struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	return alloc->is_recorded && alloc->all.count && !alloc->all.live ? "every block was freed"
									  : hp_alloc_empty(report);
}

/* --- columns --- */

static void get_site_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_alloc_row_name(cell->report, (struct hp_alloc_row *)(uintptr_t)cell->row);
}

static void get_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = ((const struct hp_alloc_row *)cell->row)->step +
			((const struct hp_alloc_row *)cell->row)->function;
}

static void get_sum(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_from(cell, hp_alloc_sum_of(cell->report, cell->row), value);
}

static void get_lost(const struct hp_cell *cell, struct hp_value *value)
{
	get_sum(cell, value);
	value->is_unknown = !hp_alloc_view(cell->report)->alloc.leak_scans;
}

static void get_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(cell->report, cell->row);

	value->number = sum->count ? (double)sum->bytes / (double)sum->count : 0;
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *all = &hp_alloc_view(cell->report)->alloc.all;
	double whole = (double)(hp_alloc_is_count(cell->report) ? all->count : all->bytes);

	value->number =
		whole > 0 ? 100 * (double)hp_alloc_metric(cell->report, cell->row) / whole : 0;
}

static void get_live_share(const struct hp_cell *cell, struct hp_value *value)
{
	double whole = (double)hp_alloc_view(cell->report)->alloc.all.live_bytes;

	value->number =
		whole > 0 ? 100 * (double)((const struct hp_alloc_row *)cell->row)->sum.live_bytes /
				    whole
			  : 0;
}

static void get_temporary_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(cell->report, cell->row);

	value->number = sum->count ? 100 * (double)sum->temporary / (double)sum->count : 0;
}

static const struct hp_column site_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = get_id },
	{ "Call path", "name", "name", HP_UNIT_CHAIN, .get = get_site_name },
	{ "Count", "count", "count", HP_UNIT_COUNT, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, count) },
	{ NULL, "avg", "avg_bytes", HP_UNIT_BYTES, .get = get_average },
	{ NULL, "percent_temporary", NULL, HP_UNIT_LOAD, .get = get_temporary_share },
	{ "Peak", "peak", "peak_bytes", HP_UNIT_BYTES, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, peak_bytes) },
	{ "Left", "live", "live_bytes", HP_UNIT_BYTES, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, live_bytes) },
	{ "Total", "total", "total_bytes", HP_UNIT_BYTES, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, bytes) },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = get_share },
	{ .raw = "live_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, live) },
	{ .raw = "frees",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, frees) },
	{ .raw = "freed_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, freed_bytes) },
	{ .raw = "temporary_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, temporary) },
	{ .raw = "temporary_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, temporary_bytes) },
	{ 0 },
};

static const struct hp_column leak_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = get_id },
	{ "Call path", "name", "name", HP_UNIT_CHAIN, .get = get_site_name },
	{ "Blocks", "count", "live_count", HP_UNIT_COUNT, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, live) },
	{ "Left", "live", "live_bytes", HP_UNIT_BYTES, .get = get_sum,
	  .member = HP_MEMBER(hp_alloc_sum, live_bytes) },
	{ "% Left", "percent_live", "percent_live", HP_UNIT_SHARE, .get = get_live_share },
	{ "Lost", "lost", "lost_bytes", HP_UNIT_BYTES, .get = get_lost,
	  .member = HP_MEMBER(hp_alloc_sum, lost_bytes), .need = HP_NEED_KNOWN },
	{ .raw = "lost_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_lost,
	  .member = HP_MEMBER(hp_alloc_sum, lost),
	  .need = HP_NEED_KNOWN },
	{ 0 },
};

/* --- the sections --- */

const struct hp_section hp_alloc_sites_section = {
	.key = "alloc-sites",
	.json = "alloc_sites",
	.name = "alloc-sites",
	.help = "call paths by allocation",
	.subject = HP_SUBJECT_MEMORY,
	.columns = site_columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = sites_fill,
	.limit = HP_MEMBER(hp_settings, alloc_limit),
	.usual = SITES_LIMIT,
	.has_data = hp_alloc_has_data,
	.describe = sites_describe,
	.empty = hp_alloc_empty,
	.note = hp_alloc_note,
	.after = sites_after,
	.extra = { .head = hp_alloc_add_totals,
		   .raw = hp_alloc_add_spread,
		   .list_keys = HP_ALLOC_KEYS,
		   .raw_keys = "frames:[@frame] drawn_sizes:[[n]] drawn_lives_ns:[[n]]" },
	.legend_write = hp_alloc_legend_write,
	.tool = { .name = "top_allocation_sites",
		  .help = "Call paths by allocation.",
		  .meaning = "Call paths by bytes allocated since the start, freed or not.",
		  .next = "leaks; functions_alloc." },
	.usual_served = HP_PATHS_SERVED,
};

/* Only if requested: most programs leave something behind, and the system frees it. */
const struct hp_section hp_leaks_section = {
	.key = "leaks",
	.json = "leaks",
	.name = "leaks",
	.help = "call paths by blocks not freed",
	.subject = HP_SUBJECT_MEMORY,
	.columns = leak_columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = leaks_fill,
	.limit = HP_MEMBER(hp_settings, alloc_limit),
	.usual = SITES_LIMIT,
	.is_on_demand = true,
	.describe = leaks_describe,
	.empty = leaks_empty,
	.note = leaks_note,
	.extra = { .head = hp_alloc_add_totals,
		   .raw = hp_alloc_add_frames,
		   .list_keys = HP_ALLOC_KEYS,
		   .raw_keys = "frames:[@frame]" },
	.tool = { .help = "Call paths by allocated blocks that have not been freed yet.",
		  .meaning =
			  "Call paths by bytes allocated and not freed yet. While the program runs "
			  "these are held, not necessarily lost.",
		  .next = "Call it twice: a row that grows is a suspect." },
	.usual_served = HP_PATHS_SERVED,
};
