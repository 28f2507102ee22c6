/* SPDX-License-Identifier: MIT */
/*
 * sample_walk.c - see sample_walk.h.
 */
#include "sampler/sample_walk.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_BITS 16
#define WORD sizeof(uint64_t)
#define FP_FRAME_MOST (UINT64_C(1) << 20)	/* between two frame pointers, bytes */

bool hp_sample_walker_init(struct hp_sample_walker *walker, struct hp_spaces *spaces)
{
	memset(walker, 0, sizeof(*walker));
	walker->spaces = spaces;
	walker->rows = calloc((size_t)1 << ROWS_BITS, sizeof(*walker->rows));
	return walker->rows != NULL;
}

void hp_sample_walker_release(struct hp_sample_walker *walker)
{
	free(walker->rows);
	memset(walker, 0, sizeof(*walker));
}

static bool load(struct hp_sample_walker *walker, uint64_t address, uint64_t *word)
{
	if (address < walker->begin || address % WORD)
		return false;
	if (address >= walker->end || walker->end - address < WORD) {
		walker->is_cut = true;
		return false;
	}
	memcpy(word, walker->copy + (address - walker->begin), WORD);
	return true;
}

static bool load_word(void *context, uintptr_t address, uintptr_t *word)
{
	return load(context, address, word);
}

/* Where the walk stands. */
struct state {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	bool is_exact;	/* pc is of an instruction, not a return address */
};

static const struct hp_cfi_row *row_of(struct hp_sample_walker *walker, const struct hp_code *code,
				       uint64_t local)
{
	/* Multiplicative hashing, with the factor of SplitMix64. */
	struct hp_cfi_row *row =
		&walker->rows[(local * UINT64_C(0xbf58476d1ce4e5b9)) >> (64 - ROWS_BITS)];
	struct hp_cfi cfi = code->cfi;

	if (row->pc == local)
		return row;
	cfi.room = walker->room;
	hp_cfi_find_call(&cfi, local, row);
	row->pc = local;
	return row;
}

static bool step_row(struct hp_sample_walker *walker, const struct hp_cfi_row *row, struct state *s)
{
	uint64_t base = row->kind == HP_ROW_SP ? s->sp : s->fp;
	uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset, from = cfa;

	if (row->kind == HP_ROW_FP_LOAD) {
		from = s->fp;
		if (!load(walker, cfa, &cfa))
			return false;
	}
	if (!load(walker, cfa + (uint64_t)(int64_t)row->ra_offset * WORD, &s->pc))
		return false;
	uint64_t place = from + (uint64_t)(int64_t)row->fp_offset * WORD;
	/* In an epilogue it is off the stack already, and where it belongs again. */
	if ((row->fp_offset || row->kind == HP_ROW_FP_LOAD) && place >= s->sp &&
	    !load(walker, place, &s->fp))
		return false;
	s->sp = cfa;
	s->is_exact = false;
	return true;
}

/* By the program itself, which a row cannot hold; signal frames are such. */
static bool step_odd(struct hp_sample_walker *walker, const struct hp_code *code, uint64_t local,
		     struct state *s)
{
	struct hp_cfi_registers registers = { .pc = local, .sp = s->sp, .fp = s->fp };
	struct hp_cfi cfi = code->cfi;

	registers.is_exact = true;
	cfi.room = walker->room;
	if (!hp_cfi_step(&cfi, &registers, load_word, walker))
		return false;
	*s = (struct state){ registers.pc, registers.sp, registers.fp, registers.is_exact };
	return true;
}

/* Code without information, made at run time perhaps. */
static bool step_fp(struct hp_sample_walker *walker, struct state *s)
{
	uint64_t fp, pc;

	if (s->fp < s->sp || s->fp - s->sp > FP_FRAME_MOST || !load(walker, s->fp, &fp) ||
	    !load(walker, s->fp + WORD, &pc) || (fp && fp <= s->fp))
		return false;
	*s = (struct state){ pc, s->fp + 2 * WORD, fp, false };
	return true;
}

/* False = the walk ends here. */
static bool step(struct hp_sample_walker *walker, const struct hp_code *code, struct hp_place place,
		 struct state *s)
{
	uint64_t sp = s->sp;
	bool is_done;

	if (!code || !code->cfi.header)
		return step_fp(walker, s);
	uint64_t local = place.address + code->bias;
	const struct hp_cfi_row *row = row_of(walker, code, local);
	switch (row->kind) {
	case HP_ROW_END:
		walker->is_complete = true;
		return false;
	case HP_ROW_ODD:
		is_done = step_odd(walker, code, local, s);
		break;
	case HP_ROW_NONE:
		is_done = step_fp(walker, s);
		break;
	default:
		is_done = step_row(walker, row, s);
	}
	return is_done && s->sp > sp;
}

void hp_sample_walk(struct hp_sample_walker *walker, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct state s = { pc, sp, fp, true };
	bool is_going_on = true;

	walker->is_complete = walker->is_cut = false;
	while (is_going_on && walker->count < walker->most) {
		uint64_t address = s.pc - !s.is_exact;
		const struct hp_map_entry *entry =
			hp_space_find(walker->spaces, walker->space, address);
		struct hp_place place = entry ? hp_space_place(entry, address)
					      : (struct hp_place){ .address = address };

		/* What a wrong step leads to is no code. */
		if (!entry && walker->count && s.pc != pc)
			return;
		walker->places[walker->count++] = place;
		is_going_on = step(walker, entry ? entry->code : NULL, place, &s);
		if (is_going_on && s.pc == 0) {
			walker->is_complete = true;
			return;
		}
	}
}
