/* SPDX-License-Identifier: MIT */
/*
 * view.h - private to the files of the sections about allocations.
 */
#ifndef HP_REPORT_SECTION_MEMORY_VIEW_H
#define HP_REPORT_SECTION_MEMORY_VIEW_H

#include "report/section/memory/section.h"
#include "report/read/charge.h"
#include "report/name/frame.h"

struct hp_alloc_row {
	uint32_t step;	/* of a site: the innermost one that is shown */
	uint32_t function;	/* of a function: its number */
	bool is_function;
	char *name;	/* NULL = not requested yet */
	char *frames;	/* of a site: its part in JSON; NULL = the same */
	const struct hp_charge_sum
		*charge;	/* of an instrumented function, which is of the model then */
	struct hp_alloc_sum sum;	/* own. Sort keys of rows are in one cache line */
};

struct hp_map_row {
	struct hp_alloc_row row;	/* first: a path is shown like other rows */
	uint32_t kinds;
	bool is_allocator;	/* mapped by the allocator for its own blocks */
};

/* A class of sizes or ages. */
struct hp_class_row {
	uint32_t number;	/* HP_LIFE_CLASSES of ages: the temporary ones */
	uint64_t samples;
	double count;	/* blocks, estimated */
};

/* A step as part of paths: see rows.c. */
struct hp_alloc_link {
	uint32_t function;	/* UINT32_MAX = no code */
	uint32_t outer;	/* the next step outward whose function does not occur further out; 0 = none */
};

/*
 * State that outlives a refresh: the rows, and the data needed to find those of
 * a step.  Only changes are added to them at the next one.
 */
struct hp_alloc_view {
	struct hp_alloc alloc;
	struct hp_frames *frames;
	bool is_kept;	/* for the next refresh */
	bool is_stale;	/* a name arrived, or the steps changed: rows must be rebuilt */
	bool is_cumulative;	/* all sums of callees are added up, not only their allocations */
	uint32_t *place_of;	/* by code: number of its place in the frames + 1; 0 = not known yet */
	size_t code_room;
	size_t step_room;	/* of the arrays parallel to the steps */
	uint32_t *folded;	/* by step: the one that represents it, + 1; 0 = not known yet */
	uint32_t *site_of;	/* by folded step: place in sites + 1; 0 = none */
	struct hp_alloc_row *sites;	/* some may have nothing left */
	size_t site_count;
	size_t site_room;
	bool has_sites;	/* of this look */
	uint32_t *pending;	/* sites whose names may still be found */
	size_t pending_count;
	size_t pending_room;
	struct hp_alloc_link *links;	/* by step */
	size_t link_count;
	struct hp_alloc_changes changes;	/* of sites, for the rows of functions */
	struct hp_alloc_row *rows;	/* of functions, according to call paths */
	struct hp_alloc_sum *inclusive;	/* beside them: with callees */
	size_t row_count;
	bool has_rows;	/* of this look */
	uint32_t *spread_of;	/* by folded step: place in alloc.spreads + 1 */
	uint32_t *spread_next;	/* parallel to alloc.spreads: of the same folded step, + 1 */
	bool has_spreads;	/* of this look */

	/* Only for this refresh. */
	struct hp_charges charges;
	bool has_charges;
	struct hp_map_row *maps;	/* direct maps */
	size_t map_count;
	bool has_maps;
	struct hp_class_row size_rows[HP_SIZE_CLASSES];
	struct hp_class_row life_rows[HP_LIFE_CLASSES + 1];
	struct hp_alloc_row *charged;	/* instrumented functions */
	size_t charged_count;
};

/* Allocations of calls of instrumented functions; read on first request. */
const struct hp_charges *hp_alloc_charges(const struct hp_report *report);

/* The sites: hp_alloc_view.sites. */
void hp_alloc_sites_make(struct hp_alloc_view *view);

/* The functions found in call paths: hp_alloc_view.rows. */
void hp_alloc_callers_make(struct hp_alloc_view *view);

/* Releases all rows, or only the names of those whose names may still be found. */
void hp_alloc_rows_free(struct hp_alloc_view *view);
void hp_alloc_names_forget(struct hp_alloc_view *view);

/* The row's names or frames were made; `before` is the previous hp_frames_pending. */
void hp_alloc_name_note(struct hp_alloc_view *view, const struct hp_alloc_row *row,
			uint64_t before);

/* The step that represents allocations at `step`: not of a wrapper. */
uint32_t hp_alloc_folded(struct hp_alloc_view *view, uint32_t step);
/* The first step outward from there that is not in the C++ library; `step` if all are. */
uint32_t hp_alloc_told(struct hp_alloc_view *view, uint32_t step);

/* Room for facts by code, at the start of a refresh. */
void hp_alloc_codes_make(struct hp_alloc_view *view);

/* The place of a step; not for a mark. */
struct hp_frame_place *hp_alloc_place(struct hp_alloc_view *view, uint32_t step);

/* Blocks and not bytes are shown, are sorted by. */
bool hp_alloc_is_count(const struct hp_report *report);

/* Of a function according to call paths: with those of its callees. NULL = another row. */
const struct hp_alloc_sum *hp_alloc_inclusive(const struct hp_report *report,
					      const struct hp_alloc_row *row);

/* Own ones, or with HOTPATH_ALLOC_CUMULATIVE those of callees too. */
const struct hp_alloc_sum *hp_alloc_sum_of(const struct hp_report *report,
					   const struct hp_alloc_row *row);

/* Sort keys of rows. */
uint64_t hp_alloc_metric(const struct hp_report *report, const struct hp_alloc_row *row);

/* Shows the most that a call held at once, not its allocated bytes. */
bool hp_alloc_is_most(const struct hp_report *report);
enum hp_charge_kind hp_alloc_charge_kind(const struct hp_report *report);

/* Sort keys of an instrumented function. */
uint64_t hp_alloc_charged(const struct hp_report *report, const struct hp_alloc_row *row);

/* The rows that have something and pass the focus, most first, cut as hp_section_cut does. */
void hp_alloc_list(const struct hp_section *section, struct hp_report *report, struct hp_list *list,
		   struct hp_alloc_row *rows, size_t count);

/* The same without an order, and not cut. */
void hp_alloc_list_make(struct hp_report *report, struct hp_list *list, struct hp_alloc_row *rows,
			size_t count);

/* A row's name: a call path or a function. */
const char *hp_alloc_row_name(struct hp_report *report, struct hp_alloc_row *row);

/* The sampled blocks of a row, which must be a call path; all zero if it has too few. */
struct hp_alloc_sampled hp_alloc_row_sampled(struct hp_report *report,
					     const struct hp_alloc_row *row);

enum hp_alloc_detail {
	HP_ALLOC_PLAIN,
	HP_ALLOC_LINES,	/* the line of each call */
	HP_ALLOC_ADDRESSES,	/* and the address of the innermost call in its file: two may be in one line */
};

/* The name of a call path with more detail, fresh: paths of equal names differ there; NULL = a function. */
char *hp_alloc_row_lined_name(struct hp_report *report, const void *row,
			      enum hp_alloc_detail detail);

#endif
