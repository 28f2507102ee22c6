/* SPDX-License-Identifier: MIT */
/*
 * section.h - the sections about allocations: by function, by call path,
 * what was still held at the end.
 */
#ifndef HP_REPORT_SECTION_MEMORY_SECTION_H
#define HP_REPORT_SECTION_MEMORY_SECTION_H

#include <cjson/cJSON.h>

#include "report/section/memory/alloc.h"
#include "report/section/core/section.h"

struct hp_alloc_view;

/* The report's allocations: they are read when they are first asked for. */
struct hp_alloc_view *hp_alloc_view(const struct hp_report *report);

/* What was read of the segment; NULL = nothing recorded allocations. */
const struct hp_alloc *hp_alloc_of(const struct hp_report *report);

/* The names of its steps; NULL as above. */
struct hp_frames *hp_alloc_frames(struct hp_report *report);

/* What a step that is no code is called. */
const char *hp_alloc_mark_name(uint32_t mark);

/*
 * What a thread allocated and freed; NULL = it did not, or another thread took
 * its heap over since (its figures are in the totals only).
 */
const struct hp_alloc_thread *hp_alloc_thread_of(const struct hp_report *report, uint32_t pid,
						 uint32_t tid);

/* "Alloc: 2.0 MB, Dealloc: 1.9 MB, Diff: 0.1 MB" of all threads, fresh; NULL = not recorded. */
char *hp_alloc_threads_note(const struct hp_report *report);

/* JSON: the same. */
void hp_alloc_threads_add(struct hp_report *report, cJSON *list);

/* What report/section/sections.c's table names. */
extern const struct hp_column hp_alloc_site_columns[];
extern const struct hp_column hp_alloc_function_columns[];
extern const struct hp_column hp_leak_columns[];

void hp_alloc_sites_fill(struct hp_report *report, struct hp_list *list);
void hp_alloc_functions_fill(struct hp_report *report, struct hp_list *list);	/* function.c */
void hp_alloc_callers_fill(struct hp_report *report, struct hp_list *list);
void hp_leaks_fill(struct hp_report *report, struct hp_list *list);
const char *hp_alloc_sites_describe(const struct hp_report *report);
const char *hp_alloc_functions_describe(const struct hp_report *report);
const char *hp_leaks_describe(const struct hp_report *report);
const char *hp_alloc_note(struct hp_report *report);
const char *hp_alloc_sites_after(struct hp_report *report);
const char *hp_leaks_note(struct hp_report *report);
const char *hp_alloc_empty(struct hp_report *report);
const char *hp_leaks_empty(struct hp_report *report);
const char *hp_alloc_callers_describe(const struct hp_report *report);
bool hp_alloc_callers_has_data(const struct hp_report *report);
bool hp_alloc_has_data(const struct hp_report *report);
bool hp_leaks_has_data(const struct hp_report *report);

/* Blocks that were drawn at random, by size and age: drawn.c. */
extern const struct hp_column hp_size_columns[];
extern const struct hp_column hp_life_columns[];
void hp_block_sizes_fill(struct hp_report *report, struct hp_list *list);
void hp_block_lives_fill(struct hp_report *report, struct hp_list *list);
const char *hp_block_sizes_describe(const struct hp_report *report);
const char *hp_block_lives_describe(const struct hp_report *report);
const char *hp_blocks_empty(struct hp_report *report);
const char *hp_blocks_after(struct hp_report *report);
bool hp_blocks_has_data(const struct hp_report *report);
void hp_blocks_add(struct hp_report *report, cJSON *list);	/* JSON: how many were drawn */
/* JSON: `sizes` and `lives` of a call path that has many blocks. */
void hp_alloc_spread_add(struct hp_report *report, const void *row, cJSON *entry);

/* Direct maps: direct.c. */
extern const struct hp_column hp_direct_columns[];
void hp_direct_maps_fill(struct hp_report *report, struct hp_list *list);
const char *hp_direct_maps_describe(const struct hp_report *report);
const char *hp_direct_maps_note(struct hp_report *report);
const char *hp_direct_maps_empty(struct hp_report *report);
const char *hp_direct_maps_after(struct hp_report *report);
bool hp_direct_maps_has_data(const struct hp_report *report);
void hp_direct_maps_add(struct hp_report *report, cJSON *list);	/* JSON: totals */
void hp_direct_maps_free(struct hp_alloc_view *view);

/* JSON: the frames of a row's path, and what was counted in all. */
void hp_alloc_frames_add(struct hp_report *report, const void *row, cJSON *entry);
void hp_alloc_calls_add(struct hp_report *report, const void *row, cJSON *entry);
void hp_alloc_totals_add(struct hp_report *report, cJSON *list);

#endif
