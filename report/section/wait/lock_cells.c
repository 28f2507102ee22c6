/* SPDX-License-Identifier: MIT */
/*
 * lock_cells.c - see lock_cells.h.
 */
#include "report/section/wait/lock_cells.h"

#include "report/base/memory.h"
#include "report/section/wait/lock_section.h"

void hp_lock_set_ticks(const struct hp_cell *cell, double ticks, struct hp_value *value)
{
	value->number = ticks * cell->report->model.ns_per_tick;
	value->is_unknown = ticks < 0;
}

/* --- waits --- */

void hp_lock_get_wait_mean(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, sum->count ? sum->wait_ticks / (double)sum->count : -1, value);
}

void hp_lock_get_wait_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hp_lock_wait_percentile(hp_cell_place(cell), cell->percentile),
			  value);
}

/* --- holds --- */

void hp_lock_get_timed(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	value->number = (double)(sum->timed + sum->drawn);
}

void hp_lock_get_hold(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, sum->hold_ticks, value);
	value->is_estimated = sum->is_estimated;
}

void hp_lock_get_hold_mean(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);
	uint64_t count = sum->drawn ? sum->count : sum->timed;

	hp_lock_set_ticks(cell, count ? sum->hold_ticks / (double)count : -1, value);
	value->is_estimated = sum->is_estimated;
}

void hp_lock_get_hold_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, hp_lock_hold_percentile(sum, cell->percentile), value);
	value->is_estimated = sum->is_estimated;
	value->is_bound = value->is_estimated && cell->percentile >= 100;
}

void hp_lock_get_hold_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, sum->timed + sum->drawn ? (double)sum->hold_most : -1, value);
	value->is_bound = sum->is_estimated;
}

/* --- the lock --- */

void hp_lock_get_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_lock_name(cell->report, cell->row);
}

void hp_lock_get_id(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(cell->report));

	value->number = (double)((const struct hp_lock_row *)cell->row - locks->rows) + 1;
}

void hp_lock_get_type(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_lock_type(((const struct hp_lock_row *)cell->row)->kind);
}

void hp_lock_get_source(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_row *lock = cell->row;
	const struct hp_symbol_spot *spot =
		lock->number == HP_LOCK_STATIC ? NULL : hp_lock_site(cell->report, lock);

	hp_cell_set_text(cell,
			 spot && spot->file ? hp_xprintf("%s:%d", spot->file, spot->line)
					    : hp_xstrdup(hp_lock_name(cell->report, lock)),
			 value);
}
