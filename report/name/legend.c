/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 */
#include "report/name/legend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/field.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/files.h"

void hp_build_id_text(const struct hp_model_object *object, char text[65])
{
	text[0] = 0;
	for (uint32_t i = 0; i < object->build_id_size; i++)
		sprintf(text + 2 * (size_t)i, "%02x", object->build_id[i]);
}

static void object_read(struct hp_legend *legend, char *const *fields, size_t *room)
{
	legend->objects =
		hp_xgrow(legend->objects, legend->object_count, room, sizeof(*legend->objects));
	legend->objects[legend->object_count++] = (struct hp_legend_object){
		.build_id = fields[1],
		.path = fields[2],
		.device = hp_field_number(fields[3]),
		.inode = hp_field_number(fields[4]),
		.fault = fields[5],
	};
}

static void entry_read(struct hp_legend *legend, char *const *fields, const char *producer,
		       size_t *room)
{
	legend->entries =
		hp_xgrow(legend->entries, legend->entry_count, room, sizeof(*legend->entries));
	legend->entries[legend->entry_count++] = (struct hp_noted){
		.object = (uint32_t)hp_field_number(fields[1]),
		.address = hp_field_address(fields[2]),
		.is_main = strchr(fields[3], 'm') != NULL,
		.kind = fields[0][0],
		.name = fields[4],
		.file = fields[5],
		.producer = producer,
		.line = (int)(hp_field_number(fields[6]) & INT32_MAX),
		.column = (int)(hp_field_number(fields[7]) & INT32_MAX),
	};
}

static bool is_entry(const char *word)
{
	return *word && strchr("fad", *word) && !word[1];
}

struct hp_legend *hp_legend_new(char *text)
{
	struct hp_legend *legend = hp_xcalloc(1, sizeof(*legend));
	size_t object_room = 0, entry_room = 0;
	char *fields[8], *next = text;
	const char *producer = "";

	legend->text = text;
	while (hp_field_split(&next, fields, 8)) {
		if (strcmp(fields[0], "o") == 0)
			object_read(legend, fields, &object_room);
		else if (is_entry(fields[0]) && *fields[4])
			entry_read(legend, fields, producer, &entry_room);
		else if (strcmp(fields[0], "p") == 0)
			producer = fields[1];
		else {
			for (int i = 0; i < HP_PLACES_KINDS; i++)
				hp_places_read(&legend->places[i], i, fields);
		}
	}
	return legend;
}

void hp_legend_free(struct hp_legend *legend)
{
	if (!legend)
		return;
	free(legend->text);
	free(legend->objects);
	free(legend->entries);
	free(legend->faults);
	for (int i = 0; i < HP_PLACES_KINDS; i++)
		hp_places_release(&legend->places[i]);
	free(legend);
}

static int compare_objects(const struct hp_legend_object *a, const struct hp_legend_object *b)
{
	int order = strcmp(a->path, b->path);

	if (!order)
		order = strcmp(a->build_id, b->build_id);
	if (!order)
		order = a->inode < b->inode ? -1 : a->inode > b->inode;
	return order ? order : a->device < b->device ? -1 : a->device > b->device;
}

static int compare_places(const void *left, const void *right, void *context)
{
	const struct hp_legend_object *objects = context;

	return compare_objects(&objects[*(const uint32_t *)left],
			       &objects[*(const uint32_t *)right]);
}

static int compare_entries(const void *left, const void *right)
{
	const struct hp_noted *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The legend's object for this object of the model; HP_NONE = none. */
static uint32_t find_object(const struct hp_legend *legend, const uint32_t *order,
			    const struct hp_model_object *object)
{
	size_t low = 0, high = legend->object_count;
	char build_id[65];
	struct hp_legend_object wanted = { .build_id = build_id,
					   .path = object->path,
					   .device = object->device,
					   .inode = object->inode };

	hp_build_id_text(object, build_id);
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int side = compare_objects(&wanted, &legend->objects[order[middle]]);

		if (side == 0)
			return order[middle];
		if (side < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return HP_NONE;
}

void hp_legend_bind(struct hp_legend *legend, const struct hp_model *model)
{
	uint32_t *order = hp_xcalloc(legend->object_count, sizeof(*order));
	uint32_t *places = hp_xcalloc(legend->object_count, sizeof(*places));

	for (uint32_t i = 0; i < legend->object_count; i++)
		order[i] = i, places[i] = HP_NONE;
	if (legend->object_count)
		qsort_r(order, legend->object_count, sizeof(*order), compare_places,
			legend->objects);
	legend->fault_count = model->object_count;
	legend->faults = hp_xcalloc(model->object_count, sizeof(*legend->faults));
	for (uint32_t i = 0; i < model->object_count; i++) {
		uint32_t found = find_object(legend, order, &model->objects[i]);

		if (found == HP_NONE)
			continue;
		places[found] = i;
		legend->faults[i] =
			*legend->objects[found].fault ? legend->objects[found].fault : NULL;
	}
	for (size_t i = 0; i < legend->entry_count; i++) {
		struct hp_noted *entry = &legend->entries[i];

		entry->object =
			entry->object < legend->object_count ? places[entry->object] : HP_NONE;
	}
	if (legend->entry_count)
		qsort(legend->entries, legend->entry_count, sizeof(*legend->entries),
		      compare_entries);
	for (int i = 0; i < HP_PLACES_KINDS; i++)
		hp_places_bind(&legend->places[i], places, legend->object_count);
	free(order);
	free(places);
}

static const struct hp_noted *entry_find(const struct hp_legend *legend, uint32_t object,
					 uint64_t address, char kind)
{
	struct hp_noted key = { .object = object, .address = address, .kind = kind };

	return legend->entry_count ? bsearch(&key, legend->entries, legend->entry_count,
					     sizeof(key), compare_entries)
				   : NULL;
}

const char *hp_legend_fault(const struct hp_legend *legend, uint32_t object)
{
	return object < legend->fault_count ? legend->faults[object] : NULL;
}

/* --- as a source --- */

/*
 * A kept file has the names of functions and samples. Names of other places
 * come from the program's files, if those have not changed since the run.
 */
struct kept {
	struct hp_name_source source;
	const struct hp_legend *legend;
	struct hp_name_source *files;
};

static struct kept *kept_of(struct hp_name_source *source)
{
	return (struct kept *)source;
}

static void kept_free(struct hp_name_source *source)
{
	struct hp_name_source *files = kept_of(source)->files;

	files->kind->free(files);
	free(source);
}

static const struct hp_noted *kept_find(struct hp_name_source *source, uint32_t object,
					uint64_t address)
{
	return entry_find(kept_of(source)->legend, object, address, 'f');
}

static const struct hp_noted *kept_spot(struct hp_name_source *source, uint32_t object,
					uint64_t address, bool is_data)
{
	return entry_find(kept_of(source)->legend, object, address, is_data ? 'd' : 'a');
}

static const struct hp_places *kept_places(struct hp_name_source *source, enum hp_places_of of)
{
	return &kept_of(source)->legend->places[of];
}

static struct hp_symbol_file *kept_file(struct hp_name_source *source, uint32_t object, bool is_any)
{
	struct hp_name_source *files = kept_of(source)->files;

	return is_any || hp_files_is_read(files, object) ? files->kind->file(files, object, is_any)
							 : NULL;
}

static const struct hp_debug *kept_debug(struct hp_name_source *source, uint32_t object,
					 uint64_t address, enum hp_debug_want want)
{
	struct hp_name_source *files = kept_of(source)->files;

	return hp_files_is_read(files, object) ? files->kind->debug(files, object, address, want)
					       : NULL;
}

static const char *kept_fault(struct hp_name_source *source, uint32_t object)
{
	return hp_legend_fault(kept_of(source)->legend, object);
}

struct hp_name_source *hp_legend_source(const struct hp_legend *legend,
					const struct hp_model *model)
{
	static const struct hp_name_source_kind kind = {
		.free = kept_free,
		.find = kept_find,
		.spot = kept_spot,
		.places = kept_places,
		.file = kept_file,
		.debug = kept_debug,
		.fault = kept_fault,
	};
	struct kept *kept = hp_xcalloc(1, sizeof(*kept));

	kept->source.kind = &kind;
	kept->legend = legend;
	kept->files = hp_files_new(model);
	return &kept->source;
}
