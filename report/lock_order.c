/* SPDX-License-Identifier: MIT */
/*
 * lock_order.c - pairs of locks that were taken in both orders.
 */
#include <stdlib.h>

#include "report/lock_section.h"
#include "report/memory.h"

#define UNUSED(x) (void)(x)
#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

static const struct hp_locks *locks_of(const struct hp_report *report)
{
	return hp_lock_view_locks(report->locks);
}

static const struct hp_lock_order *contrary_of(const struct hp_report *report, const void *row)
{
	const struct hp_locks *locks = locks_of(report);

	return hp_locks_contrary(locks,
				 (size_t)((const struct hp_lock_order *)row - locks->orders));
}

/* Each pair is one row: that of the lower place. */
static bool is_shown(const struct hp_locks *locks, size_t i)
{
	return locks->orders[i].held < locks->orders[i].taken && hp_locks_contrary(locks, i);
}

CELL(order_held)
{
	const struct hp_lock_order *order = row;

	UNUSED(percentile);
	value->text = hp_lock_name(report, &locks_of(report)->rows[order->held]);
}

CELL(order_taken)
{
	const struct hp_lock_order *order = row;

	UNUSED(percentile);
	value->text = hp_lock_name(report, &locks_of(report)->rows[order->taken]);
}

static void set_places(struct hp_report *report, const struct hp_lock_order *order,
		       struct hp_value *value)
{
	char *held = hp_lock_place_text(report, &order->held_at);
	char *taken = hp_lock_place_text(report, &order->taken_at);

	free(report->text);
	report->text = hp_xprintf("%s, %s", held, taken);
	value->text = report->text;
	free(held);
	free(taken);
}

CELL(order_at)
{
	UNUSED(percentile);
	set_places(report, row, value);
}

CELL(order_contrary)
{
	UNUSED(percentile);
	set_places(report, contrary_of(report, row), value);
}

const struct hp_column hp_order_columns[HP_ORDER_COLUMNS] = {
	{ "Lock", "first", "first", HP_UNIT_NAME, order_held, false, false },
	{ "And", "second", "second", HP_UNIT_TEXT, order_taken, false, false },
	{ "In this order", "at", "at", HP_UNIT_TEXT, order_at, false, false },
	{ "And the other way round", "contrary_at", "contrary_at", HP_UNIT_TEXT, order_contrary,
	  false, false },
};

const char *hp_lock_order_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Locks that were taken in both orders: a deadlock that may come.";
}

void hp_lock_order_fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_locks *locks = locks_of(report);

	list->rows = hp_xcalloc(locks->order_count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < locks->order_count; i++)
		if (is_shown(locks, i))
			list->rows[list->total++] = &locks->orders[i];
	hp_lock_list_cut(report, list);
}

bool hp_lock_order_has_data(const struct hp_report *report)
{
	const struct hp_locks *locks = locks_of(report);

	for (size_t i = 0; i < locks->order_count; i++)
		if (is_shown(locks, i))
			return true;
	return false;
}
