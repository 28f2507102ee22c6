/* SPDX-License-Identifier: MIT */
/*
 * lock_cells.h - getters for one side of a lock.
 *
 * They are the same for each side and section: the column's member is the
 * place of the struct hp_lock_sum.  Values without a getter are members of
 * that.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_CELLS_H
#define HP_REPORT_SECTION_WAIT_LOCK_CELLS_H

#include "report/section/core/section.h"
#include "report/section/wait/lock.h"

/* A place in code, "function (file.c:12)". */
void hp_lock_set_place(const struct hp_cell *cell, const struct hp_lock_place *place,
		       struct hp_value *value);

/* A time in ticks; < 0 = not known. */
void hp_lock_set_ticks(const struct hp_cell *cell, double ticks, struct hp_value *value);

/* Waits: mean, and percentile of all acquisitions. */
void hp_lock_get_wait_mean(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_wait_percentile(const struct hp_cell *cell, struct hp_value *value);
/* Of those that have ended; at least that, if a longer one has not. */
void hp_lock_get_longest(const struct hp_cell *cell, struct hp_value *value);

/* Ended holds, as far as known; how many of them were timed. */
void hp_lock_get_timed(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_percentile(const struct hp_cell *cell, struct hp_value *value);

/* Their sum and mean, with the ends of the 95 % intervals, and half of that as a share. */
void hp_lock_get_hold(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_low(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_high(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_error(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_mean(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_mean_low(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_mean_high(const struct hp_cell *cell, struct hp_value *value);

/* The longest; and no hold can have been longer than this. */
void hp_lock_get_hold_most(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_most_text(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_hold_most_high(const struct hp_cell *cell, struct hp_value *value);

/* The row is a struct hp_lock_row: its name, its number, its C type, the place that created it. */
void hp_lock_get_name(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_id(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_type(const struct hp_cell *cell, struct hp_value *value);
void hp_lock_get_source(const struct hp_cell *cell, struct hp_value *value);

#endif
