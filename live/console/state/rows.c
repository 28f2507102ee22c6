/* SPDX-License-Identifier: MIT */
/*
 * rows.c - see rows.h.
 *
 * First all rows of the answer are collected with their parents. Then they are
 * sorted, and those that pass folds and filter are listed, parents before
 * children.
 */
#include "live/console/state/rows.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/state/cell.h"
#include "live/console/state/text.h"
#include "report/base/memory.h"
#include "util/hash.h"

#define OPEN_SHARE 5.0	/* percent: tree nodes with at least this share start unfolded */
#define DEPTH_MAX 200

struct all {
	struct hp_table *table;
	struct hp_table_row *rows;	/* `parent` is a place in here */
	size_t count;
	size_t room;
	size_t *order;	/* places, sorted by parent, then in table order */
	size_t *first;	/* of each row: its children in `order` */
	size_t *last;
};

/* --- keys --- */

static uint64_t mix(uint64_t key, const char *text)
{
	return hp_fnv_byte(hp_fnv_text(key, text), 0xff);
}

/* The identity of a row: its texts, and its number among rows with the same id. */
static uint64_t key_of(const struct hp_table *table, const struct hp_table_row *row, uint64_t above)
{
	static const char *const numbers[] = { "id", "os_tid", "iter", "index", "invocation" };
	uint64_t key = above ^ HP_FNV_SEED;
	char room[HP_CELL_SIZE];

	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].field->kind == HP_KIND_NAME)
			key = mix(key, hp_table_cell(table, row, &table->columns[i], room));
	if (table->form == HP_FORM_TEXT)
		return row->place * 2 | 1;
	if (table->form == HP_FORM_TREE)
		return key | 1;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		key = mix(key, hp_value_text(hp_json_at(row->data, numbers[i]), HP_KIND_ID, room));
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].field->kind == HP_KIND_TEXT && table->form == HP_FORM_FRAMES)
			key = mix(key, hp_table_cell(table, row, &table->columns[i], room));
	return key | 1;	/* 0 means none */
}

/* --- collecting --- */

static struct hp_table_row *row_add(struct all *all, const cJSON *data, const cJSON *raw)
{
	struct hp_table_row *row;

	all->rows = hp_xgrow(all->rows, all->count, &all->room, sizeof(*all->rows));
	row = &all->rows[all->count];
	*row = (struct hp_table_row){
		.data = data, .raw = raw, .place = all->count, .parent = SIZE_MAX
	};
	all->count++;
	return row;
}

static const cJSON *array_at(const struct hp_table *table, const char *const *keys, size_t i)
{
	const cJSON *array = keys && keys[i] ? hp_json_at(table->list, keys[i]) : NULL;

	return cJSON_IsArray(array) ? array : NULL;
}

static void array_take(struct all *all, const cJSON *array, const cJSON *raws)
{
	const cJSON *data, *raw = raws ? raws->child : NULL;

	cJSON_ArrayForEach(data, array)
	{
		struct hp_table_row *row = row_add(all, data, raw);

		row->has_children = all->table->form == HP_FORM_FRAMES &&
				    cJSON_GetArraySize(hp_json_at(raw, "frames")) > 1;
		if (raw)
			raw = raw->next;
	}
}

/* `id` and `parent` of a tree's rows; ids ascend. */
static double number_at(const struct hp_table_row *row, const char *key)
{
	const cJSON *value = hp_json_at(row->data, key);

	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}

static size_t place_of(const struct all *all, double id)
{
	size_t low = 0, high = all->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (number_at(&all->rows[middle], "id") < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < all->count && number_at(&all->rows[low], "id") <= id ? low : SIZE_MAX;
}

/* Callers come before callees, so keys and depths of parents are known. */
static void tree_hang(struct all *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct hp_table_row *row = &all->rows[i];
		size_t parent = place_of(all, number_at(row, "parent"));

		if (parent >= i || all->rows[parent].depth >= DEPTH_MAX) {
			row->key = key_of(all->table, row, 0);
			continue;
		}
		row->parent = parent;
		row->depth = all->rows[parent].depth + 1;
		row->key = key_of(all->table, row, all->rows[parent].key);
		all->rows[parent].has_children = true;
	}
}

/* Rows with the same name and number are identified by their order. */
static void keys_give(struct all *all)
{
	for (size_t i = 0; i < all->count; i++)
		all->rows[i].key = key_of(all->table, &all->rows[i], 0);
}

static void take(struct all *all)
{
	struct hp_table *table = all->table;

	for (size_t i = table->skips_first; i < 2; i++) {
		const cJSON *array = array_at(table, table->rows_keys, i);

		if (!array)
			continue;
		array_take(all, array, array_at(table, table->raw_keys, i));
		if (!table->takes_both)
			break;
	}
	table->total = all->count;
	if (table->form == HP_FORM_TREE)
		tree_hang(all);
	else
		keys_give(all);
}

/* --- filter --- */

static bool is_hit(const struct hp_table *table, const struct hp_table_row *row)
{
	char room[HP_CELL_SIZE];

	for (size_t i = 0; i < table->column_count; i++)
		if (hp_kind_is_text(table->columns[i].field->kind) &&
		    hp_console_has(hp_table_cell(table, row, &table->columns[i], room),
				   table->filter))
			return true;
	return false;
}

/* A hit also shows its ancestors. */
static bool *filter_apply(struct all *all)
{
	bool *is_kept = hp_xcalloc(all->count + 1, sizeof(*is_kept));

	for (size_t i = 0; i < all->count; i++) {
		all->rows[i].is_hit = is_hit(all->table, &all->rows[i]);
		if (!all->rows[i].is_hit)
			continue;
		for (size_t at = i; at != SIZE_MAX && !is_kept[at]; at = all->rows[at].parent)
			is_kept[at] = true;
	}
	return is_kept;
}

/* --- order --- */

static int compare_places(const void *left, const void *right, void *context)
{
	const struct all *all = context;
	const struct hp_table_row *a = &all->rows[*(const size_t *)left];
	const struct hp_table_row *b = &all->rows[*(const size_t *)right];
	/* Roots first: SIZE_MAX + 1 is 0. */
	size_t x = a->parent + 1, y = b->parent + 1;

	if (x != y)
		return x < y ? -1 : 1;
	if (all->table->form == HP_FORM_TEXT)
		return a->place < b->place ? -1 : 1;
	if (all->table->sort < 0 && all->table->form == HP_FORM_TREE) {
		double left_ns = number_at(a, "inclusive_ns"),
		       right_ns = number_at(b, "inclusive_ns");

		if (left_ns < right_ns || left_ns > right_ns)
			return left_ns > right_ns ? -1 : 1;
	}
	return hp_table_compare(all->table, a, b);
}

static void order_make(struct all *all)
{
	all->order = hp_xcalloc(all->count + 1, sizeof(*all->order));
	all->first = hp_xcalloc(all->count + 2, sizeof(*all->first));
	all->last = hp_xcalloc(all->count + 2, sizeof(*all->last));
	for (size_t i = 0; i < all->count; i++)
		all->order[i] = i;
	qsort_r(all->order, all->count, sizeof(*all->order), compare_places, all);
	for (size_t i = 0; i < all->count; i++) {
		size_t parent = all->rows[all->order[i]].parent + 1;

		if (all->last[parent] == 0)
			all->first[parent] = i;
		all->last[parent] = i + 1;
	}
}

/* --- folds --- */

struct hp_fold *hp_fold_find(const struct hp_table *table, uint64_t key)
{
	for (size_t i = 0; i < table->fold_count; i++)
		if (table->folds[i].key == key)
			return &table->folds[i];
	return NULL;
}

static bool is_open_at_first(const struct hp_table *table, const struct hp_table_row *row)
{
	return table->form == HP_FORM_TREE && hp_table_share(table, row) >= OPEN_SHARE;
}

static bool is_open(const struct hp_table *table, const struct hp_table_row *row)
{
	const struct hp_fold *fold = hp_fold_find(table, row->key);

	return fold ? fold->is_open : is_open_at_first(table, row);
}

/* --- listing --- */

static void tell(struct hp_table *table, const struct hp_table_row *row, size_t *room)
{
	table->rows = hp_xgrow(table->rows, table->count, room, sizeof(*table->rows));
	table->rows[table->count++] = *row;
}

static void frames_tell(struct hp_table *table, const struct hp_table_row *row, size_t parent,
			size_t *room)
{
	const cJSON *frame;
	uint64_t key = row->key;

	cJSON_ArrayForEach(frame, hp_json_at(row->raw, "frames"))
	{
		struct hp_table_row one = {
			.frame = frame, .depth = 1, .parent = parent, .is_hit = true
		};

		key = (key + 2) * HP_HASH_GOLDEN | 1;
		one.key = key;
		tell(table, &one, room);
	}
}

/* Lists the children of the row at `parent` (+ 1), which is at `above` in the table. */
static void children_tell(struct all *all, size_t parent, size_t above, const bool *is_kept,
			  size_t *room)
{
	struct hp_table *table = all->table;

	for (size_t i = all->first[parent]; i < all->last[parent]; i++) {
		struct hp_table_row row = all->rows[all->order[i]];
		size_t place = table->count;

		if (!is_kept[all->order[i]])
			continue;
		row.parent = above;
		row.is_open = row.has_children && (is_open(table, &row) ||
						   (*table->filter && table->form == HP_FORM_TREE));
		tell(table, &row, room);
		if (!row.is_open)
			continue;
		if (table->form == HP_FORM_FRAMES)
			frames_tell(table, &row, place, room);
		else
			children_tell(all, all->order[i] + 1, place, is_kept, room);
	}
}

void hp_rows_make(struct hp_table *table)
{
	struct all all = { .table = table };
	size_t room = 0;
	bool *is_kept;

	free(table->rows);
	table->rows = NULL;
	table->count = table->total = 0;
	if (!table->list)
		return;
	take(&all);
	is_kept = filter_apply(&all);
	order_make(&all);
	children_tell(&all, 0, SIZE_MAX, is_kept, &room);
	free(is_kept);
	free(all.rows);
	free(all.order);
	free(all.first);
	free(all.last);
}
