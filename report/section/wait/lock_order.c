/* SPDX-License-Identifier: MIT */
/*
 * lock_order.c - the section of locks that were taken in orders that contradict
 * each other.
 */
#include <stdlib.h>

#include "report/section/wait/lock_section.h"
#include "report/section/core/list.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

static const struct hp_lock_cycle *cycle_of(const void *row)
{
	return row;
}

static const char *name_of(struct hp_report *report, uint32_t lock)
{
	return hp_lock_name(report, &hp_lock_view_locks(hp_lock_view(report))->rows[lock]);
}

static void order_first(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = name_of(cell->report, cycle_of(cell->row)->edges[0]->held);
}

/* The others, in the order in which they are taken. */
static void order_second(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_cycle *cycle = cycle_of(cell->row);
	char *text = hp_xstrdup(name_of(cell->report, cycle->edges[0]->taken));

	for (size_t i = 1; i + 1 < cycle->count; i++) {
		char *longer =
			hp_xprintf("%s, %s", text, name_of(cell->report, cycle->edges[i]->taken));

		free(text);
		text = longer;
	}
	hp_cell_set_text(cell, text, value);
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

static void order_at(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, places(cell->report, cycle_of(cell->row)->edges[0]), value);
}

static void order_contrary(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_cycle *cycle = cycle_of(cell->row);
	char *text = places(cell->report, cycle->edges[1]);

	for (size_t i = 2; i < cycle->count; i++) {
		char *more = places(cell->report, cycle->edges[i]);
		char *longer = hp_xprintf("%s; %s", text, more);

		free(text);
		free(more);
		text = longer;
	}
	hp_cell_set_text(cell, text, value);
}

static void order_length(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)cycle_of(cell->row)->count;
}

static const struct hp_column columns[] = {
	{ "Lock", "first", "first", HP_UNIT_NAME, .get = order_first },
	{ "And", "second", "second", HP_UNIT_CHAIN, .get = order_second },
	{ "In this order", "at", "at", HP_UNIT_CHAIN, .get = order_at },
	{ "And the other way round", "contrary_at", "contrary_at", HP_UNIT_CHAIN,
	  .get = order_contrary },
	{ .raw = "locks", .unit = HP_UNIT_NUMBER, .get = order_length },
	{ 0 },
};

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_lock_cycle *cycles =
		hp_lock_view_cycles(hp_lock_view(report), &list->total);

	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &cycles[i];
	hp_section_cut(&hp_lock_order_section, report, list);
}

static bool has_data(const struct hp_report *report)
{
	size_t count;

	hp_lock_view_cycles(hp_lock_view(report), &count);
	return count != 0;
}

const struct hp_section hp_lock_order_section = {
	.key = "lock_order",
	.json = "lock_order",
	.name = "lock_order",
	.help = "locks taken while another one was held",
	.subject = HP_SUBJECT_WAIT,
	.columns = columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Locks taken in both orders, or in a circle: a possible deadlock.",
	.none = "all pairs were taken in one order only",
	.extra = { .head = hp_lock_add_head, .list_keys = HP_LOCK_KEYS },
	.tool = { .help = "Locks taken while another one was held; both orders are a potential deadlock.",
		  .meaning =
			  "Pairs of locks, the second taken while the first was held. A cycle may deadlock, even "
			  "if it has not yet.",
		  .next = "waiting_now if the program hangs." },
};
