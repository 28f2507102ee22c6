/* SPDX-License-Identifier: MIT */
/*
 * lock_order.c - the section of locks that were taken in orders that contradict
 * each other.
 */
#include <stdlib.h>

#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"

#define UNUSED(x) (void)(x)
#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

static const struct hp_lock_cycle *cycle_of(const void *row)
{
	return row;
}

static const char *name_of(struct hp_report *report, uint32_t lock)
{
	return hp_lock_name(report, &hp_lock_view_locks(hp_lock_view(report))->rows[lock]);
}

CELL(order_first)
{
	UNUSED(percentile);
	value->text = name_of(report, cycle_of(row)->edges[0]->held);
}

/* The others, in the order in which they are taken. */
CELL(order_second)
{
	const struct hp_lock_cycle *cycle = cycle_of(row);
	char *text = hp_xstrdup(name_of(report, cycle->edges[0]->taken));

	UNUSED(percentile);
	for (size_t i = 1; i + 1 < cycle->count; i++) {
		char *longer = hp_xprintf("%s, %s", text, name_of(report, cycle->edges[i]->taken));

		free(text);
		text = longer;
	}
	free(report->text);
	value->text = report->text = text;
}

static char *places(struct hp_report *report, const struct hp_lock_order *order)
{
	char *held = hp_lock_place_text(report, &order->held_at);
	char *taken = hp_lock_place_text(report, &order->taken_at);
	char *text = hp_xprintf("%s, %s", held, taken);

	free(held);
	free(taken);
	return text;
}

CELL(order_at)
{
	UNUSED(percentile);
	free(report->text);
	value->text = report->text = places(report, cycle_of(row)->edges[0]);
}

CELL(order_contrary)
{
	const struct hp_lock_cycle *cycle = cycle_of(row);
	char *text = places(report, cycle->edges[1]);

	UNUSED(percentile);
	for (size_t i = 2; i < cycle->count; i++) {
		char *more = places(report, cycle->edges[i]);
		char *longer = hp_xprintf("%s; %s", text, more);

		free(text);
		free(more);
		text = longer;
	}
	free(report->text);
	value->text = report->text = text;
}

CELL(order_length)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)cycle_of(row)->count;
}

const struct hp_column hp_order_columns[HP_ORDER_COLUMNS] = {
	{ "Lock", "first", "first", HP_UNIT_NAME, order_first, false, false },
	{ "And", "second", "second", HP_UNIT_CHAIN, order_second, false, false },
	{ "In this order", "at", "at", HP_UNIT_CHAIN, order_at, false, false },
	{ "And the other way round", "contrary_at", "contrary_at", HP_UNIT_CHAIN, order_contrary,
	  false, false },
	{ .raw = "locks", .unit = HP_UNIT_NUMBER, .get = order_length },
};

const char *hp_lock_order_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Locks that were taken in both orders, or in a circle: a deadlock that may come.";
}

void hp_lock_order_fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_lock_cycle *cycles =
		hp_lock_view_cycles(hp_lock_view(report), &list->total);

	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &cycles[i];
	hp_lock_list_cut(report, list);
}

bool hp_lock_order_has_data(const struct hp_report *report)
{
	size_t count;

	hp_lock_view_cycles(hp_lock_view(report), &count);
	return count != 0;
}
