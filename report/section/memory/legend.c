/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 *
 * Each step's function is known already.  Lines and what was inlined cost more,
 * so the steps with the most bytes come first, and after LINES_NS the rest goes
 * without.
 */
#include "report/section/memory/legend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/section.h"
#include "report/base/field.h"
#include "report/name/frame.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/clock.h"
#include "util/hash.h"

#define LINES_NS UINT64_C(100000000)

/* Texts of one kind, numbered as they come. */
struct texts {
	struct hp_map numbers;	/* hash -> place in `list` */
	const char **list;
	size_t count;
	size_t room;
	char letter;
};

struct writer {
	struct hp_frames *frames;
	struct texts names;
	struct texts files;
	struct hp_map seen;	/* steps that were looked at */
	struct hp_map written;	/* hashes of places: many steps are at one */
	uint64_t deadline;
	FILE *out;
};

static uint64_t hash_of(const char *text)
{
	return hp_fnv_text(HP_FNV_SEED, text) | 1;
}

/* Its number; a new one gets a line. */
static uint32_t text_number(struct texts *texts, const char *text, FILE *out)
{
	uint32_t *number;
	bool is_new;

	for (uint64_t hash = hash_of(text);; hash += 2) {
		number = hp_map_at(&texts->numbers, hash, &is_new);
		if (is_new)
			break;
		if (strcmp(texts->list[*number], text) == 0)
			return *number;
	}
	*number = (uint32_t)texts->count;
	texts->list = hp_xgrow(texts->list, texts->count, &texts->room, sizeof(*texts->list));
	texts->list[texts->count++] = text;
	fprintf(out, "%c\t", texts->letter);
	hp_field_write(text, out);
	fputc('\n', out);
	return *number;
}

/* "NAME.FILE.LINE,..." as in the line; texts that are new get theirs before. */
static char *frames_text(struct writer *writer, const struct hp_frame_place *place)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < (place->has_lines ? place->count : 0); i++) {
		const struct hp_frame_line *frame = &place->frames[i];

		fprintf(out, "%s%" PRIu32 ".", i ? "," : "",
			text_number(&writer->names, frame->name, writer->out));
		if (frame->file)
			fprintf(out, "%" PRIu32,
				text_number(&writer->files, frame->file, writer->out));
		else
			fputc('-', out);
		fprintf(out, ".%d", frame->line > 0 ? frame->line : 0);
	}
	if (out && !place->has_lines)
		fprintf(out, "%" PRIu32 ".-.0",
			text_number(&writer->names, place->name, writer->out));
	if (out)
		fclose(out);
	return text;
}

static void place_write(struct writer *writer, uint32_t object, uint64_t address)
{
	uint64_t hash = (address * HP_HASH_GOLDEN ^ object) | 1;
	const struct hp_frame_place *place;
	uint64_t start;
	bool is_new;
	char *text;

	hp_map_at(&writer->written, hash, &is_new);
	if (!is_new || object == HP_NONE || !address)
		return;
	place = hp_frames_at(writer->frames, object, address);
	start = hp_frames_start(writer->frames, place);
	/* What is no symbol's needs no name: it is called by its object. */
	if (start == UINT64_MAX)
		return;
	if (hp_clock_raw_ns() < writer->deadline)
		place = hp_frames_lines(writer->frames, object, address);
	text = frames_text(writer, place);
	fprintf(writer->out, "S\t%" PRIu32 "\t%" PRIx64 "\t%" PRIx64 "\t%s\n", object, address - 1,
		start, text ? text : "");
	free(text);
}

static int compare_bytes(const void *left, const void *right, void *context)
{
	const struct hp_alloc_step *steps = context;
	uint64_t a = steps[*(const uint32_t *)left].own.bytes;
	uint64_t b = steps[*(const uint32_t *)right].own.bytes;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* The steps of the path from `step` out, as far as they were not written yet. */
static void path_write(struct writer *writer, const struct hp_alloc_step *steps, uint32_t step)
{
	bool is_new = true;

	for (; step && is_new; step = steps[step].caller) {
		*hp_map_at(&writer->seen, step, &is_new) = 1;
		if (is_new && !steps[step].mark)
			place_write(writer, steps[step].object, steps[step].address);
	}
}

void hp_alloc_legend_write(struct hp_report *report, FILE *out)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct writer writer = { .frames = hp_alloc_frames(report),
				 .names = { .letter = 'K' },
				 .files = { .letter = 'L' },
				 .deadline = hp_clock_raw_ns() + LINES_NS,
				 .out = out };
	uint32_t *order;

	if (!alloc || !writer.frames)
		return;
	order = hp_xcalloc(alloc->count, sizeof(*order));
	for (uint32_t i = 0; i < alloc->count; i++)
		order[i] = i;
	qsort_r(order, alloc->count, sizeof(*order), compare_bytes, alloc->steps);
	for (size_t i = 0; i < alloc->count; i++)
		path_write(&writer, alloc->steps, order[i]);
	free(order);
	free(writer.names.list);
	free(writer.files.list);
	hp_map_release(&writer.names.numbers);
	hp_map_release(&writer.files.numbers);
	hp_map_release(&writer.seen);
	hp_map_release(&writer.written);
}
