/* SPDX-License-Identifier: MIT */
/*
 * table.h - an answer as rows and columns, with order and selection.
 * Independent of the screen.
 *
 * Rows keep their key across answers, so the selection stays with the row and
 * not with its position.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TABLE_H
#define HP_LIVE_CONSOLE_STATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/console/state/tab.h"

struct cJSON;

#define HP_COLUMNS_MAX 32
#define HP_CELL_SIZE 512	/* most bytes of a cell's text */

struct hp_table_column {
	const struct hp_field *field;
	char title[24];
	char key[64];
	char raw[64];	/* "" = none */
	bool is_there;	/* some row has a value */
};

struct hp_table_row {
	const struct cJSON *data;	/* NULL = a frame of the row above */
	const struct cJSON *raw;
	const struct cJSON *frame;
	uint64_t key;
	size_t place;	/* in the answer */
	size_t parent;	/* place of its parent in `rows`; SIZE_MAX = none */
	unsigned depth;
	bool has_children;
	bool is_open;
	bool is_hit;	/* matches the filter itself, not only a descendant */
};

/* A row that the user folded or unfolded. */
struct hp_fold {
	uint64_t key;
	bool is_open;
};

struct hp_table {
	/* Settings from hp_table_init. */
	enum hp_form form;
	const struct hp_field *fields;
	size_t field_count;
	const char *const *rows_keys;
	const char *const *raw_keys;
	bool takes_both;	/* key in rows_keys; else the first existing one */
	bool skips_first;	/* prefer the second one */

	const struct cJSON *list;	/* the answer, not owned; NULL = none yet */
	struct hp_table_column columns[HP_COLUMNS_MAX];
	size_t column_count;
	struct hp_table_row *rows;	/* displayed rows, in order */
	size_t count;
	size_t total;	/* rows in the answer */

	int sort;	/* column; -1 = order of the answer */
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

/* Sets a new answer, which must live until the next one; NULL = none. */
void hp_table_fill(struct hp_table *table, const struct cJSON *list);

/* Call after sort, filter or folds have changed. */
void hp_table_renew(struct hp_table *table);

/* Moves the selection by this many rows, within the ends. */
void hp_table_move(struct hp_table *table, long rows);

/* Unfolds or folds a row. */
void hp_table_fold(struct hp_table *table, size_t row, bool is_open);
void hp_table_fold_all(struct hp_table *table, bool is_open);

/* The next existing column to the left or right; -1 wraps around. */
void hp_table_sort_by_next(struct hp_table *table, int step);

#endif
