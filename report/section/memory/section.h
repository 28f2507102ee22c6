/* SPDX-License-Identifier: MIT */
/*
 * section.h - the sections about allocations: by function, by call path, leaks
 * at the end.
 *
 * Folder: report/section/memory - allocations: by function, call path, size
 *   and age, leftovers, direct maps
 * May use: report/section/timing report/section/core report/name report/read
 *   report/base segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_MEMORY_SECTION_H
#define HP_REPORT_SECTION_MEMORY_SECTION_H

#include <cjson/cJSON.h>

#include "report/section/memory/alloc.h"
#include "report/section/core/section.h"

struct hp_alloc_view;

/* The report's allocations, read on first request. */
struct hp_alloc_view *hp_alloc_view(const struct hp_report *report);

/* Data read from the segment; NULL = nothing recorded allocations. */
const struct hp_alloc *hp_alloc_of(const struct hp_report *report);

/* The names of its steps; NULL as above. */
struct hp_frames *hp_alloc_frames(struct hp_report *report);

/* The name of a step that is not code. */
const char *hp_alloc_mark_name(uint32_t mark);

/*
 * A thread's allocations and frees; NULL = none, or another thread has taken
 * over its heap (then only the totals include its figures).
 */
const struct hp_alloc_thread *hp_alloc_thread_of(const struct hp_report *report, uint32_t pid,
						 uint32_t tid);

/* "Alloc: 2.0 MB, Dealloc: 1.9 MB, Diff: 0.1 MB" of all threads, fresh; NULL = not recorded. */
char *hp_alloc_threads_note(const struct hp_report *report);

/* JSON: the same. */
void hp_alloc_threads_add(struct hp_report *report, cJSON *list);

#define HP_PATHS_SERVED 100	/* rows of call paths: with frames each has some 15 KB */

const char *hp_alloc_note(struct hp_report *report);
/* Whose blocks are in no figure, and why; NULL = nobody's, or there are no figures. For the caller to free. */
char *hp_alloc_unseen_text(struct hp_report *report);
const char *hp_alloc_empty(struct hp_report *report);
bool hp_alloc_has_data(const struct hp_report *report);

/* JSON: the totals; for a row, the frames of its path, with `sizes` and `lives`. */
#define HP_ALLOC_KEYS \
	"profiling_mode:s time_elapsed:s total_elapsed_ns:i total_allocated:s allocated_bytes:i " \
	"allocated_count:i freed_bytes:i freed_count:i temporary_count:i live_bytes:i live_count:i " \
	"peak_bytes:i live_timeline:[[n]] allocator:s operator_new_unseen:b " \
	"unseen_allocator:s paths_walked:i paths_incomplete:i paths_cut:i paths_unproven:i cache_proofs:i cache_mismatches:i " \
	"strange_frees:i without_path:i"
void hp_alloc_add_totals(struct hp_report *report, cJSON *list);
void hp_alloc_add_frames(struct hp_report *report, const void *row, cJSON *entry);
void hp_alloc_add_spread(struct hp_report *report, const void *row, cJSON *entry);

#endif
