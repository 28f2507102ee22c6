/* SPDX-License-Identifier: MIT */
/*
 * rows.h - the rows of a table out of an answer: joined with their plain
 * numbers, hung below each other, filtered, sorted.
 */
#ifndef HP_LIVE_CONSOLE_STATE_ROWS_H
#define HP_LIVE_CONSOLE_STATE_ROWS_H

#include "live/console/state/table.h"

/* Makes table->rows anew of its list, sort, filter and folds. */
void hp_rows_make(struct hp_table *table);

/* In table.c, for it: the order of two rows; is this row unfolded? */
int hp_table_compare(const struct hp_table *table, const struct hp_table_row *a,
		     const struct hp_table_row *b);
bool hp_table_is_open(struct hp_table *table, uint64_t key, bool usual);

#endif
