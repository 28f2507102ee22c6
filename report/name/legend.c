/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 *
 * Names are read from tables that were sorted for the report already.  Places
 * in the source cost more: each compile unit's line table is unpacked at its
 * first question.  So the functions that take the most time come first, and
 * after LINES_NS the rest goes without.
 */
#include "report/name/legend.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/legend.h"
#include "report/base/field.h"
#include "report/base/memory.h"
#include "report/name/symbol.h"
#include "segment/clock.h"

#define LINES_NS UINT64_C(150000000)

/* --- gathering --- */

static void build_id_text(const struct hp_model_object *object, char text[65])
{
	text[0] = 0;
	for (uint32_t i = 0; i < object->build_id_size; i++)
		sprintf(text + 2 * (size_t)i, "%02x", object->build_id[i]);
}

static void objects_write(const struct hp_model *model, const struct hp_symbols *symbols, FILE *out)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		const char *fault = hp_symbols_fault(symbols, i);
		char build_id[65];

		build_id_text(&model->objects[i], build_id);
		fprintf(out, "o\t%s\t", build_id);
		hp_field_write(model->objects[i].path, out);
		fprintf(out, "\t%" PRIu64 "\t%" PRIu64 "\t", model->objects[i].device,
			model->objects[i].inode);
		hp_field_write(fault ? fault : "", out);
		fputc('\n', out);
	}
}

/* Where a function stands, and who compiled it. */
struct place {
	struct hp_source source;
	const char *producer;	/* NULL = not known */
};

static void function_write(struct hp_symbols *symbols, const struct hp_model *model, uint32_t i,
			   const struct place *place, FILE *out)
{
	const struct hp_model_function *f = &model->functions[i];

	fprintf(out, "f\t%" PRIu32 "\t%" PRIx64 "\t%s\t", f->object, f->address,
		hp_symbols_is(symbols, f->object, f->address, "main") ? "m" : "-");
	hp_field_write(hp_symbols_name(symbols, i), out);
	if (place->source.file) {
		fputc('\t', out);
		hp_field_write(place->source.file, out);
		fprintf(out, "\t%d\t%d", place->source.line, place->source.column);
	}
	fputc('\n', out);
}

static void functions_write(struct hp_symbols *symbols, const struct hp_model *model,
			    const uint32_t *order, size_t count, FILE *out)
{
	uint64_t deadline = hp_clock_raw_ns() + LINES_NS;
	const char *last = "";

	for (size_t i = 0; i < count; i++) {
		struct place place = { .producer = NULL };

		if (hp_clock_raw_ns() < deadline) {
			hp_symbols_source(symbols, order[i], &place.source);
			place.producer = hp_symbols_producer(symbols, order[i]);
		}
		if (!place.producer)
			place.producer = "";
		if (strcmp(place.producer, last) != 0) {
			fputs("p\t", out);
			hp_field_write(place.producer, out);
			fputc('\n', out);
		}
		last = place.producer;
		function_write(symbols, model, order[i], &place, out);
	}
}

/* What the report asked for beside functions. */
static void spots_write(const struct hp_symbols *symbols, FILE *out)
{
	for (size_t i = 0; i < hp_symbols_spot_count(symbols); i++) {
		const struct hp_symbol_spot *spot = hp_symbols_spot_at(symbols, i);

		if (spot->object == HP_NONE)
			continue;
		fprintf(out, "%c\t%" PRIu32 "\t%" PRIx64 "\t-\t", spot->is_data ? 'd' : 'a',
			spot->object, spot->address);
		hp_field_write(spot->name, out);
		if (spot->file) {
			fputc('\t', out);
			hp_field_write(spot->file, out);
			fprintf(out, "\t%d\t%d", spot->line, spot->column);
		}
		fputc('\n', out);
	}
}

static int compare_total(const void *left, const void *right, void *context)
{
	const struct hp_model_function *functions = context;
	double a = functions[*(const uint32_t *)left].total_ns;
	double b = functions[*(const uint32_t *)right].total_ns;

	return a < b ? 1 : a > b ? -1 : 0;
}

char *hp_legend_gather(const struct hp_model *model, struct hp_symbols *symbols)
{
	uint32_t *order = hp_xcalloc(model->function_count, sizeof(*order));
	size_t count = 0, size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < model->function_count; i++)
		if (model->functions[i].calls && hp_symbols_has_name(symbols, i))
			order[count++] = i;
	if (count)
		qsort_r(order, count, sizeof(*order), compare_total, model->functions);
	if (out) {
		objects_write(model, symbols, out);
		functions_write(symbols, model, order, count, out);
		spots_write(symbols, out);
		fclose(out);
	}
	free(order);
	return text ? text : hp_xstrdup("");
}

/* --- reading --- */

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
	legend->entries[legend->entry_count++] = (struct hp_legend_entry){
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
			hp_cpu_legend_read(&legend->cpu, fields);
			hp_alloc_legend_read(&legend->alloc, fields);
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
	hp_cpu_legend_release(&legend->cpu);
	hp_cpu_legend_release(&legend->alloc);
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
	const struct hp_legend_entry *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The object of the legend that is this one of the model; HP_NONE = none. */
static uint32_t find_object(const struct hp_legend *legend, const uint32_t *order,
			    const struct hp_model_object *object)
{
	size_t low = 0, high = legend->object_count;
	char build_id[65];
	struct hp_legend_object wanted = { .build_id = build_id,
					   .path = object->path,
					   .device = object->device,
					   .inode = object->inode };

	build_id_text(object, build_id);
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
		struct hp_legend_entry *entry = &legend->entries[i];

		entry->object =
			entry->object < legend->object_count ? places[entry->object] : HP_NONE;
	}
	if (legend->entry_count)
		qsort(legend->entries, legend->entry_count, sizeof(*legend->entries),
		      compare_entries);
	hp_cpu_legend_bind(&legend->cpu, places, legend->object_count);
	hp_cpu_legend_bind(&legend->alloc, places, legend->object_count);
	free(order);
	free(places);
}

static const struct hp_legend_entry *entry_find(const struct hp_legend *legend, uint32_t object,
						uint64_t address, char kind)
{
	struct hp_legend_entry key = { .object = object, .address = address, .kind = kind };

	return legend->entry_count ? bsearch(&key, legend->entries, legend->entry_count,
					     sizeof(key), compare_entries)
				   : NULL;
}

const struct hp_legend_entry *hp_legend_find(const struct hp_legend *legend, uint32_t object,
					     uint64_t address)
{
	return entry_find(legend, object, address, 'f');
}

const struct hp_legend_entry *hp_legend_spot(const struct hp_legend *legend, uint32_t object,
					     uint64_t address, bool is_data)
{
	return entry_find(legend, object, address, is_data ? 'd' : 'a');
}

const char *hp_legend_fault(const struct hp_legend *legend, uint32_t object)
{
	return object < legend->fault_count ? legend->faults[object] : NULL;
}
