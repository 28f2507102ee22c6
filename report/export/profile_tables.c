/* SPDX-License-Identifier: MIT */
/*
 * profile_tables.c - the tables of a thread of a processed profile: see profile.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/export/profile.h"
#include "util/hash.h"

#define NULL_NUMBER INT64_MIN

void hp_profile_column_add(struct hp_profile_column *column, int64_t value)
{
	column->list = hp_xgrow(column->list, column->count, &column->room, sizeof(*column->list));
	column->list[column->count++] = value;
}

static struct hp_profile_column *columns_of(struct hp_profile_tables *tables, size_t *count)
{
	*count = (sizeof(*tables) - offsetof(struct hp_profile_tables, function_name)) /
		 sizeof(struct hp_profile_column);
	return &tables->function_name;
}

void hp_profile_clear(struct hp_profile_tables *tables)
{
	size_t count;
	struct hp_profile_column *columns = columns_of(tables, &count);

	for (size_t i = 0; i < tables->string_count; i++)
		free(tables->strings[i]);
	tables->string_count = 0;
	for (size_t i = 0; i < count; i++)
		columns[i].count = 0;
	hp_map_clear(&tables->by_string);
	hp_map_clear(&tables->by_function);
	hp_map_clear(&tables->by_frame);
	hp_map_clear(&tables->by_native);
	hp_map_clear(&tables->by_stack);
}

void hp_profile_release(struct hp_profile_tables *tables)
{
	size_t count;
	struct hp_profile_column *columns = columns_of(tables, &count);

	hp_profile_clear(tables);
	for (size_t i = 0; i < count; i++)
		free(columns[i].list);
	free(tables->strings);
	hp_map_release(&tables->by_string);
	hp_map_release(&tables->by_function);
	hp_map_release(&tables->by_frame);
	hp_map_release(&tables->by_native);
	hp_map_release(&tables->by_stack);
}

/* --- rows, each once --- */

uint32_t hp_profile_string(struct hp_profile_tables *t, const char *text)
{
	uint64_t hash = 1;
	uint32_t *place;
	bool is_new;

	hash = hp_hash_text(hash, text);
	for (hash |= 1;; hash += 2) {
		place = hp_map_at(&t->by_string, hash, &is_new);
		if (is_new)
			break;
		if (strcmp(t->strings[*place], text) == 0)
			return *place;
	}
	*place = (uint32_t)t->string_count;
	t->strings = hp_xgrow(t->strings, t->string_count, &t->string_room, sizeof(*t->strings));
	t->strings[t->string_count] = hp_xstrdup(text);
	return (uint32_t)t->string_count++;
}

/* The place of a row with these `cells`, in parallel `columns`. */
static uint32_t row_place(struct hp_map *map, struct hp_profile_column *const columns[],
			  const int64_t cells[], size_t key_count, size_t count)
{
	uint64_t hash = 7;
	uint32_t *place, number;
	bool is_new;

	for (size_t i = 0; i < key_count; i++)
		hash = hp_hash_add(hash, (uint64_t)cells[i]);
	for (hash |= 1;; hash += 2) {
		size_t i = 0;

		place = hp_map_at(map, hash, &is_new);
		if (is_new)
			break;
		while (i < key_count && columns[i]->list[*place] == cells[i])
			i++;
		if (i == key_count)
			return *place;
	}
	number = *place = (uint32_t)columns[0]->count;
	for (size_t i = 0; i < count; i++)
		hp_profile_column_add(columns[i], cells[i]);
	return number;
}

static uint32_t function_place(struct hp_profile_tables *t, const struct hp_profile_frame *frame)
{
	struct hp_profile_column *const columns[] = { &t->function_name, &t->function_object,
						      &t->function_file };
	const int64_t cells[] = { hp_profile_string(t, frame->name),
				  frame->object == HP_NONE ? -1 : (int64_t)frame->object,
				  frame->file ? (int64_t)hp_profile_string(t, frame->file)
					      : NULL_NUMBER };

	/* The first file found for a function. */
	return row_place(&t->by_function, columns, cells, 2, 3);
}

/* Kernel addresses are confidential, and are not file offsets. */
static bool has_address(const struct hp_profile_frame *frame)
{
	return frame->object != HP_NONE && frame->category != HP_PROFILE_KERNEL;
}

static int64_t native_place(struct hp_profile_tables *t, const struct hp_profile_frame *frame)
{
	struct hp_profile_column *const columns[] = { &t->native_object, &t->native_address,
						      &t->native_name };

	if (!has_address(frame) || !frame->start || !frame->symbol)
		return NULL_NUMBER;
	const int64_t cells[] = { frame->object, (int64_t)frame->start,
				  hp_profile_string(t, frame->symbol) };

	return row_place(&t->by_native, columns, cells, 2, 3);
}

uint32_t hp_profile_stack(struct hp_profile_tables *t, uint32_t prefix,
			  const struct hp_profile_frame *frame)
{
	struct hp_profile_column *const frames[] = { &t->frame_function, &t->frame_address,
						     &t->frame_depth,	 &t->frame_line,
						     &t->frame_category, &t->frame_native };
	struct hp_profile_column *const stacks[] = { &t->stack_prefix, &t->stack_frame,
						     &t->stack_category };
	const int64_t cells[] = { function_place(t, frame),
				  has_address(frame) ? (int64_t)frame->address : -1,
				  frame->depth,
				  frame->line > 0 ? frame->line : NULL_NUMBER,
				  frame->category,
				  native_place(t, frame) };
	const int64_t stack[] = { prefix ? (int64_t)prefix - 1 : NULL_NUMBER,
				  row_place(&t->by_frame, frames, cells, 4, 6), frame->category };

	return row_place(&t->by_stack, stacks, stack, 2, 3) + 1;
}

/* --- JSON --- */

void hp_profile_text(gzFile out, const char *text)
{
	gzputc(out, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			gzputc(out, '\\');
		if (*c < ' ')
			gzprintf(out, "\\u%04x", *c);
		else
			gzputc(out, *c);
	}
	gzputc(out, '"');
}

static void number_put(gzFile out, int64_t number)
{
	char text[24];
	char *at = text + sizeof(text);
	uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

	if (number == NULL_NUMBER) {
		gzputs(out, "null");
		return;
	}
	/* gzprintf would take as long as all the rest. */
	for (*--at = 0; rest || !at[0]; rest /= 10) {
		*--at = (char)('0' + rest % 10);
		if (rest < 10)
			break;
	}
	if (number < 0)
		*--at = '-';
	gzputs(out, at);
}

void hp_profile_column_write(gzFile out, const char *name, const struct hp_profile_column *column)
{
	gzprintf(out, "\"%s\":[", name);
	for (size_t i = 0; i < column->count; i++) {
		if (i)
			gzputc(out, ',');
		number_put(out, column->list[i]);
	}
	gzputs(out, "],");
}

static void same_write(gzFile out, const char *name, const char *value, size_t count)
{
	gzprintf(out, "\"%s\":[", name);
	for (size_t i = 0; i < count; i++) {
		if (i)
			gzputc(out, ',');
		gzputs(out, value);
	}
	gzputs(out, "],");
}

static void frames_write(struct hp_profile_tables *t, gzFile out)
{
	size_t count = t->frame_function.count;

	gzputs(out, "\"frameTable\":{");
	hp_profile_column_write(out, "address", &t->frame_address);
	hp_profile_column_write(out, "inlineDepth", &t->frame_depth);
	hp_profile_column_write(out, "category", &t->frame_category);
	same_write(out, "subcategory", "0", count);
	hp_profile_column_write(out, "func", &t->frame_function);
	hp_profile_column_write(out, "nativeSymbol", &t->frame_native);
	same_write(out, "innerWindowID", "0", count);
	same_write(out, "implementation", "null", count);
	hp_profile_column_write(out, "line", &t->frame_line);
	same_write(out, "column", "null", count);
	gzprintf(out, "\"length\":%zu},", count);
}

static void functions_write(struct hp_profile_tables *t, gzFile out)
{
	size_t count = t->function_name.count;

	gzputs(out, "\"funcTable\":{");
	hp_profile_column_write(out, "name", &t->function_name);
	same_write(out, "isJS", "false", count);
	same_write(out, "relevantForJS", "false", count);
	hp_profile_column_write(out, "resource", &t->function_object);
	hp_profile_column_write(out, "fileName", &t->function_file);
	same_write(out, "lineNumber", "null", count);
	same_write(out, "columnNumber", "null", count);
	gzprintf(out, "\"length\":%zu},\"nativeSymbols\":{", count);
	hp_profile_column_write(out, "libIndex", &t->native_object);
	hp_profile_column_write(out, "address", &t->native_address);
	hp_profile_column_write(out, "name", &t->native_name);
	same_write(out, "functionSize", "null", t->native_name.count);
	gzprintf(out, "\"length\":%zu},", t->native_name.count);
}

/* A resource for each object of the model; they are also the libs. */
static void resources_write(struct hp_profile_tables *t, const struct hp_model *model, gzFile out)
{
	struct hp_profile_column libs = { .list = NULL }, names = { .list = NULL };

	for (size_t i = 0; i < model->object_count; i++) {
		const char *slash = strrchr(model->objects[i].path, '/');

		hp_profile_column_add(&libs, (int64_t)i);
		hp_profile_column_add(&names, hp_profile_string(t, slash ? slash + 1
									 : model->objects[i].path));
	}
	gzputs(out, "\"resourceTable\":{");
	hp_profile_column_write(out, "lib", &libs);
	hp_profile_column_write(out, "name", &names);
	same_write(out, "host", "null", libs.count);
	same_write(out, "type", "1", libs.count);
	gzprintf(out, "\"length\":%zu},", libs.count);
	free(libs.list);
	free(names.list);
}

void hp_profile_tables_write(struct hp_profile_tables *t, const struct hp_model *model, gzFile out)
{
	gzputs(out, "\"stackTable\":{");
	hp_profile_column_write(out, "prefix", &t->stack_prefix);
	hp_profile_column_write(out, "frame", &t->stack_frame);
	hp_profile_column_write(out, "category", &t->stack_category);
	same_write(out, "subcategory", "0", t->stack_frame.count);
	gzprintf(out, "\"length\":%zu},", t->stack_frame.count);
	frames_write(t, out);
	functions_write(t, out);
	resources_write(t, model, out);
	gzputs(out, "\"stringArray\":[");
	for (size_t i = 0; i < t->string_count; i++) {
		if (i)
			gzputc(out, ',');
		hp_profile_text(out, t->strings[i]);
	}
	gzputs(out, "]");
}
