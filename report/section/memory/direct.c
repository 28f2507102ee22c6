/* SPDX-License-Identifier: MIT */
/*
 * direct.c - mappings made by programs themselves: mmap, mremap, brk, by call
 * path.
 *
 * A path whose innermost object is the allocator belongs to the allocator: its bytes become
 * blocks, which other sections show. It has a row, but is not in the totals.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/view.h"
#include "report/section/core/list.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

#define USUAL_LIMIT 10

struct kind {
	uint32_t bit;
	const char *name;
};

static const struct kind kinds[] = {
	{ HP_MAP_MEMORY, "memory" },	 { HP_MAP_SHARED, "shared" }, { HP_MAP_FILE, "file" },
	{ HP_MAP_RESERVED, "reserved" }, { HP_MAP_BREAK, "brk" },     { HP_MAP_MOVED, "mremap" },
};

/* --- rows --- */

static void rows_make(struct hp_report *report)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	const struct hp_alloc *alloc = &view->alloc;
	struct hp_map places = { 0 };

	if (view->has_maps)
		return;
	view->has_maps = true;
	view->maps = hp_xcalloc(alloc->map_count, sizeof(*view->maps));
	for (size_t i = 0; i < alloc->map_count; i++) {
		uint32_t step = hp_alloc_folded(view, alloc->maps[i].step);
		bool is_inner = alloc->maps[i].kinds & HP_MAP_INNER;
		struct hp_map_row *row;
		uint32_t *place;
		bool is_new;

		place = hp_map_at(&places, ((uint64_t)step + 1) << 1 | is_inner, &is_new);
		if (is_new)
			*place = (uint32_t)view->map_count++;
		row = &view->maps[*place];
		row->row.step = step;
		row->kinds |= alloc->maps[i].kinds;
		row->is_allocator = is_inner;
		hp_alloc_add(&row->row.sum, &alloc->maps[i].sum);
	}
	hp_map_release(&places);
}

/* Mappings made by the program itself. */
static struct hp_alloc_sum total_of(struct hp_report *report)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	struct hp_alloc_sum total = { .count = 0 };

	rows_make(report);
	for (size_t i = 0; i < view->map_count; i++)
		if (!view->maps[i].is_allocator)
			hp_alloc_add(&total, &view->maps[i].row.sum);
	return total;
}

static uint64_t metric(const struct hp_report *report, const struct hp_map_row *row)
{
	return hp_alloc_is_count(report) ? row->row.sum.count : row->row.sum.bytes;
}

/* The allocator's last; largest first; equal ones in the order of reading, which is always the
 * same. */
static int compare(const void *left, const void *right, void *context)
{
	const struct hp_map_row *a = *(const struct hp_map_row *const *)left;
	const struct hp_map_row *b = *(const struct hp_map_row *const *)right;
	uint64_t x = metric(context, a), y = metric(context, b);

	if (a->is_allocator != b->is_allocator)
		return a->is_allocator ? 1 : -1;
	if (x != y)
		return x < y ? 1 : -1;
	return a < b ? -1 : a > b;
}

static bool lets(struct hp_report *report, struct hp_map_row *row)
{
	if (!report->focus.part && !report->focus.is_regex)
		return true;
	return hp_focus_allows(&report->focus, hp_alloc_row_name(report, &row->row));
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	rows_make(report);
	list->rows = hp_xcalloc(view->map_count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < view->map_count; i++)
		if (lets(report, &view->maps[i]))
			list->rows[list->total++] = &view->maps[i];
	qsort_r(list->rows, list->total, sizeof(*list->rows), compare, report);
	hp_section_cut(&hp_direct_maps_section, report, list);
}

/* --- texts --- */

static uint64_t positive(int64_t number)
{
	return number > 0 ? (uint64_t)number : 0;
}

static const char *note(struct hp_report *report)
{
	struct hp_alloc_sum total = total_of(report);
	struct hp_text_cell bytes, count, left;

	free(report->text);
	report->text =
		hp_xprintf("Total: %s in %s maps, left %s", hp_format_bytes(&bytes, total.bytes),
			   hp_format_count(&count, total.count),
			   hp_format_bytes(&left, positive(total.live_bytes)));
	return report->text;
}

static bool has_data(const struct hp_report *report)
{
	return hp_alloc_view(report)->alloc.map_count != 0;
}

static const char *empty(struct hp_report *report)
{
	if (has_data(report))
		return "nothing matches HOTPATH_FOCUS";
	return "the program called neither mmap nor brk itself, or HOTPATH_REPORT did not ask for it "
	       "when it ran";
}

static const char *after(struct hp_report *report)
{
	switch (hp_alloc_view(report)->alloc.mapped.fault) {
	case HP_MAPS_LEFT:
		return "These figures end early: a thread left one of these calls by longjmp, or was "
		       "cancelled in it.";
	case HP_MAPS_NO_MEMORY:
		return "These figures end early: there was no memory to record more.";
	default:
		return NULL;
	}
}

/* --- columns --- */

static const struct hp_map_row *map_of(const void *row)
{
	return row;
}

static void get_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_alloc_row_name(cell->report, (struct hp_alloc_row *)(uintptr_t)cell->row);
}

static char *kinds_text(const struct hp_map_row *row)
{
	char *text = hp_xstrdup(row->is_allocator ? "allocator" : "");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !row->is_allocator; i++) {
		char *longer;

		if (!(row->kinds & kinds[i].bit))
			continue;
		longer = hp_xprintf("%s%s%s", text, *text ? "+" : "", kinds[i].name);
		free(text);
		text = longer;
	}
	return text;
}

static void get_kind(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, kinds_text(map_of(cell->row)), value);
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	struct hp_alloc_sum total = total_of(cell->report);
	double whole = (double)(hp_alloc_is_count(cell->report) ? total.count : total.bytes);

	value->number = whole > 0 ? 100 * (double)metric(cell->report, cell->row) / whole : 0;
	value->is_unknown = map_of(cell->row)->is_allocator;
}

static const struct hp_column columns[] = {
	{ .key = "id",
	  .raw = "id",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_map_row, row.step) },
	{ "Call path", "name", "name", HP_UNIT_CHAIN, .get = get_name },
	{ "Kind", "kind", "kind", HP_UNIT_TEXT, .get = get_kind },
	{ "Maps", "count", "count", HP_UNIT_COUNT, .member = HP_MEMBER(hp_map_row, row.sum.count) },
	{ "Peak", "peak", "peak_bytes", HP_UNIT_BYTES,
	  .member = HP_MEMBER(hp_map_row, row.sum.peak_bytes) },
	{ "Left", "live", "live_bytes", HP_UNIT_BYTES,
	  .member = HP_MEMBER(hp_map_row, row.sum.live_bytes) },
	{ "Total", "total", "total_bytes", HP_UNIT_BYTES,
	  .member = HP_MEMBER(hp_map_row, row.sum.bytes) },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = get_share },
	{ .raw = "live_ranges",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_map_row, row.sum.live) },
	{ .raw = "freed_ranges",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_map_row, row.sum.frees) },
	{ .raw = "freed_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_map_row, row.sum.freed_bytes) },
	{ 0 },
};

/* --- JSON --- */

static void add_number(cJSON *list, const char *key, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	cJSON_AddItemToObject(list, key, cJSON_CreateRaw(text));
}

static void add_totals(struct hp_report *report, cJSON *list)
{
	const struct hp_alloc_mapped *mapped = &hp_alloc_view(report)->alloc.mapped;
	struct hp_alloc_sum total = total_of(report);

	hp_json_whole(list, "mapped_bytes", total.bytes);
	hp_json_whole(list, "mapped_count", total.count);
	hp_json_whole(list, "unmapped_bytes", total.freed_bytes);
	add_number(list, "live_bytes", total.live_bytes);
	add_number(list, "live_ranges", total.live);
	/* With those of the allocator, if it maps through our stand-ins. */
	add_number(list, "peak_bytes_all", mapped->peak_bytes);
	hp_json_whole(list, "lost_calls", mapped->lost);
	cJSON_AddBoolToObject(list, "is_cut_short", mapped->fault != HP_MAPS_FINE);
}

/* --- the section --- */

const struct hp_section hp_direct_maps_section = {
	.key = "direct-maps",
	.json = "direct_maps",
	.name = "direct-maps",
	.help = "call paths by directly mapped memory",
	.subject = HP_SUBJECT_MEMORY,
	.columns = columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, alloc_limit),
	.usual = USUAL_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Memory that the program maps itself, by call path.",
	.empty = empty,
	.note = note,
	.after = after,
	.extra = { .head = add_totals,
		   .raw = hp_alloc_add_frames,
		   .list_keys =
			   "mapped_bytes:i mapped_count:i unmapped_bytes:i live_bytes:i live_ranges:i "
			   "peak_bytes_all:i lost_calls:i is_cut_short:b",
		   .raw_keys = "frames:[@frame]" },
	.tool = { .help = "Memory that the program maps itself, by call path, without malloc.",
		  .meaning =
			  "Memory that the program maps itself (mmap, brk), by call path; none of it is in leaks or "
			  "top_allocation_sites.",
		  .next = "threads for the process's resident memory." },
	.has_no_tab = true,
};
