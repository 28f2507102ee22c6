/* SPDX-License-Identifier: MIT */
/*
 * lock_place.c - see lock_place.h.
 */
#include "report/read/lock_place.h"

#include <stdlib.h>
#include <string.h>

#include "segment/layout/process.h"

static bool is_object(const struct hp_model_object *object, const struct hp_object *record,
		      const char *path)
{
	return object->kind == record->kind && object->build_id_size == record->build_id_size &&
	       record->build_id_size <= sizeof(record->build_id) &&
	       memcmp(object->build_id, record->build_id, record->build_id_size) == 0 &&
	       object->inode == record->inode && strcmp(object->path, path) == 0;
}

uint32_t hp_lock_object_find(struct hp_model *model, uint64_t offset)
{
	struct hp_reader *reader = &model->reader;
	struct hp_object record;
	char *path;
	uint32_t i = 0;

	if (!hp_reader_copy(reader, offset, &record, sizeof(record)))
		return HP_NONE;
	path = hp_reader_text(reader, record.path);
	while (i < model->object_count && !is_object(&model->objects[i], &record, path ? path : ""))
		i++;
	free(path);
	return i < model->object_count ? i : HP_NONE;
}

struct hp_lock_place hp_lock_place_of(struct hp_model *model, uint64_t module, uint64_t address)
{
	struct hp_lock_place place = { .object = HP_NONE, .address = address };
	struct hp_module record;

	if (module && hp_reader_copy(&model->reader, module, &record, sizeof(record)) &&
	    record.object)
		place.object = hp_lock_object_find(model, record.object);
	return place;
}
