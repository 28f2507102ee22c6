/* SPDX-License-Identifier: MIT */
/*
 * legend_gather.c - see legend_gather.h.
 *
 * Names come from tables that the report has already sorted. Source locations
 * cost more: each compile unit's line table is unpacked on first use. So the
 * functions with the most time come first, and after LINES_NS the rest get no
 * location.
 */
#include "report/name/legend_gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/field.h"
#include "report/base/memory.h"
#include "report/name/legend.h"
#include "report/name/symbol.h"
#include "segment/clock.h"

#define LINES_NS UINT64_C(150000000)

static void objects_write(const struct hp_model *model, const struct hp_symbols *symbols, FILE *out)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		const char *fault = hp_symbols_fault(symbols, i);
		char build_id[65];

		hp_build_id_text(&model->objects[i], build_id);
		fprintf(out, "o\t%s\t", build_id);
		hp_field_write(model->objects[i].path, out);
		fprintf(out, "\t%" PRIu64 "\t%" PRIu64 "\t", model->objects[i].device,
			model->objects[i].inode);
		hp_field_write(fault ? fault : "", out);
		fputc('\n', out);
	}
}

/* Source location and compiler of a function. */
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

/* Other places that the report looked up. */
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
