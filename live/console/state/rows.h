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

/* What was done with the row of this key; NULL = nobody unfolded or folded it. */
struct hp_fold *hp_fold_find(const struct hp_table *table, uint64_t key);

#endif
