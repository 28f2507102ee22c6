/* SPDX-License-Identifier: MIT */
/*
 * cell.c - see cell.h.
 */
#include "report/section/core/cell.h"

#include <stdlib.h>

static double number_of(const void *at, enum hp_member_type type)
{
	switch (type) {
	case HP_MEMBER_U64:
		return (double)*(const uint64_t *)at;
	case HP_MEMBER_U32:
		return *(const uint32_t *)at;
	case HP_MEMBER_I64:
		return (double)*(const int64_t *)at;
	case HP_MEMBER_I32:
		return *(const int32_t *)at;
	case HP_MEMBER_DOUBLE:
		return *(const double *)at;
	default:
		return 0;
	}
}

static const char *base_of(const struct hp_cell *cell)
{
	const char *row = cell->row;
	uint16_t pointer = cell->column->member.pointer;

	return pointer ? *(const char *const *)(const void *)(row + pointer - 1) : row;
}

const void *hp_cell_place(const struct hp_cell *cell)
{
	return base_of(cell) + cell->column->member.offset;
}

void hp_cell_get_from(const struct hp_cell *cell, const void *base, struct hp_value *value)
{
	const struct hp_member *member = &cell->column->member;
	const void *at = (const char *)base + member->offset;

	if (member->type == HP_MEMBER_TEXT) {
		value->text = *(const char *const *)at;
		value->is_unknown = !value->text;
		return;
	}
	value->number = number_of(at, member->type);
	value->is_unknown = member->mark && value->number < 0;
	if (member->mark == HP_MEMBER_TICKS)
		value->number *= cell->report->model.ns_per_tick;
}

void hp_cell_get_member(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_from(cell, base_of(cell), value);
}

void hp_cell_get(const struct hp_cell *cell, struct hp_value *value)
{
	if (cell->column->get)
		cell->column->get(cell, value);
	else
		hp_cell_get_member(cell, value);
}

void hp_cell_set_text(const struct hp_cell *cell, char *text, struct hp_value *value)
{
	free(cell->report->text);
	cell->report->text = text;
	value->text = text;
}

void hp_cell_set_between(struct hp_value *value, double number, double low, double high)
{
	value->number = number;
	value->upper = high;
	value->is_estimated =
		high - number > HP_MARKED * number || number - low > HP_MARKED * number;
}
