/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 *
 * A step that nobody asked about is kept with its symbol. Lines cost
 * more, so the steps with the most bytes come first, and after LINES_NS the
 * rest gets none.
 */
#include "report/section/memory/legend.h"

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

/* Texts of one kind, numbered in order. */
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
	struct texts symbols;
	uint32_t *functions;	/* of the frames' functions: number of the name + 1; 0 = none yet */
	size_t function_room;
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

/* Where a frame's texts are in the lists. */
struct numbers {
	uint32_t name;
	uint32_t file;
};

/* "NAME.FILE.LINE,..." after a place; new texts get their lines before it. */
static void frames_write(struct writer *writer, const struct hp_frame_place *place,
			 const struct numbers *numbers)
{
	for (size_t i = 0; i < place->count; i++) {
		const struct hp_frame_line *frame = &place->frames[i];

		if (i)
			fputc(',', writer->out);
		hp_field_write_number(numbers[i].name, '.', writer->out);
		if (frame->file)
			hp_field_write_number(numbers[i].file, '.', writer->out);
		else
			fputs("-.", writer->out);
		hp_field_write_number(frame->line > 0 ? (uint64_t)frame->line : 0, 0, writer->out);
	}
}

/* The number of the name of a place's function: most places of a function have no other. */
static uint32_t function_number(struct writer *writer, const struct hp_frame_place *place)
{
	size_t had = writer->function_room, room = had;

	while (room <= place->function)
		room = room ? 2 * room : 1024;
	if (room > had) {
		writer->functions = hp_xrealloc(writer->functions, room, sizeof(uint32_t));
		memset(writer->functions + had, 0, (room - had) * sizeof(uint32_t));
		writer->function_room = room;
	}
	if (!writer->functions[place->function])
		writer->functions[place->function] =
			text_number(&writer->names, place->name, writer->out) + 1;
	return writer->functions[place->function] - 1;
}

static void numbers_find(struct writer *writer, const struct hp_frame_place *place,
			 struct numbers *numbers)
{
	if (!place->has_lines)
		numbers->name = function_number(writer, place);
	for (size_t i = 0; place->has_lines && i < place->count; i++) {
		const struct hp_frame_line *frame = &place->frames[i];

		numbers[i].name = text_number(&writer->names, frame->name, writer->out);
		if (frame->file)
			numbers[i].file = text_number(&writer->files, frame->file, writer->out);
	}
}

static void step_write(struct writer *writer, const struct hp_alloc_step *step, uint64_t start)
{
	fputs("S\t", writer->out);
	hp_field_write_number(step->object, '\t', writer->out);
	hp_field_write_address(step->address - 1, '\t', writer->out);
	hp_field_write_address(start, '\t', writer->out);
}

/* Each symbol's text is in one place in memory. */
static void symbol_write(struct writer *writer, const struct hp_alloc_step *step,
			 const char *symbol, uint64_t start)
{
	bool is_new;
	uint32_t *number =
		hp_map_at(&writer->symbols.numbers, (uint64_t)(uintptr_t)symbol, &is_new);

	if (is_new) {
		*number = (uint32_t)writer->symbols.count++;
		fprintf(writer->out, "%c\t", writer->symbols.letter);
		hp_field_write(symbol, writer->out);
		fputc('\n', writer->out);
	}
	step_write(writer, step, start);
	fputc('~', writer->out);
	hp_field_write_number(*number, '\n', writer->out);
}

static void place_write(struct writer *writer, const struct hp_alloc_step *step)
{
	const struct hp_frame_place *place;
	struct numbers numbers[HP_FRAMES_MAX];
	bool has_time;
	const char *symbol;
	uint64_t start;

	if (step->object == HP_NONE || !step->address)
		return;
	has_time = hp_clock_raw_ns() < writer->deadline;
	symbol = hp_frames_symbol(writer->frames, step->object, step->address, has_time, &start);
	if (symbol) {
		symbol_write(writer, step, symbol, start);
		return;
	}
	place = hp_frames_at(writer->frames, step->object, step->address);
	start = hp_frames_start(writer->frames, place);
	/* An address without a symbol needs no name: it gets its object's name. */
	if (start == UINT64_MAX)
		return;
	if (has_time)
		place = hp_frames_lines(writer->frames, step->object, step->address);
	numbers_find(writer, place, numbers);
	step_write(writer, step, start);
	if (place->has_lines) {
		frames_write(writer, place, numbers);
	} else {
		hp_field_write_number(numbers->name, '.', writer->out);
		fputs("-.0", writer->out);
	}
	fputc('\n', writer->out);
}

/* A path's end, for those where something was allocated. */
struct end {
	uint64_t bytes;
	uint32_t step;
};

/* Largest first; equal ones in order. */
static int compare_ends(const void *left, const void *right)
{
	const struct end *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return a->step < b->step ? -1 : a->step > b->step;
}

#define NO_RANK UINT32_MAX

/* A place of the code, by the first path that it is on. */
struct found {
	uint32_t rank;	/* of the path; NO_RANK = nothing was allocated on any */
	uint32_t step;	/* 0 = none */
};

/* Each path from its end outward; steps on no path, in order. */
static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->step == b->step)
		return 0;
	return (a->step > b->step) == (a->rank != NO_RANK) ? -1 : 1;
}

/* For each step, the best rank of a path through it: a caller's place is lower. */
static uint32_t *ranks_make(const struct hp_alloc *alloc)
{
	struct end *ends = hp_xcalloc(alloc->sum_count, sizeof(*ends));
	uint32_t *ranks = hp_xmalloc(alloc->count * sizeof(*ranks)), count = 0;

	memset(ranks, 0xff, alloc->count * sizeof(*ranks));
	for (uint32_t i = 0; i < alloc->count && count < alloc->sum_count; i++)
		if (hp_alloc_own(alloc, i)->bytes)
			ends[count++] = (struct end){ hp_alloc_own(alloc, i)->bytes, i };
	if (count)
		qsort(ends, count, sizeof(*ends), compare_ends);
	for (uint32_t i = 0; i < count; i++)
		ranks[ends[i].step] = i;
	for (size_t i = alloc->count; i-- > 1;)
		if (ranks[i] < ranks[alloc->steps[i].caller])
			ranks[alloc->steps[i].caller] = ranks[i];
	free(ends);
	return ranks;
}

/* Those on the paths that allocated the most come first: finding all lines may take too long. */
static void places_write(struct writer *writer, const struct hp_alloc *alloc)
{
	struct found *found = hp_xcalloc(alloc->code_count + 1, sizeof(*found));
	uint32_t *ranks = ranks_make(alloc);

	for (uint32_t i = 1; i < alloc->count; i++) {
		const struct found one = { ranks[i], i };
		struct found *best = &found[alloc->steps[i].code];

		if (!alloc->steps[i].mark && (!best->step || compare_found(&one, best) < 0))
			*best = one;
	}
	qsort(found, alloc->code_count + 1, sizeof(*found), compare_found);
	for (size_t i = 0; i <= alloc->code_count; i++)
		if (found[i].step)
			place_write(writer, &alloc->steps[found[i].step]);
	free(found);
	free(ranks);
}

void hp_alloc_legend_write(struct hp_report *report, FILE *out)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct writer writer = { .frames = hp_alloc_frames(report),
				 .names = { .letter = 'K' },
				 .files = { .letter = 'L' },
				 .symbols = { .letter = 'M' },
				 .deadline = hp_clock_raw_ns() + LINES_NS,
				 .out = out };

	if (!alloc || !writer.frames)
		return;
	places_write(&writer, alloc);
	free(writer.functions);
	free(writer.names.list);
	free(writer.files.list);
	hp_map_release(&writer.names.numbers);
	hp_map_release(&writer.files.numbers);
	hp_map_release(&writer.symbols.numbers);
}
