/* SPDX-License-Identifier: MIT */
/*
 * model_build.c - see model_build.h.
 */
#include "report/read/model_build.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "segment/layout/process.h"
#include "util/hash.h"

/* --- its life --- */

/* The used part of the segment grows between refreshes. */
static void places_grow(struct hp_model *model)
{
	size_t count = hp_reader_places(&model->reader);

	if (count <= model->place_count)
		return;
	/* Allocates several at once; most are never touched. */
	count += count / 4;
	model->places =
		hp_xsparse(model->places, model->place_count, count, sizeof(*model->places));
	model->place_count = count;
}

void hp_model_build_begin(struct hp_model *model)
{
	if (!model->build) {
		model->build = hp_xcalloc(1, sizeof(*model->build));
		places_grow(model);
		hp_tree_init(&model->build->tree, model);
		return;
	}
	places_grow(model);
}

void hp_model_build_release(struct hp_model *model)
{
	struct hp_model_build *build = model->build;

	if (!build)
		return;
	hp_tree_release(&build->tree);
	hp_map_release(&build->objects);
	hp_map_release(&build->same_objects);
	hp_map_release(&build->modules);
	hp_map_release(&build->same_functions);
	hp_map_release(&build->blocks);
	free(build->offsets);
	free(build);
	model->build = NULL;
}

/* --- objects --- */

static bool is_same_object(const struct hp_model_object *a, const struct hp_model_object *b)
{
	return a->kind == b->kind && a->build_id_size == b->build_id_size &&
	       a->device == b->device && a->inode == b->inode &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

static uint64_t object_hash(const struct hp_model_object *object)
{
	uint64_t hash = hp_hash_add(object->device + 1, object->inode);

	hash = hp_hash_text(hash, object->path);
	for (uint32_t i = 0; i < object->build_id_size; i++)
		hash = hp_hash_add(hash, object->build_id[i]);
	return hash | 1;
}

/* Compares only the name, since HOTPATH_LIB may use another folder. */
static bool is_profiler(const char *path)
{
	static const char name[] = "libhotpath.so";
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

/* The place + 1 of an equal object; takes over or frees `object`. */
static uint32_t object_place(struct hp_model *model, struct hp_model_object *object)
{
	struct hp_model_build *build = model->build;
	uint64_t hash = object_hash(object);
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&build->same_objects, hash, &is_new);
		if (is_new)
			break;
		if (!is_same_object(&model->objects[*place - 1], object))
			continue;
		if (!object->user.is_other)
			model->objects[*place - 1].user = object->user;
		free(object->path);
		return *place;
	}
	model->objects = hp_xgrow(model->objects, model->object_count, &build->object_room,
				  sizeof(*model->objects));
	model->objects[model->object_count++] = *object;
	return *place = (uint32_t)model->object_count;
}

/* Reads a list down to its head at the last refresh. */
static void objects_read(struct hp_model *model, uint32_t part, uint64_t head, uint64_t *known)
{
	struct hp_model_build *build = model->build;
	struct hp_reader *reader = &model->reader;
	struct hp_object record;
	uint64_t at = head;
	bool is_new;

	for (; at != *known && hp_reader_step(reader, at, &record, sizeof(record));
	     at = record.next) {
		struct hp_model_object object = {
			.kind = record.kind,
			.device = record.device,
			.inode = record.inode,
			.path = hp_reader_text(reader, record.path),
			.user = hp_reader_user(reader, part, &record),
		};

		if (!object.path)
			object.path = hp_xstrdup("");
		object.is_profiler = is_profiler(object.path);
		if (record.build_id_size <= sizeof(object.build_id)) {
			object.build_id_size = record.build_id_size;
			memcpy(object.build_id, record.build_id, record.build_id_size);
		}
		*hp_map_at(&build->objects, at, &is_new) = object_place(model, &object);
	}
	build->is_broken |= at != *known;
	*known = head;
}

void hp_model_build_objects(struct hp_model *model)
{
	const struct hp_reader *reader = &model->reader;

	objects_read(model, 0, reader->header.objects, &model->build->object_heads[0]);
	for (uint32_t i = 0; i < reader->part_count; i++)
		objects_read(model, i + 1, reader->parts[i].objects,
			     &model->build->object_heads[i + 1]);
}

uint32_t hp_model_build_object_at(const struct hp_model *model, uint64_t offset)
{
	const uint32_t *place = hp_map_find(&model->build->objects, offset);

	return place ? *place : 0;
}

/* The place + 1 of the object at `offset`, which may be newer than the list that was read. */
static uint32_t object_now(struct hp_model *model, uint64_t offset)
{
	struct hp_reader *reader = &model->reader;
	uint32_t place = hp_model_build_object_at(model, offset);

	if (place)
		return place;
	hp_reader_objects(reader);
	hp_model_build_objects(model);
	place = hp_model_build_object_at(model, offset);
	model->build->is_broken |= place == 0;
	return place;
}

/*
 * The place of the object of the module at `offset`. The module need not be in
 * its process's list: an earlier process may have recorded it in another
 * record.
 */
static uint32_t module_object(struct hp_model *model, uint64_t offset)
{
	struct hp_module module;
	bool is_new;
	uint32_t *place;

	if (!offset)
		return HP_NONE;
	place = hp_map_at(&model->build->modules, offset, &is_new);
	if (is_new)
		*place = hp_reader_copy(&model->reader, offset, &module, sizeof(module))
				 ? object_now(model, module.object)
				 : 0;
	return *place - 1;
}

/* --- functions --- */

static uint32_t function_place(struct hp_model *model, uint32_t object, uint64_t address)
{
	uint64_t hash = hp_hash_add(hp_hash_add(object, address), address) | 1;
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&model->build->same_functions, hash, &is_new);
		if (is_new)
			break;
		if (model->functions[*place].object == object &&
		    model->functions[*place].address == address)
			return *place;
	}
	*place = (uint32_t)model->function_count;
	model->functions = hp_xgrow(model->functions, model->function_count,
				    &model->build->function_room, sizeof(*model->functions));
	memset(&model->functions[*place], 0, sizeof(model->functions[*place]));
	model->functions[*place].object = object;
	model->functions[*place].address = address;
	return (uint32_t)model->function_count++;
}

/* The first refresh sees the newest blocks first; later refreshes find still newer ones. */
static void record_link(struct hp_model *model, struct hp_model_function *function, uint32_t number)
{
	if (model->look > 1) {
		model->records[number - 1].next = function->record;
		function->record = number;
	} else if (function->record) {
		model->records[function->last_record - 1].next = number;
	} else {
		function->record = number;
	}
	if (!function->last_record || model->look <= 1)
		function->last_record = number;
}

static void record_new(struct hp_model *model, uint32_t block, uint64_t at,
		       const struct hp_function *record)
{
	uint32_t place =
		function_place(model, module_object(model, record->module), record->address);

	model->records = hp_xgrow(model->records, model->record_count, &model->build->record_room,
				  sizeof(*model->records));
	model->records[model->record_count++] = (struct hp_model_record){
		.offset = at,
		.gist = (uint64_t)record->gist * sizeof(struct hp_gist),
		.function = place,
		.block = block,
	};
	record_link(model, &model->functions[place], (uint32_t)model->record_count);
	if (at / HP_LINE < model->place_count)
		model->places[at / HP_LINE] = (uint32_t)model->record_count;
	if (record->label && !model->functions[place].label)
		model->functions[place].label =
			hp_label_new(&model->reader, (uint64_t)record->label * HP_LINE);
}

/* --- lists --- */

static uint64_t function_next(struct hp_reader *reader, uint64_t at, bool *is_there)
{
	struct hp_function record;

	*is_there = hp_reader_step(reader, at, &record, sizeof(record));
	return *is_there ? record.next : 0;
}

static uint64_t row_next(struct hp_reader *reader, uint64_t at, bool *is_there)
{
	struct hp_row row;

	*is_there = hp_reader_step(reader, at, &row, sizeof(row));
	return *is_there ? (uint64_t)row.next * HP_LINE : 0;
}

/* Fills build->offsets from `head`, the newest, down to the known ones; returns the number. */
static size_t list_new(struct hp_model *model, uint64_t head, uint64_t known,
		       uint64_t (*next)(struct hp_reader *reader, uint64_t at, bool *is_there))
{
	struct hp_model_build *build = model->build;
	uint64_t at = head;
	size_t count = 0;

	while (at != known) {
		bool is_there;
		uint64_t below = next(&model->reader, at, &is_there);

		if (!is_there) {
			build->is_broken = true;
			break;
		}
		build->offsets = hp_xgrow(build->offsets, count, &build->offset_room,
					  sizeof(*build->offsets));
		build->offsets[count++] = at;
		at = below;
	}
	return count;
}

static void functions_read(struct hp_model *model, uint32_t block, uint64_t head)
{
	size_t count = list_new(model, head, model->blocks[block].functions, function_next);
	struct hp_function record;

	for (size_t i = 0; i < count; i++)
		if (hp_reader_copy(&model->reader, model->build->offsets[i], &record,
				   sizeof(record)))
			record_new(model, block, model->build->offsets[i], &record);
	model->blocks[block].functions = head;
}

/* A row is older than the rows below it. */
static void rows_read(struct hp_model *model, uint32_t block, uint64_t head)
{
	size_t count = list_new(model, head, model->blocks[block].rows, row_next);

	hp_tree_reserve(&model->build->tree, count);
	while (count-- > 0)
		if (!hp_tree_row(&model->build->tree, model, model->build->offsets[count]))
			model->build->is_broken = true;
	model->blocks[block].rows = head;
}

/* Reads the current count: an earlier row already has its function in it. */
static uint64_t functions_now(const struct hp_model *model, uint64_t offset)
{
	const struct hp_block *block =
		hp_segment_at(&model->reader.segment, offset, sizeof(*block));

	return block ? atomic_load_explicit(&block->functions, memory_order_acquire) : 0;
}

struct hp_model_block *hp_model_build_block(struct hp_model *model, uint64_t offset,
					    const struct hp_block *record)
{
	bool is_new;
	uint32_t *place = hp_map_at(&model->build->blocks, offset, &is_new);
	uint32_t number;

	if (is_new) {
		model->blocks = hp_xgrow(model->blocks, model->block_count,
					 &model->build->block_room, sizeof(*model->blocks));
		model->blocks[model->block_count++] = (struct hp_model_block){ .functions = 0 };
		*place = (uint32_t)model->block_count;
	}
	number = *place - 1;
	/* The end of a thread adds its pending counter. */
	model->blocks[number].stamp = record->end_ticks;
	functions_read(model, number, functions_now(model, offset));
	rows_read(model, number, record->rows);
	return &model->blocks[number];
}
