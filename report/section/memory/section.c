/* SPDX-License-Identifier: MIT */
/*
 * section.c - rows and columns of the sections about allocations.
 *
 * A row of the sites is a call path without the allocator's wrappers at its
 * inner end: paths that differ in those only are one row.
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

#define SITES_LIMIT 10

/* What belongs to one look. */
static void look_free(struct hp_alloc_view *view)
{
	hp_direct_maps_free(view);
	free(view->charged);
	if (view->has_charges)
		hp_charges_release(&view->charges);
	view->charged = NULL;
	view->charged_count = view->map_count = 0;
	view->maps = NULL;
	view->has_charges = view->has_maps = false;
	view->has_sites = view->has_rows = view->has_spreads = false;
}

static void look(struct hp_alloc_view *view, struct hp_report *report)
{
	hp_alloc_look(&view->alloc, &report->model);
	view->is_stale |= view->alloc.is_fresh;
	view->is_cumulative = report->settings->alloc_cumulative;
	if (!view->frames)
		view->frames = hp_frames_new(&report->model, report->symbols,
					     report->settings->alloc_wrappers);
	else
		view->is_stale |= hp_frames_look(view->frames, report->symbols);
	hp_alloc_names_forget(view);
}

static void view_free(void *held)
{
	struct hp_alloc_view *view = held;

	look_free(view);
	hp_alloc_rows_free(view);
	hp_alloc_changes_release(&view->changes);
	free(view->pending);
	free(view->spread_next);
	hp_frames_free(view->frames);
	hp_alloc_release(&view->alloc);
	free(view);
}

static void *view_keep(void *held)
{
	look_free(held);
	return held;
}

struct hp_alloc_view *hp_alloc_view(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free, .keep = view_keep };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_alloc_view *view = hp_views_get(&report->views, &kind);

	if (view)
		return view;
	view = hp_report_carried(report, &kind);
	if (!view)
		view = hp_xcalloc(1, sizeof(*view));
	hp_views_add(&report->views, &kind, view);
	view->is_kept = report->record.carry != NULL;
	look(view, report);
	return view;
}

const struct hp_charges *hp_alloc_charges(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (!view->has_charges)
		hp_charges_init(&view->charges, &report->model);
	view->has_charges = true;
	return &view->charges;
}

const struct hp_alloc *hp_alloc_of(const struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	return alloc->is_recorded ? alloc : NULL;
}

struct hp_frames *hp_alloc_frames(struct hp_report *report)
{
	return hp_alloc_of(report) ? hp_alloc_view(report)->frames : NULL;
}

/* --- lists --- */

bool hp_alloc_is_count(const struct hp_report *report)
{
	return report->settings->alloc_metric == HP_ALLOC_COUNT ||
	       report->settings->alloc_metric == HP_ALLOC_COUNT_MAX;
}

const struct hp_alloc_sum *hp_alloc_sum_of(const struct hp_report *report,
					   const struct hp_alloc_row *row)
{
	return report->settings->alloc_cumulative && row->inclusive.count ? &row->inclusive
									  : &row->sum;
}

static uint64_t metric(const struct hp_report *report, const struct hp_alloc_row *row)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(report, row);

	if (row->charge)
		return hp_alloc_charged(report, row);
	return hp_alloc_is_count(report) ? sum->count : sum->bytes;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct hp_alloc_row *a = *(const struct hp_alloc_row *const *)left;
	const struct hp_alloc_row *b = *(const struct hp_alloc_row *const *)right;
	struct hp_report *report = context;
	uint64_t x = metric(report, a), y = metric(report, b);

	if (x == y) {
		x = a->sum.count;
		y = b->sum.count;
	}
	if (x == y)
		return a->step + a->function < b->step + b->function ? -1 : 1;
	return x < y ? 1 : -1;
}

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

static bool lets(struct hp_report *report, struct hp_alloc_row *row)
{
	if (!report->focus.part && !report->focus.is_regex)
		return true;
	return hp_focus_lets(&report->focus, hp_alloc_row_name(report, row));
}

static void list_make(struct hp_report *report, struct hp_list *list, struct hp_alloc_row *rows,
		      size_t count)
{
	list->rows = hp_xcalloc(count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < count; i++)
		if (metric(report, &rows[i]) && lets(report, &rows[i]))
			list->rows[list->total++] = &rows[i];
}

void hp_alloc_list(const struct hp_section *section, struct hp_report *report, struct hp_list *list,
		   struct hp_alloc_row *rows, size_t count)
{
	list_make(report, list, rows, count);
	hp_section_cut(section, report, list);
	hp_top_sort(list->rows, list->total, list->shown, compare_rows, report);
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
	list_make(report, list, view->sites, view->site_count);
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
	return report->record.is_live ? "Call paths of what is not freed yet."
				      : "Call paths of what was not freed at the end.";
}

/* What is known of what can be reached; "" = nobody asked for it. */
static const char *reach_text(const struct hp_alloc *alloc)
{
	switch (alloc->leak_state) {
	case HP_LEAKS_THREADS:
		return "; what can be reached is not told: other threads were running at the end";
	case HP_LEAKS_ALLOCATOR:
		return "; what can be reached is told of glibc's malloc only";
	case HP_LEAKS_REFUSED:
		return "; what can be reached is not told: memory could not be looked through";
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
	return hp_xprintf("; lost, as nothing points to them: %s in %s blocks",
			  hp_format_bytes(&bytes, alloc->all.lost_bytes),
			  hp_format_count(&count, alloc->all.lost));
}

static bool is_other(const struct hp_alloc *alloc)
{
	return alloc->allocator == HP_ALLOCATOR_OTHER && alloc->allocator_file;
}

const char *hp_alloc_note(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_text_cell bytes, count, peak;

	if (!alloc)
		return NULL;
	free(report->text);
	report->text = hp_xprintf(
		"Total: %s in %s blocks, peak %s%s%s%s", hp_format_bytes(&bytes, alloc->all.bytes),
		hp_format_count(&count, alloc->all.count),
		hp_format_bytes(&peak,
				alloc->all.peak_bytes > 0 ? (uint64_t)alloc->all.peak_bytes : 0),
		is_other(alloc) ? ", by " : "",
		is_other(alloc) ? hp_name_file(alloc->allocator_file) : "",
		alloc->has_new ? ", whose operator new was not seen" : "");
	return report->text;
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

static const char *leaks_note(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_text_cell bytes, count;
	char *lost;

	if (!alloc)
		return NULL;
	lost = lost_text(alloc);
	free(report->text);
	report->text = hp_xprintf(
		"Total: %s in %s blocks%s",
		hp_format_bytes(&bytes,
				alloc->all.live_bytes > 0 ? (uint64_t)alloc->all.live_bytes : 0),
		hp_format_count(&count, alloc->all.live > 0 ? (uint64_t)alloc->all.live : 0),
		lost ? lost : reach_text(alloc));
	free(lost);
	return report->text;
}

const char *hp_alloc_empty(struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;
	const char *file =
		alloc->allocator_file ? hp_name_file(alloc->allocator_file) : "a library";

	free(report->text);
	report->text = NULL;
	if (alloc->allocator == HP_ALLOCATOR_INSIDE)
		report->text = hp_xprintf(
			"%s has a malloc of its own inside (linked statically), which cannot be seen "
			"from outside; link it with the shared library of that allocator",
			alloc->allocator_file ? file : "the program");
	if (alloc->allocator == HP_ALLOCATOR_BEFORE)
		report->text = hp_xprintf(
			"malloc is that of %s, which is loaded before libhotpath.so; put "
			"libhotpath.so first in LD_PRELOAD",
			file);
	if (report->text)
		return report->text;
	if (alloc->is_recorded && alloc->all.count)
		return "nothing passes HOTPATH_FOCUS";
	return "nothing was allocated, or HOTPATH_REPORT did not ask for it when it ran";
}

static const char *leaks_empty(struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	return alloc->is_recorded && alloc->all.count && !alloc->all.live ? "every block was freed"
									  : hp_alloc_empty(report);
}

static bool is_unseen(const struct hp_alloc *alloc)
{
	return alloc->allocator == HP_ALLOCATOR_INSIDE || alloc->allocator == HP_ALLOCATOR_BEFORE;
}

bool hp_alloc_has_data(const struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	return (alloc->is_recorded && alloc->all.count) || is_unseen(alloc);
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

	value->number = whole > 0 ? 100 * (double)metric(cell->report, cell->row) / whole : 0;
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
	.help = "call paths by what they allocate",
	.subject = HP_SUBJECT_MEMORY,
	.columns = site_columns,
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
		  .help = "Call paths by what they allocate.",
		  .meaning = "Call paths by bytes allocated since the start, freed or not.",
		  .next = "leaks; functions_alloc." },
	.usual_served = HP_PATHS_SERVED,
};

/* Only if asked for: most programs leave something behind, and the system takes it. */
const struct hp_section hp_leaks_section = {
	.key = "leaks",
	.json = "leaks",
	.name = "leaks",
	.help = "call paths by what is left",
	.subject = HP_SUBJECT_MEMORY,
	.columns = leak_columns,
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
	.tool = { .help = "Call paths by what they allocated and nobody has freed yet.",
		  .meaning =
			  "Call paths by bytes that were allocated and not freed by now. While the program runs "
			  "this is what it holds, which need not be lost.",
		  .next = "Ask twice: what grows between the two is a suspect." },
	.usual_served = HP_PATHS_SERVED,
};
