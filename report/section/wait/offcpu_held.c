/* SPDX-License-Identifier: MIT */
/*
 * offcpu_held.c - the locks that threads held while they waited elsewhere.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/wait/during.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define PART_MIN 0.01	/* of the row's time */

static struct hp_offcpu_row *row_of(struct hp_offcpu *offcpu, uint32_t function, const char *on)
{
	for (size_t i = 0; i < offcpu->count; i++)
		if (offcpu->rows[i].function == function && offcpu->rows[i].on == on)
			return &offcpu->rows[i];
	return NULL;
}

static void held_add(struct hp_offcpu_row *row, const struct hp_during_row *during, double ns)
{
	struct hp_offcpu_held *held = NULL;

	for (size_t i = 0; i < row->held_count && !held; i++)
		if (row->held[i].lock == during->lock &&
		    row->held[i].at.object == during->at.object &&
		    row->held[i].at.address == during->at.address)
			held = &row->held[i];
	if (!held) {
		row->held =
			hp_xgrow(row->held, row->held_count, &row->held_room, sizeof(*row->held));
		held = &row->held[row->held_count++];
		*held = (struct hp_offcpu_held){ .lock = during->lock, .at = during->at };
	}
	held->ns += ns;
}

static int compare_held(const void *left, const void *right)
{
	const struct hp_offcpu_held *a = left, *b = right;

	if (a->ns > b->ns || a->ns < b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->lock < b->lock ? -1 : a->lock > b->lock;
}

static void row_finish(struct hp_offcpu_row *row)
{
	if (row->held_count)
		qsort(row->held, row->held_count, sizeof(*row->held), compare_held);
	while (row->held_count &&
	       row->held[row->held_count - 1].ns < PART_MIN * (double)row->blocked_ns)
		row->held_count--;
}

void hp_offcpu_held_make(struct hp_report *report, struct hp_offcpu *offcpu)
{
	const struct hp_during *during = hp_during_of(report);

	for (size_t i = 0; during && i < during->count; i++) {
		const struct hp_during_row *from = &during->rows[i];
		double ns = hp_during_blocked_ns(report, from);
		struct hp_offcpu_row *row = NULL;

		if (ns > 0 && from->stack && !offcpu->is_profiler[from->stack])
			row = row_of(offcpu, hp_offcpu_function(report, from->stack),
				     hp_offcpu_cause(report, from->stack));
		if (row)
			held_add(row, from, ns);
	}
	for (size_t i = 0; i < offcpu->count; i++)
		row_finish(&offcpu->rows[i]);
}

void hp_offcpu_held_cell(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_offcpu_row *row = cell->row;
	const struct hp_locks *locks;
	double part;

	value->is_unknown = !row->held_count;
	if (!row->held_count)
		return;
	locks = &hp_lock_view(cell->report)->locks;
	part = row->blocked_ns ? row->held[0].ns / (double)row->blocked_ns : 0;
	hp_cell_set_text(cell,
			 hp_xprintf("%s %.0f%%",
				    hp_lock_name(cell->report, &locks->rows[row->held[0].lock]),
				    100 * (part < 1 ? part : 1)),
			 value);
}

void hp_offcpu_held_write(struct hp_report *report, const struct hp_offcpu_row *row, cJSON *entry)
{
	const struct hp_locks *locks = &hp_lock_view(report)->locks;
	cJSON *list = row->held_count ? cJSON_AddArrayToObject(entry, "held") : NULL;

	for (size_t i = 0; i < row->held_count; i++) {
		const struct hp_offcpu_held *held = &row->held[i];
		cJSON *item = cJSON_CreateObject();
		char *at =
			held->at.address ? hp_lock_holder_text(report, &held->at, HP_NONE) : NULL;

		hp_json_text(item, "lock", hp_lock_name(report, &locks->rows[held->lock]));
		hp_json_text(item, "acquired_at", at);
		hp_json_rounded(item, "blocked_ns", held->ns);
		cJSON_AddItemToArray(list, item);
		free(at);
	}
}
