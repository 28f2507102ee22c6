/* SPDX-License-Identifier: MIT */
/*
 * ids.c - see ids.h.
 */
#include "live/answer/ids.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "util/hash.h"
#include "report/section/sections.h"

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = hp_hash_add(hash, at[i]);
	return hash;
}

static uint32_t id_of(struct hp_map *map, uint64_t key)
{
	bool is_new;
	uint32_t *id = hp_map_at(map, key | 1, &is_new);

	if (is_new)
		*id = (uint32_t)map->count;
	return *id;
}

void hp_ids_release(struct hp_ids *ids)
{
	for (size_t i = 0; i < HP_IDS_SECTIONS; i++)
		hp_map_release(&ids->maps[i]);
}

/* --- functions --- */

static uint64_t object_key(const struct hp_model *model, uint32_t object)
{
	const struct hp_model_object *o = object == HP_NONE ? NULL : &model->objects[object];

	if (!o)
		return 11;
	return mix_bytes(mix_bytes(13, o->path, strlen(o->path)), o->build_id, o->build_id_size);
}

uint32_t *hp_ids_of_functions(struct hp_ids *ids, const struct hp_model *model)
{
	struct hp_map *map = &ids->maps[hp_section_place(&hp_functions_section)];
	uint32_t *list = hp_xcalloc(model->function_count + 1, sizeof(*list));
	uint64_t *objects = hp_xcalloc(model->object_count + 1, sizeof(*objects));

	for (uint32_t i = 0; i < model->object_count; i++)
		objects[i] = object_key(model, i);
	for (size_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];
		uint64_t object =
			f->object == HP_NONE ? object_key(model, HP_NONE) : objects[f->object];

		list[i] = id_of(map, hp_hash_add(hp_hash_add(17, object), f->address));
	}
	list[model->function_count] = id_of(map, 19);
	free(objects);
	return list;
}

/* --- other sections --- */

/* NULL = its rows have their own ids, used by their logs. */
static struct hp_map *map_of(struct hp_ids *ids, const struct hp_section *section)
{
	return section->has_own_ids ? NULL : &ids->maps[hp_section_place(section)];
}

/* The texts that identify a row. */
static uint64_t row_key(const cJSON *row)
{
	static const char *const keys[] = { "name",	"source",    "label",
					    "location", "type_name", "channel_type" };
	uint64_t key = 23;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, keys[i]);

		if (cJSON_IsString(value))
			key = mix_bytes(hp_hash_add(key, i + 1), value->valuestring,
					strlen(value->valuestring));
	}
	return key;
}

static void id_set(cJSON *row, uint32_t id)
{
	if (cJSON_HasObjectItem(row, "id"))
		cJSON_ReplaceItemInObjectCaseSensitive(row, "id", cJSON_CreateNumber(id));
}

void hp_ids_settle(struct hp_ids *ids, const struct hp_section *section, cJSON *list)
{
	cJSON *row = cJSON_GetObjectItemCaseSensitive(list, "data");
	cJSON *raw = cJSON_GetObjectItemCaseSensitive(list, "raw");
	struct hp_map *map = map_of(ids, section), seen = HP_MAP_NONE;

	row = row ? row->child : NULL;
	raw = raw ? raw->child : NULL;
	for (; map && row; row = row->next, raw = raw ? raw->next : NULL) {
		uint64_t key = row_key(row);
		bool is_new;
		uint32_t *times = hp_map_at(&seen, key | 1, &is_new);
		uint32_t id = id_of(map, hp_hash_add(key, (*times)++));

		id_set(row, id);
		if (raw)
			id_set(raw, id);
	}
	hp_map_release(&seen);
}
