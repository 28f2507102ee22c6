/* SPDX-License-Identifier: MIT */
/*
 * json.c - data about allocations in JSON beyond the columns: the frames of a
 * call path, and the totals.
 */
#include <stdlib.h>

#include "report/section/memory/view.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/extra.h"

#define FRAMES_MAX 128	/* of a path */

static void frame_add(struct hp_report *report, const struct hp_frame_place *place, size_t i,
		      cJSON *array)
{
	const struct hp_frame_line *frame = &place->frames[i];
	const struct hp_model *model = &report->model;
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "function", frame->name);
	if (frame->file)
		cJSON_AddStringToObject(entry, "file", frame->file);
	if (frame->file && frame->line > 0)
		hp_json_whole(entry, "line", (uint64_t)frame->line);
	if (i + 1 < place->count) {
		cJSON_AddBoolToObject(entry, "inlined", 1);
	} else if (place->object != HP_NONE) {
		char *path = hp_text_clean(model->objects[place->object].path);

		cJSON_AddStringToObject(entry, "module", path);
		free(path);
	}
	cJSON_AddItemToArray(array, entry);
}

static cJSON *frames_new(struct hp_report *report, const struct hp_alloc_row *row)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	cJSON *array = cJSON_CreateArray();
	int count = 0;

	for (uint32_t at = row->step; at && count < FRAMES_MAX; count++) {
		const struct hp_alloc_step *step = &view->alloc.steps[at];

		at = step->caller;
		if (step->mark) {
			cJSON *mark = cJSON_CreateObject();

			cJSON_AddStringToObject(mark, "function", hp_alloc_mark_name(step->mark));
			cJSON_AddItemToArray(array, mark);
			continue;
		}
		const struct hp_frame_place *place =
			hp_frames_lines(view->frames, step->object, step->address);
		for (size_t i = 0; i < place->count; i++)
			frame_add(report, place, i, array);
	}
	return array;
}

/* A path has some 5 KB of them, and a client that polls every second gets the same again. */
void hp_alloc_add_frames(struct hp_report *report, const void *of, cJSON *entry)
{
	struct hp_alloc_row *row = (struct hp_alloc_row *)(uintptr_t)of;
	struct hp_alloc_view *view = hp_alloc_view(report);
	uint64_t pending = hp_frames_pending(view->frames);
	cJSON *array;
	char *text;

	if (!row->frames) {
		array = frames_new(report, row);
		if (!view->is_kept) {
			cJSON_AddItemToObject(entry, "frames", array);
			return;
		}
		text = cJSON_PrintUnformatted(array);
		/* Kept from refresh to refresh; a cJSON item may belong to only one answer. */
		row->frames = hp_xstrdup(text ? text : "[]");
		cJSON_free(text);
		hp_alloc_name_note(view, row, pending);
		cJSON_Delete(array);
	}
	cJSON_AddRawToObject(entry, "frames", row->frames);
}

void hp_alloc_add_totals(struct hp_report *report, cJSON *list)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;
	const struct hp_alloc_sum *all = &alloc->all;
	struct hp_text_cell cell;

	cJSON_AddStringToObject(list, "profiling_mode",
				hp_alloc_is_count(report) ? "alloc-count" : "alloc-bytes");
	cJSON_AddStringToObject(list, "time_elapsed",
				hp_format_time(&cell, (double)report->model.elapsed_ns));
	hp_json_whole(list, "total_elapsed_ns", report->model.elapsed_ns);
	cJSON_AddStringToObject(list, "total_allocated",
				hp_alloc_is_count(report) ? hp_format_count(&cell, all->count)
							  : hp_format_bytes(&cell, all->bytes));
	hp_json_whole(list, "allocated_bytes", all->bytes);
	hp_json_whole(list, "allocated_count", all->count);
	hp_json_whole(list, "freed_bytes", all->freed_bytes);
	hp_json_whole(list, "freed_count", all->frees);
	hp_json_whole(list, "temporary_count", all->temporary);
	/* If a process dropped privileges, blocks may be freed whose allocation was lost: as in the table. */
	hp_json_whole(list, "live_bytes", all->live_bytes > 0 ? (uint64_t)all->live_bytes : 0);
	hp_json_whole(list, "live_count", all->live > 0 ? (uint64_t)all->live : 0);
	cJSON_AddItemToObject(list, "peak_bytes", cJSON_CreateNumber((double)all->peak_bytes));
	hp_extra_add_live(report, list);
	if (alloc->allocator_file)
		cJSON_AddStringToObject(list, "allocator", alloc->allocator_file);
	if (alloc->has_new)
		cJSON_AddBoolToObject(list, "operator_new_unseen", 1);
	if (alloc->unseen_kind || alloc->has_unseen_more)
		cJSON_AddStringToObject(list, "unseen_allocator",
					alloc->unseen_file ? alloc->unseen_file : "");
	if (alloc->leak_scans) {
		hp_json_whole(list, "leak_scans", alloc->leak_scans);
		hp_json_whole(list, "lost_bytes", all->lost_bytes);
		hp_json_whole(list, "lost_count", all->lost);
	}
	if (alloc->left) {
		hp_json_whole(list, "alive_at_drop_bytes", alloc->left_bytes);
		hp_json_whole(list, "alive_at_drop_count", alloc->left);
	}
	hp_json_whole(list, "paths_walked", alloc->stats.walks);
	hp_json_whole(list, "paths_incomplete", alloc->stats.incomplete);
	hp_json_whole(list, "paths_cut", alloc->stats.cut);
	hp_json_whole(list, "paths_unproven", alloc->stats.unproven);
	hp_json_whole(list, "cache_proofs", alloc->stats.proofs);
	hp_json_whole(list, "cache_mismatches", alloc->stats.mismatches);
	hp_json_whole(list, "strange_frees", alloc->stats.strange_frees);
	hp_json_whole(list, "without_path", alloc->stats.folded);
}
