/* SPDX-License-Identifier: MIT */
/*
 * row.c - see row.h.
 */
#include "sampler/sample/row.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/wide.h"
#include "util/hash.h"

#define SLOTS (2 * (HP_ROW_SHAPES + 1))	/* a power of two */

static_assert(sizeof(struct hp_row_line) == 64, "a line of the processor's cache");

bool hp_rows_init(struct hp_rows *rows)
{
	size_t size = sizeof(*rows->lines) << HP_ROW_LINE_BITS;

	memset(rows, 0, sizeof(*rows));
	rows->lines = hp_wide_new(size);
	rows->shapes = calloc(HP_ROW_SHAPES + 1, sizeof(*rows->shapes));
	rows->slots = calloc(SLOTS, sizeof(*rows->slots));
	if (!rows->lines || !rows->shapes || !rows->slots)
		return false;
	return true;
}

void hp_rows_release(struct hp_rows *rows)
{
	hp_wide_free(rows->lines, sizeof(*rows->lines) << HP_ROW_LINE_BITS);
	free(rows->shapes);
	free(rows->slots);
	memset(rows, 0, sizeof(*rows));
}

/* The number of a kept row; 0 = no room for another one. */
static uint32_t shape_of(struct hp_rows *rows, const struct hp_cfi_row *row)
{
	uint64_t said = (uint64_t)(uint32_t)row->cfa_offset |
			(uint64_t)(uint16_t)row->fp_offset << 32 |
			(uint64_t)(uint8_t)row->ra_offset << 48 | (uint64_t)row->kind << 56;
	uint64_t hash = hp_hash_index(said, 32);

	for (;; hash++) {
		uint16_t *slot = &rows->slots[hash & (SLOTS - 1)];
		const struct hp_cfi_row *shape = &rows->shapes[*slot];

		if (*slot && shape->cfa_offset == row->cfa_offset &&
		    shape->fp_offset == row->fp_offset && shape->ra_offset == row->ra_offset &&
		    shape->kind == row->kind)
			return *slot;
		if (*slot)
			continue;
		if (rows->shape_count == HP_ROW_SHAPES)
			return 0;
		*slot = (uint16_t)++rows->shape_count;
		rows->shapes[*slot] = *row;
		rows->shapes[*slot].pc = 0;
		return *slot;
	}
}

/* The place for another span: an empty one, or that of any other. */
static uint32_t *place_of(struct hp_row_line *line, uint64_t pc)
{
	for (uint32_t i = 0; i < HP_ROW_SPANS; i++)
		if (!line->spans[i])
			return &line->spans[i];
	return &line->spans[pc % HP_ROW_SPANS];
}

const struct hp_cfi_row *hp_rows_fill(struct hp_rows *rows, struct hp_row_line *line,
				      const struct hp_cfi *cfi, uint64_t pc)
{
	uint64_t block = pc >> HP_ROW_BLOCK_BITS, begin = block << HP_ROW_BLOCK_BITS;
	uint64_t end = begin + (UINT64_C(1) << HP_ROW_BLOCK_BITS) - 1;
	struct hp_cfi with_room = *cfi;
	struct hp_cfi_span span;

	with_room.room = rows->room;
	hp_cfi_find_call_span(&with_room, pc, &rows->single, &span);
	uint32_t shape = shape_of(rows, &rows->single);
	if (!shape)
		return &rows->single;
	if (line->block != block) {
		memset(line, 0, sizeof(*line));
		line->block = block;
	}
	uint64_t first = span.first > begin ? span.first : begin;
	uint64_t last = span.last < end ? span.last : end;
	*place_of(line, pc) = (uint32_t)(first - begin) |
			      (uint32_t)(last - begin) << HP_ROW_BLOCK_BITS |
			      shape << 2 * HP_ROW_BLOCK_BITS;
	return &rows->shapes[shape];
}
