/* SPDX-License-Identifier: MIT */
/*
 * cell.c - see cell.h.
 */
#include "live/console/state/cell.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live/console/state/text.h"
#include "report/base/format.h"

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

/* The percentage of a total of the list; NAN = unknown. */
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

/* The program's own call: its time so far is known although it is still open. */
static bool is_whole(const struct hp_table *table, const struct hp_table_row *row)
{
	const cJSON *caller = hp_json_at(table->list, "caller_name");
	const cJSON *name = hp_json_at(row->data, "name");

	return cJSON_IsString(caller) && cJSON_IsString(name) &&
	       strcmp(caller->valuestring, name->valuestring) == 0;
}

/* An interval marked in the report: more than 1 % wide on one side. */
static bool is_wide(const struct hp_table_row *row, const char *low, const char *key,
		    const char *high)
{
	double number = raw_number(row, key), share = number / 100;

	return raw_number(row, high) - number > share || number - raw_number(row, low) > share;
}

/*
 * "≥ " and "~" as in the report. The answer's texts follow the crate and lack
 * them. Only for times with bounds in `raw`.
 */
static const char *bound_mark(const struct hp_table *table, const struct hp_table_row *row,
			      const struct hp_table_column *column)
{
	bool is_total = strcmp(column->key, "total") == 0, is_about;

	if (!row->raw || !hp_json_at(row->raw, "inclusive_high_ns"))
		return "";
	is_about = is_wide(row, "inclusive_low_ns", "inclusive_ns", "inclusive_high_ns");
	if (is_total && raw_number(row, "running_calls") > 0 && !is_whole(table, row))
		return is_about ? "≥ ~" : "≥ ";
	if (strcmp(column->key, "@self_ns") == 0)
		return is_wide(row, "self_low_ns", "self_ns", "self_high_ns") ? "~" : "";
	return is_about && (is_total || strcmp(column->key, "avg") == 0) ? "~" : "";
}

/* Prepended to the text if that is a number. */
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

/* The sort value of a cell. False = unknown. */
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
