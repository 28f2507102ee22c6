/* SPDX-License-Identifier: MIT */
/*
 * rows.h - builds a table's rows from an answer: joins them with their plain
 * numbers, nests, filters and sorts them.
 */
#ifndef HP_LIVE_CONSOLE_STATE_ROWS_H
#define HP_LIVE_CONSOLE_STATE_ROWS_H

#include "live/console/state/table.h"

/* Rebuilds table->rows from its list, sort, filter and folds. */
void hp_rows_make(struct hp_table *table);

/* The user's fold state of the row with this key; NULL = untouched. */
struct hp_fold *hp_fold_find(const struct hp_table *table, uint64_t key);

#endif
