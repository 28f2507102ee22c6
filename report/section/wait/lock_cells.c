/* SPDX-License-Identifier: MIT */
/*
 * lock_cells.c - see lock_cells.h.
 */
#include "report/section/wait/lock_cells.h"

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/wait/lock_section.h"

void hp_lock_set_place(const struct hp_cell *cell, const struct hp_lock_place *place,
		       struct hp_value *value)
{
	hp_cell_set_text(cell, hp_lock_place_text(cell->report, place), value);
}

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

	value->number = (double)(sum->timed + sum->sampled);
}

/* A getter's value for holds: a sum or a mean, with its interval, ticks. */
struct range {
	double low;
	double ticks;	/* < 0 = not known */
	double high;	/* < 0 = not known */
};

static struct range hold_total(const struct hp_lock_sum *sum)
{
	return (struct range){ sum->hold_low, sum->hold_ticks, sum->hold_high };
}

static struct range hold_mean(const struct hp_lock_sum *sum)
{
	double count = sum->is_estimated ? (double)sum->count : (double)sum->timed;

	if (count < 1)
		return (struct range){ -1, -1, -1 };
	return (struct range){ sum->hold_low / count, sum->hold_ticks / count,
			       sum->hold_high / count };
}

static void set_range(const struct hp_cell *cell, struct range range, struct hp_value *value)
{
	double ns = cell->report->model.ns_per_tick;

	value->is_unknown = range.ticks < 0;
	if (range.high < 0) {
		value->number = range.ticks * ns;
		value->is_estimated = true;
		return;
	}
	hp_cell_set_between(value, range.ticks * ns, range.low * ns, range.high * ns);
}

/* The wider half of the interval, as a share of the estimate. */
static void set_error(struct range range, struct hp_value *value)
{
	double half = range.high - range.ticks;

	half = range.ticks - range.low > half ? range.ticks - range.low : half;
	value->is_unknown = range.ticks <= 0 || range.high < 0 || half <= HP_MARKED * range.ticks;
	value->number = value->is_unknown ? 0 : 100 * half / range.ticks;
}

void hp_lock_get_hold(const struct hp_cell *cell, struct hp_value *value)
{
	set_range(cell, hold_total(hp_cell_place(cell)), value);
}

void hp_lock_get_hold_low(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hold_total(hp_cell_place(cell)).low, value);
}

void hp_lock_get_hold_high(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hold_total(hp_cell_place(cell)).high, value);
}

void hp_lock_get_hold_error(const struct hp_cell *cell, struct hp_value *value)
{
	set_error(hold_total(hp_cell_place(cell)), value);
}

void hp_lock_get_longest(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(cell->report));
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, (double)sum->wait_most, value);
	for (size_t i = 0; i < locks->wait_count; i++) {
		const struct hp_lock_wait *open = &locks->waits[i];

		if (&locks->rows[open->lock].sums[open->side] == sum &&
		    locks->end_ticks > open->since &&
		    locks->end_ticks - open->since > sum->wait_most)
			value->is_bound = true;
	}
	value->is_unknown |= value->is_bound && !sum->wait_most;
}

void hp_lock_get_hold_mean(const struct hp_cell *cell, struct hp_value *value)
{
	set_range(cell, hold_mean(hp_cell_place(cell)), value);
}

void hp_lock_get_hold_mean_low(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hold_mean(hp_cell_place(cell)).low, value);
}

void hp_lock_get_hold_mean_high(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hold_mean(hp_cell_place(cell)).high, value);
}

void hp_lock_get_hold_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, hp_lock_hold_percentile(sum, cell->percentile), value);
	value->is_estimated = sum->is_estimated && cell->percentile < 100;
	value->is_bound = cell->percentile >= 100 && hp_lock_sum_is_most_bound(sum);
}

/* If not every hold was timed, the mean may be above the longest timed one: the longest is not. */
static double hold_most(const struct hp_lock_sum *sum)
{
	double most = (double)sum->hold_most, mean = hold_mean(sum).ticks;

	if (sum->timed + sum->sampled == 0 && !(sum->rest && sum->rest->open > 0))
		return -1;
	return hp_lock_sum_is_most_bound(sum) && mean > most ? mean : most;
}

void hp_lock_get_hold_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);

	hp_lock_set_ticks(cell, hold_most(sum), value);
	value->is_bound = hp_lock_sum_is_most_bound(sum);
}

void hp_lock_get_hold_most_text(const struct hp_cell *cell, struct hp_value *value)
{
	struct hp_text_cell text;

	hp_lock_get_hold_most(cell, value);
	if (!value->is_unknown)
		hp_cell_set_text(cell,
				 hp_xprintf("%s%s", value->is_bound ? "\342\211\245 " : "",
					    hp_format_time(&text, value->number)),
				 value);
}

void hp_lock_get_hold_most_high(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = hp_cell_place(cell);
	double most = hold_most(sum), high = sum->hold_most_high;

	hp_lock_set_ticks(cell, high >= 0 && high < most ? most : most < 0 ? -1 : high, value);
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
