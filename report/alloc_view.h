/* SPDX-License-Identifier: MIT */
/*
 * alloc_view.h - what the files of the sections about allocations share, and
 * nobody else looks at.
 */
#ifndef HP_REPORT_ALLOC_VIEW_H
#define HP_REPORT_ALLOC_VIEW_H

#include "report/alloc_section.h"
#include "report/charge.h"
#include "report/frame.h"

struct hp_alloc_row {
	uint32_t step; /* of a site: the innermost one that is told */
	uint32_t function; /* of a function: its number */
	bool is_function;
	char *name; /* NULL = not asked for yet */
	struct hp_alloc_sum sum; /* own */
	struct hp_alloc_sum inclusive; /* of a function */
	const struct hp_charge_sum
		*charge; /* of an instrumented function, which is of the model then */
};

struct hp_map_row {
	struct hp_alloc_row row; /* first: a path is told as of other rows */
	uint32_t kinds;
	bool is_allocator; /* mapped by the allocator for what it gives out */
};

/* A class of sizes or ages. */
struct hp_class_row {
	uint32_t number; /* HP_LIFE_CLASSES of ages: the temporary ones */
	uint64_t samples;
	double count; /* blocks, estimated */
};

struct hp_alloc_view {
	struct hp_alloc alloc;
	struct hp_charges charges;
	bool has_charges;
	struct hp_frames *frames;
	struct hp_alloc_row *sites;
	size_t site_count;
	bool has_sites;
	uint32_t *functions; /* of each step; UINT32_MAX = no code */
	struct hp_alloc_row *rows; /* of functions, as call paths tell them */
	size_t row_count;
	bool has_rows;
	struct hp_map_row *maps; /* direct maps */
	size_t map_count;
	bool has_maps;
	struct hp_class_row size_rows[HP_SIZE_CLASSES];
	struct hp_class_row life_rows[HP_LIFE_CLASSES + 1];
	uint32_t *spread_of; /* by folded step: place in `spreads` + 1; NULL = not made yet */
	struct hp_alloc_drawn *spreads;
	struct hp_alloc_row *charged; /* instrumented functions */
	size_t charged_count;
};

/* What calls of instrumented functions allocated; read when it is first asked for. */
const struct hp_charges *hp_alloc_charges(const struct hp_report *report);

/* The sites: hp_alloc_view.sites. */
void hp_alloc_sites_make(struct hp_alloc_view *view);

/* The step that answers for what was allocated at `step`: not of a wrapper. */
uint32_t hp_alloc_folded(struct hp_alloc_view *view, uint32_t step);

/* The place that a step is at; not of a mark. */
struct hp_frame_place *hp_alloc_place(struct hp_alloc_view *view, uint32_t step);

/* Blocks and not bytes are shown, are sorted by. */
bool hp_alloc_is_count(const struct hp_report *report);

/* Own ones, or with HOTPATH_ALLOC_CUMULATIVE those of callees too. */
const struct hp_alloc_sum *hp_alloc_sum_of(const struct hp_report *report,
					   const struct hp_alloc_row *row);

/* What an instrumented function is sorted by. */
uint64_t hp_alloc_charged(const struct hp_report *report, const struct hp_alloc_row *row);

/* The rows that have something and pass the focus, most first, cut as hp_list_cut does. */
void hp_alloc_list(struct hp_report *report, struct hp_list *list, struct hp_alloc_row *rows,
		   size_t count, uint64_t limit, size_t usual);

/* What a row is called: a call path, or a function. */
const char *hp_alloc_row_name(struct hp_report *report, struct hp_alloc_row *row);

#endif
