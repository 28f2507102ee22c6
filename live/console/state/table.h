/* SPDX-License-Identifier: MIT */
/*
 * table.h - an answer as rows and columns: which are there, in which order, and
 * which one is chosen.  It knows nothing of the screen.
 *
 * Rows keep their key from answer to answer, so that the choice stays with the
 * row and not with its place.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TABLE_H
#define HP_LIVE_CONSOLE_STATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/console/state/tab.h"

struct cJSON;

#define HP_COLUMNS_MOST 32
#define HP_CELL_SIZE 512	/* room for a cell's text */

struct hp_table_column {
	const struct hp_field *field;
	char title[24];
	char key[64];
	char raw[64];	/* "" = none */
	bool is_there;	/* some row knows it */
};

struct hp_table_row {
	const struct cJSON *data;	/* NULL = a frame of the row above */
	const struct cJSON *raw;
	const struct cJSON *frame;
	uint64_t key;
	size_t place;	/* in the answer */
	size_t parent;	/* place of the row that it hangs below, in `rows`; SIZE_MAX = none */
	unsigned depth;
	bool has_children;
	bool is_open;
	bool is_hit;	/* by the filter itself, not for the sake of a row below */
};

/* What somebody unfolded or folded. */
struct hp_fold {
	uint64_t key;
	bool is_open;
};

struct hp_table {
	/* What is shown: set by hp_table_init. */
	enum hp_form form;
	const struct hp_field *fields;
	size_t field_count;
	const char *const *rows_keys;
	const char *const *raw_keys;
	bool takes_both;	/* of rows_keys; else the first that is there */
	bool skips_first;	/* the second one is wanted, though the first is there */

	const struct cJSON *list;	/* the answer, not ours; NULL = none yet */
	struct hp_table_column columns[HP_COLUMNS_MOST];
	size_t column_count;
	struct hp_table_row *rows;	/* what is shown, in order */
	size_t count;
	size_t total;	/* rows in the answer */

	int sort;	/* column; -1 = as it was told */
	bool is_ascending;
	char filter[64];
	struct hp_fold *folds;
	size_t fold_count;
	size_t fold_room;

	size_t chosen;	/* place in rows */
	uint64_t chosen_key;
	size_t top;	/* the first row on the screen */
};

void hp_table_init(struct hp_table *table, const struct hp_view *view);
void hp_table_init_logs(struct hp_table *table, const struct hp_view *view);
void hp_table_release(struct hp_table *table);

/* Takes another answer, which has to live until the next one; NULL = none. */
void hp_table_fill(struct hp_table *table, const struct cJSON *list);

/* After sort, filter or folds have changed. */
void hp_table_renew(struct hp_table *table);

/* Moves the choice by so many rows, not beyond the ends. */
void hp_table_move(struct hp_table *table, long rows);

/* Unfolds or folds a row. */
void hp_table_fold(struct hp_table *table, size_t row, bool is_open);
void hp_table_fold_all(struct hp_table *table, bool is_open);

/* The next column that is there, to the left or right; from -1 over the ends. */
void hp_table_sort_by_next(struct hp_table *table, int step);

#endif
