/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h.  Where rows come from and how they hang together is in
 * rows.c.
 */
#include "live/console/state/table.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/rows.h"
#include "live/console/state/text.h"
#include "report/base/format.h"
#include "report/base/memory.h"

const cJSON *hp_json_at(const cJSON *object, const char *path)
{
	char key[64];

	while (object && *path) {
		size_t length = strcspn(path, "/");

		snprintf(key, sizeof(key), "%.*s", (int)length, path);
		object = cJSON_GetObjectItemCaseSensitive(object, key);
		path += length + (path[length] == '/');
	}
	return object;
}

bool hp_kind_is_text(enum hp_kind kind)
{
	return kind == HP_KIND_NAME || kind == HP_KIND_TEXT;
}

/* --- cells --- */

static void copy(char room[HP_CELL_SIZE], const char *text)
{
	snprintf(room, HP_CELL_SIZE, "%s", text);
}

static void number_write(double number, enum hp_kind kind, char room[HP_CELL_SIZE])
{
	struct hp_text_cell cell;

	switch (kind) {
	case HP_KIND_TIME:
		copy(room, hp_format_time(&cell, number));
		break;
	case HP_KIND_BYTES:
		copy(room, hp_format_signed_bytes(&cell, number));
		break;
	case HP_KIND_SHARE:
		copy(room, hp_format_percent(&cell, number, 2));
		break;
	case HP_KIND_LOAD:
		copy(room, hp_format_percent(&cell, number, 1));
		break;
	case HP_KIND_RATE:
		copy(room, hp_format_rate(&cell, number));
		break;
	case HP_KIND_COUNT:
		copy(room, hp_format_count(&cell, hp_whole(number)));
		break;
	default:
		snprintf(room, HP_CELL_SIZE, "%.0f", number);
	}
}

const char *hp_value_text(const cJSON *value, enum hp_kind kind, char room[HP_CELL_SIZE])
{
	room[0] = 0;
	if (cJSON_IsString(value))
		copy(room, value->valuestring);
	else if (cJSON_IsNumber(value))
		number_write(value->valuedouble, kind, room);
	else if (cJSON_IsBool(value))
		copy(room, cJSON_IsTrue(value) ? "yes" : "no");
	return room;
}

/* A share of a number of the whole list, in percent; NAN = not known. */
static double share_of_list(const struct hp_table *table, const struct hp_table_row *row,
			    const char *key)
{
	const cJSON *part = hp_json_at(row->data, "inclusive_ns");
	const cJSON *whole = hp_json_at(table->list, key);

	if (!cJSON_IsNumber(part) || !cJSON_IsNumber(whole) || !(whole->valuedouble > 0))
		return NAN;
	return part->valuedouble / whole->valuedouble * 100;
}

static const cJSON *value_at(const struct hp_table_row *row, const char *key)
{
	return *key == '@' ? hp_json_at(row->raw, key + 1) : hp_json_at(row->data, key);
}

const char *hp_table_name(const struct hp_table_row *row, const struct hp_table_column *column,
			  const char *text)
{
	const cJSON *value = value_at(row, column->key);

	return cJSON_IsString(value) ? value->valuestring : text;
}

static const char *frame_text(const cJSON *frame, char room[HP_CELL_SIZE])
{
	const cJSON *function = hp_json_at(frame, "function"), *file = hp_json_at(frame, "file");
	const cJSON *line = hp_json_at(frame, "line"), *module = hp_json_at(frame, "module");
	const char *name = cJSON_IsString(function) ? function->valuestring : "?";

	if (cJSON_IsString(file) && cJSON_IsNumber(line) && line->valuedouble > 0)
		snprintf(room, HP_CELL_SIZE, "%s  %s:%.0f", name, file->valuestring,
			 line->valuedouble);
	else if (cJSON_IsString(module))
		snprintf(room, HP_CELL_SIZE, "%s  %s", name, module->valuestring);
	else
		copy(room, name);
	return room;
}

static double raw_number(const struct hp_table_row *row, const char *key)
{
	const cJSON *value = hp_json_at(row->raw, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

/* The program's own call: what it takes so far is known, though it goes on. */
static bool is_whole(const struct hp_table *table, const struct hp_table_row *row)
{
	const cJSON *caller = hp_json_at(table->list, "caller_name");
	const cJSON *name = hp_json_at(row->data, "name");

	return cJSON_IsString(caller) && cJSON_IsString(name) &&
	       strcmp(caller->valuestring, name->valuestring) == 0;
}

/*
 * "≥ " and "~" as in the report, which the texts of the answer have not: they are
 * those of the crate.  Only of times, whose bounds are in `raw`.
 */
static const char *bound_mark(const struct hp_table *table, const struct hp_table_row *row,
			      const struct hp_table_column *column)
{
	bool is_total = strcmp(column->key, "total") == 0, is_about;

	if (!row->raw || !hp_json_at(row->raw, "inclusive_high_ns"))
		return "";
	is_about = raw_number(row, "inclusive_high_ns") > raw_number(row, "inclusive_low_ns");
	if (is_total && raw_number(row, "running_calls") > 0 && !is_whole(table, row))
		return is_about ? "≥ ~" : "≥ ";
	if (strcmp(column->key, "@self_ns") == 0)
		return raw_number(row, "self_error_ns") > 0 ? "~" : "";
	return is_about && (is_total || strcmp(column->key, "avg") == 0) ? "~" : "";
}

/* In front of the text, if that is a number. */
static void mark_put(const char *mark, char room[HP_CELL_SIZE])
{
	size_t size = strlen(mark), length = strlen(room);

	if (!size || !strpbrk(room, "0123456789") || length + size >= HP_CELL_SIZE)
		return;
	memmove(room + size, room, length + 1);
	memcpy(room, mark, size);
}

const char *hp_table_cell(const struct hp_table *table, const struct hp_table_row *row,
			  const struct hp_table_column *column, char room[HP_CELL_SIZE])
{
	enum hp_kind kind = column->field->kind;

	if (row->frame) {
		room[0] = 0;
		return kind == HP_KIND_NAME ? frame_text(row->frame, room) : room;
	}
	if (*column->key == '%') {
		double share = share_of_list(table, row, column->key + 1);

		room[0] = 0;
		if (!isnan(share))
			number_write(share, kind, room);
	} else {
		hp_value_text(value_at(row, column->key), kind, room);
		mark_put(bound_mark(table, row, column), room);
	}
	if (!*room)
		copy(room, "-");
	return room;
}

/* What a cell is sorted by.  False = nothing is known. */
static bool cell_number(const struct hp_table *table, const struct hp_table_row *row,
			const struct hp_table_column *column, double *number)
{
	const cJSON *value;

	if (*column->key == '%') {
		*number = share_of_list(table, row, column->key + 1);
		return !isnan(*number);
	}
	value = *column->raw && row->raw ? hp_json_at(row->raw, column->raw) : NULL;
	if (!cJSON_IsNumber(value))
		value = value_at(row, column->key);
	if (cJSON_IsNumber(value))
		*number = value->valuedouble;
	else if (!cJSON_IsString(value) || !hp_console_number(value->valuestring, number))
		return false;
	return true;
}

double hp_table_share(const struct hp_table *table, const struct hp_table_row *row)
{
	double share;

	for (size_t i = 0; i < table->column_count && row->data; i++)
		if (table->columns[i].field->kind == HP_KIND_SHARE)
			return cell_number(table, row, &table->columns[i], &share) ? share : 0;
	return -1;
}

/* --- order --- */

static int compare_texts(const struct hp_table *table, const struct hp_table_column *column,
			 const struct hp_table_row *a, const struct hp_table_row *b)
{
	char left[HP_CELL_SIZE], right[HP_CELL_SIZE];

	return strcasecmp(hp_table_cell(table, a, column, left),
			  hp_table_cell(table, b, column, right));
}

/* Unknown ones are last, either way; equal ones stay as they were told. */
int hp_table_compare(const struct hp_table *table, const struct hp_table_row *a,
		     const struct hp_table_row *b)
{
	const struct hp_table_column *column =
		table->sort >= 0 && (size_t)table->sort < table->column_count
			? &table->columns[table->sort]
			: NULL;
	int order = 0;

	if (column && hp_kind_is_text(column->field->kind)) {
		order = compare_texts(table, column, a, b);
	} else if (column) {
		double left = 0, right = 0;
		bool has_left = cell_number(table, a, column, &left);
		bool has_right = cell_number(table, b, column, &right);

		if (has_left != has_right)
			return has_left ? -1 : 1;
		order = (left > right) - (left < right);
	}
	if (order)
		return table->is_ascending ? order : -order;
	return (a->place > b->place) - (a->place < b->place);
}

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

	if (table->column_count >= HP_COLUMNS_MOST)
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

/* The list's own percentiles; of the CPU's the list is inside. */
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

/* The column that was sorted by stays so, though others came before it. */
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

/* The choice goes with its row; if that has gone, to what stands in its place. */
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
	/* Until somebody moves, the first row is chosen, whichever it is. */
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

static struct hp_fold *fold_of(struct hp_table *table, uint64_t key)
{
	for (size_t i = 0; i < table->fold_count; i++)
		if (table->folds[i].key == key)
			return &table->folds[i];
	return NULL;
}

bool hp_table_is_open(struct hp_table *table, uint64_t key, bool usual)
{
	const struct hp_fold *fold = fold_of(table, key);

	return fold ? fold->is_open : usual;
}

void hp_table_fold(struct hp_table *table, size_t row, bool is_open)
{
	struct hp_fold *fold;

	if (row >= table->count || !table->rows[row].has_children)
		return;
	fold = fold_of(table, table->rows[row].key);
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

/* Unfolding shows rows that can be unfolded in turn. */
void hp_table_fold_all(struct hp_table *table, bool is_open)
{
	size_t before;

	do {
		before = table->count;
		for (size_t i = 0; i < table->count; i++) {
			struct hp_table_row *row = &table->rows[i];
			struct hp_fold *fold = fold_of(table, row->key);

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
