/* SPDX-License-Identifier: MIT */
/*
 * cell.h - the content of a table cell, as text and as sort value.
 */
#ifndef HP_LIVE_CONSOLE_STATE_CELL_H
#define HP_LIVE_CONSOLE_STATE_CELL_H

#include "live/console/state/table.h"

/* The text of a cell, "-" if unknown; in `room`. */
const char *hp_table_cell(const struct hp_table *table, const struct hp_table_row *row,
			  const struct hp_table_column *column, char room[HP_CELL_SIZE]);

/* The full name, which the cell may show in part; within the answer, or `text`. */
const char *hp_table_name(const struct hp_table_row *row, const struct hp_table_column *column,
			  const char *text);

/* The row's percentage of the total; < 0 = no such column. */
double hp_table_share(const struct hp_table *table, const struct hp_table_row *row);

/* Is it left-aligned text? */
bool hp_kind_is_text(enum hp_kind kind);

/* A value formatted by its kind; "" if absent. */
const char *hp_value_text(const struct cJSON *value, enum hp_kind kind, char room[HP_CELL_SIZE]);

/* Finds a path with '/'; NULL = absent. */
const struct cJSON *hp_json_at(const struct cJSON *object, const char *path);

/* Compares two rows. Unknown values come last in both directions; equal rows keep their order. */
int hp_table_compare(const struct hp_table *table, const struct hp_table_row *a,
		     const struct hp_table_row *b);

#endif
