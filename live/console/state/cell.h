/* SPDX-License-Identifier: MIT */
/*
 * cell.h - what stands in a cell of a table, as text and as the number it is sorted by.
 */
#ifndef HP_LIVE_CONSOLE_STATE_CELL_H
#define HP_LIVE_CONSOLE_STATE_CELL_H

#include "live/console/state/table.h"

/* The text of a cell, "-" where nothing is known; in `room`. */
const char *hp_table_cell(const struct hp_table *table, const struct hp_table_row *row,
			  const struct hp_table_column *column, char room[HP_CELL_SIZE]);

/* The whole of a name, of which a cell may be the start; within the answer, or `text`. */
const char *hp_table_name(const struct hp_table_row *row, const struct hp_table_column *column,
			  const char *text);

/* Percent of the whole that the row has; < 0 = it has no such column. */
double hp_table_share(const struct hp_table *table, const struct hp_table_row *row);

/* Is it a word, which stands on the left? */
bool hp_kind_is_text(enum hp_kind kind);

/* A value as its kind is written; "" if it is none. */
const char *hp_value_text(const struct cJSON *value, enum hp_kind kind, char room[HP_CELL_SIZE]);

/* By a path with '/'; NULL = it is not there. */
const struct cJSON *hp_json_at(const struct cJSON *object, const char *path);

/* Compares two rows.  Unknown values come last either way; equal rows keep their order. */
int hp_table_compare(const struct hp_table *table, const struct hp_table_row *a,
		     const struct hp_table_row *b);

#endif
