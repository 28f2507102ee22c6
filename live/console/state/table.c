/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h. cell.c has the content of cells, rows.c the rows and
 * their nesting.
 */
#include "live/console/state/table.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/cell.h"
#include "live/console/state/rows.h"
#include "report/base/format.h"
#include "report/base/memory.h"

/* --- columns --- */

static void substitute(char *room, size_t size, const char *pattern, const char *number)
{
	const char *mark = strchr(pattern, '%');

	if (mark)
		snprintf(room, size, "%.*s%s%s", (int)(mark - pattern), pattern, number, mark + 1);
	else
		snprintf(room, size, "%s", pattern);
}

static void column_add(struct hp_table *table, const struct hp_field *field, const char *number)
{
	struct hp_table_column *column = &table->columns[table->column_count];

	if (table->column_count >= HP_COLUMNS_MAX)
		return;
	table->column_count++;
	*column = (struct hp_table_column){ .field = field };
	if (number) {
		substitute(column->title, sizeof(column->title), field->title, number);
		substitute(column->key, sizeof(column->key), field->key, number);
		substitute(column->raw, sizeof(column->raw), field->raw ? field->raw : "", number);
		return;
	}
	snprintf(column->title, sizeof(column->title), "%s", field->title);
	snprintf(column->key, sizeof(column->key), "%s", field->key);
	snprintf(column->raw, sizeof(column->raw), "%s", field->raw ? field->raw : "");
}

/* The list's own percentiles; CPU's list is nested. */
static void percentiles_add(struct hp_table *table, const struct hp_field *field)
{
	const cJSON *percentile;

	cJSON_ArrayForEach(percentile, hp_json_at(table->list, "percentiles"))
	{
		struct hp_text_cell cell;

		if (cJSON_IsNumber(percentile))
			column_add(table, field,
				   hp_format_percentile(&cell, percentile->valuedouble));
	}
}

static bool is_column_there(const struct hp_table *table, const struct hp_table_column *column)
{
	char room[HP_CELL_SIZE];

	if (column->field->kind == HP_KIND_NAME || !table->count)
		return true;
	for (size_t i = 0; i < table->count; i++)
		if (table->rows[i].data &&
		    strcmp(hp_table_cell(table, &table->rows[i], column, room), "-") != 0)
			return true;
	return false;
}

/* Keeps the sort column even if columns were inserted before it. */
static void columns_make(struct hp_table *table)
{
	char sorted[64] = "";

	if (table->sort >= 0 && (size_t)table->sort < table->column_count)
		strcpy(sorted, table->columns[table->sort].key);
	table->column_count = 0;
	for (size_t i = 0; i < table->field_count; i++) {
		if (table->fields[i].is_percentiles)
			percentiles_add(table, &table->fields[i]);
		else
			column_add(table, &table->fields[i], NULL);
	}
	table->sort = -1;
	for (size_t i = 0; i < table->column_count && *sorted; i++)
		if (strcmp(table->columns[i].key, sorted) == 0)
			table->sort = (int)i;
}

/* --- its life --- */

void hp_table_init(struct hp_table *table, const struct hp_view *view)
{
	*table = (struct hp_table){ .form = view->form,
				    .fields = view->fields,
				    .field_count = view->field_count,
				    .rows_keys = view->rows,
				    .raw_keys = view->raw,
				    .sort = -1 };
}

void hp_table_init_logs(struct hp_table *table, const struct hp_view *view)
{
	*table = (struct hp_table){ .fields = view->log_fields,
				    .field_count = view->log_field_count,
				    .rows_keys = view->log_rows,
				    .takes_both = true,
				    .sort = -1 };
}

void hp_table_release(struct hp_table *table)
{
	free(table->rows);
	free(table->folds);
	table->rows = NULL;
	table->folds = NULL;
	table->count = table->fold_count = table->fold_room = 0;
	table->list = NULL;
}

/* The selection follows its row; if that is gone, it moves to the row in its place. */
static void choice_keep(struct hp_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].key != table->chosen_key)
			continue;
		table->chosen = i;
		return;
	}
	hp_table_move(table, 0);
}

void hp_table_renew(struct hp_table *table)
{
	hp_rows_make(table);
	choice_keep(table);
}

void hp_table_fill(struct hp_table *table, const cJSON *list)
{
	bool was_first = table->chosen == 0 && !table->chosen_key;

	table->list = list;
	columns_make(table);
	hp_rows_make(table);
	for (size_t i = 0; i < table->column_count; i++)
		table->columns[i].is_there = is_column_there(table, &table->columns[i]);
	if (was_first)
		hp_table_move(table, 0);
	else
		choice_keep(table);
}

void hp_table_move(struct hp_table *table, long rows)
{
	long to = (long)table->chosen + rows;

	if (to >= (long)table->count)
		to = (long)table->count - 1;
	table->chosen = to > 0 ? (size_t)to : 0;
	/* Until the user moves, the first row is selected. */
	if (table->chosen < table->count && (rows || table->chosen_key))
		table->chosen_key = table->rows[table->chosen].key;
}

void hp_table_sort_by_next(struct hp_table *table, int step)
{
	int count = (int)table->column_count;

	for (int i = 0; i <= count; i++) {
		table->sort += step;
		if (table->sort < -1)
			table->sort = count - 1;
		if (table->sort >= count)
			table->sort = -1;
		if (table->sort < 0 || table->columns[table->sort].is_there)
			break;
	}
	table->is_ascending =
		table->sort >= 0 && hp_kind_is_text(table->columns[table->sort].field->kind);
	hp_table_renew(table);
}

/* --- folds --- */

void hp_table_fold(struct hp_table *table, size_t row, bool is_open)
{
	struct hp_fold *fold;

	if (row >= table->count || !table->rows[row].has_children)
		return;
	fold = hp_fold_find(table, table->rows[row].key);
	if (!fold) {
		table->folds = hp_xgrow(table->folds, table->fold_count, &table->fold_room,
					sizeof(*table->folds));
		fold = &table->folds[table->fold_count++];
		fold->key = table->rows[row].key;
	}
	fold->is_open = is_open;
	table->chosen_key = table->rows[row].key;
	hp_table_renew(table);
}

/* Unfolding may reveal further foldable rows. */
void hp_table_fold_all(struct hp_table *table, bool is_open)
{
	size_t before;

	do {
		before = table->count;
		for (size_t i = 0; i < table->count; i++) {
			struct hp_table_row *row = &table->rows[i];
			struct hp_fold *fold = hp_fold_find(table, row->key);

			if (!row->has_children || row->is_open == is_open)
				continue;
			if (!fold) {
				table->folds = hp_xgrow(table->folds, table->fold_count,
							&table->fold_room, sizeof(*table->folds));
				fold = &table->folds[table->fold_count++];
				fold->key = row->key;
			}
			fold->is_open = is_open;
		}
		hp_table_renew(table);
	} while (is_open && table->count > before);
}
