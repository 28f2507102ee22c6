/* SPDX-License-Identifier: MIT */
/*
 * list.c - see view.h: sort keys of rows, and lists of them.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/base/top.h"
#include "report/name/name.h"
#include "report/section/memory/view.h"
#include "segment/layout/process.h"
#include "segment/layout/header.h"

/* --- which figures --- */

bool hp_alloc_is_most(const struct hp_report *report)
{
	uint32_t metric = report->settings->alloc_metric;

	return hp_alloc_charges(report)->has_most &&
	       (metric == HP_ALLOC_BYTES_MAX || metric == HP_ALLOC_COUNT_MAX);
}

enum hp_charge_kind hp_alloc_charge_kind(const struct hp_report *report)
{
	bool is_count = hp_alloc_is_count(report);

	if (hp_alloc_is_most(report))
		return is_count ? HP_CHARGE_MAX_COUNT : HP_CHARGE_MAX_BYTES;
	if (report->settings->alloc_cumulative)
		return is_count ? HP_CHARGE_WHOLE_COUNT : HP_CHARGE_WHOLE_BYTES;
	return is_count ? HP_CHARGE_COUNT : HP_CHARGE_BYTES;
}

static uint64_t total_of(const struct hp_charge_sum *sum, enum hp_charge_kind kind)
{
	switch (kind) {
	case HP_CHARGE_BYTES:
		return hp_charge_bytes(sum);
	case HP_CHARGE_COUNT:
		return hp_charge_count(sum);
	case HP_CHARGE_WHOLE_BYTES:
		return sum->whole_bytes;
	case HP_CHARGE_WHOLE_COUNT:
		return sum->whole_count;
	case HP_CHARGE_MAX_BYTES:
		return sum->most_bytes;
	default:
		return sum->most_count;
	}
}

uint64_t hp_alloc_charged(const struct hp_report *report, const struct hp_alloc_row *row)
{
	return total_of(row->charge, hp_alloc_charge_kind(report));
}

/* --- rows --- */

bool hp_alloc_is_count(const struct hp_report *report)
{
	return report->settings->alloc_metric == HP_ALLOC_COUNT ||
	       report->settings->alloc_metric == HP_ALLOC_COUNT_MAX;
}

const struct hp_alloc_sum *hp_alloc_inclusive(const struct hp_report *report,
					      const struct hp_alloc_row *row)
{
	return row->is_function && !row->charge ? &hp_alloc_view(report)->inclusive[row->function]
						: NULL;
}

const struct hp_alloc_sum *hp_alloc_sum_of(const struct hp_report *report,
					   const struct hp_alloc_row *row)
{
	const struct hp_alloc_sum *inclusive = hp_alloc_inclusive(report, row);

	return report->settings->alloc_cumulative && inclusive && inclusive->count ? inclusive
										   : &row->sum;
}

uint64_t hp_alloc_metric(const struct hp_report *report, const struct hp_alloc_row *row)
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
	uint64_t x = hp_alloc_metric(report, a), y = hp_alloc_metric(report, b);

	if (x == y) {
		x = a->sum.count;
		y = b->sum.count;
	}
	if (x == y)
		return a->step + a->function < b->step + b->function ? -1 : 1;
	return x < y ? 1 : -1;
}

static bool lets(struct hp_report *report, struct hp_alloc_row *row)
{
	if (!report->focus.part && !report->focus.is_regex)
		return true;
	return hp_focus_allows(&report->focus, hp_alloc_row_name(report, row));
}

/* Blocks of no bytes are blocks. */
static bool is_used(struct hp_report *report, const struct hp_alloc_row *row)
{
	return hp_alloc_metric(report, row) || hp_alloc_sum_of(report, row)->count;
}

void hp_alloc_list_make(struct hp_report *report, struct hp_list *list, struct hp_alloc_row *rows,
			size_t count)
{
	list->rows = hp_xcalloc(count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < count; i++)
		if (is_used(report, &rows[i]) && lets(report, &rows[i]))
			list->rows[list->total++] = &rows[i];
}

void hp_alloc_list(const struct hp_section *section, struct hp_report *report, struct hp_list *list,
		   struct hp_alloc_row *rows, size_t count)
{
	hp_alloc_list_make(report, list, rows, count);
	hp_section_cut(section, report, list);
	hp_top_sort(list->rows, list->total, list->shown, compare_rows, report);
}

/* --- texts --- */

static bool is_other(const struct hp_alloc *alloc)
{
	return alloc->allocator == HP_ALLOCATOR_OTHER && alloc->allocator_file;
}

char *hp_alloc_unseen_text(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	bool has_more = alloc && alloc->has_unseen_more;
	const char *file;

	if (!alloc || !alloc->all.count || (!alloc->unseen_kind && !has_more))
		return NULL;
	if (!alloc->unseen_kind)
		return hp_xstrdup("without the blocks of programs with a malloc of their own");
	file = alloc->unseen_file ? hp_name_file(alloc->unseen_file) : "a program";
	if (alloc->unseen_kind == HP_ALLOCATOR_BEFORE)
		return hp_xprintf("without the blocks of programs%s that use the malloc of %s, "
				  "which is loaded before libhotpath.so",
				  has_more ? " with their own malloc, or" : "", file);
	return hp_xprintf("without the blocks of %s%s, whose malloc is linked statically", file,
			  has_more ? " and others" : "");
}

const char *hp_alloc_note(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_text_cell bytes, count, peak;
	char *unseen;

	if (!alloc)
		return NULL;
	free(report->text);
	unseen = hp_alloc_unseen_text(report);
	report->text = hp_xprintf("Total: %s in %s blocks, peak %s%s%s%s%s%s",
				  hp_format_bytes(&bytes, alloc->all.bytes),
				  hp_format_count(&count, alloc->all.count),
				  hp_format_bytes(&peak, alloc->all.peak_bytes > 0
								 ? (uint64_t)alloc->all.peak_bytes
								 : 0),
				  is_other(alloc) ? ", by " : "",
				  is_other(alloc) ? hp_name_file(alloc->allocator_file) : "",
				  alloc->has_new ? ", whose operator new was not seen" : "",
				  unseen ? ", " : "", unseen ? unseen : "");
	free(unseen);
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
			"%s has its own malloc (linked statically), which cannot be seen "
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
		return "nothing matches HOTPATH_FOCUS";
	if (report->model.recorded & HP_RECORDED_ALLOCATIONS)
		return "nothing was allocated";
	return "nothing was allocated, or HOTPATH_REPORT did not ask for it when it ran";
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
