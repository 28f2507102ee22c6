/* SPDX-License-Identifier: MIT */
/*
 * row.h - a cache of rows of call frame information, by pc.
 *
 * A walk waits for memory: it needs one row after the other, and in a large
 * program each is somewhere else. So one cache line holds the rows of 512 bytes
 * of code, each with its span of code, and rows themselves are stored once: of
 * some hundred thousand, a compiler has a few hundred different ones.
 *
 * A line holds one block of code; another block that maps to it replaces it.
 */
#ifndef HP_SAMPLER_SAMPLE_ROW_H
#define HP_SAMPLER_SAMPLE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "util/hash.h"

#define HP_ROW_BLOCK_BITS 9	/* of the bytes of code that a line is for */
#define HP_ROW_SPANS 14	/* in a line */
#define HP_ROW_LINE_BITS 15	/* of the number of lines */
#define HP_ROW_SHAPES ((UINT32_C(1) << (32 - 2 * HP_ROW_BLOCK_BITS)) - 1)

struct hp_row_line {
	uint64_t block;	/* address >> HP_ROW_BLOCK_BITS */
	uint32_t spans[HP_ROW_SPANS];	/* first byte, last byte, number of the shape; 0 = empty */
};

struct hp_rows {
	struct hp_row_line *lines;
	struct hp_cfi_row *shapes;	/* rows without pc; from number 1 on */
	uint16_t *slots;	/* shapes by hash, 0 = empty */
	uint32_t shape_count;
	struct hp_cfi_row single;	/* of the last call, if it cannot be kept */
	uint64_t room[HP_CFI_ROOM / 8];
};

/* Returns false if memory runs out. */
bool hp_rows_init(struct hp_rows *rows);
void hp_rows_release(struct hp_rows *rows);

/* The line that `pc` belongs to. */
static inline struct hp_row_line *hp_rows_line(const struct hp_rows *rows, uint64_t pc)
{
	return &rows->lines[hp_hash_index(pc >> HP_ROW_BLOCK_BITS, HP_ROW_LINE_BITS)];
}

/* The row of a new pc, which is stored in `line`; valid until the next call. */
const struct hp_cfi_row *hp_rows_fill(struct hp_rows *rows, struct hp_row_line *line,
				      const struct hp_cfi *cfi, uint64_t pc);

/* The row of `pc`, as from hp_cfi_find_call, except its pc; until the next call. */
static inline const struct hp_cfi_row *hp_rows_find(struct hp_rows *rows, const struct hp_cfi *cfi,
						    uint64_t pc)
{
	const uint32_t mask = (UINT32_C(1) << HP_ROW_BLOCK_BITS) - 1, at = (uint32_t)pc & mask;
	struct hp_row_line *line = hp_rows_line(rows, pc);

	if (line->block != pc >> HP_ROW_BLOCK_BITS)
		return hp_rows_fill(rows, line, cfi, pc);
	for (uint32_t i = 0; i < HP_ROW_SPANS && line->spans[i]; i++) {
		uint32_t span = line->spans[i];
		uint32_t first = span & mask, last = span >> HP_ROW_BLOCK_BITS & mask;

		if (at >= first && at <= last)
			return &rows->shapes[span >> 2 * HP_ROW_BLOCK_BITS];
	}
	return hp_rows_fill(rows, line, cfi, pc);
}

#endif
