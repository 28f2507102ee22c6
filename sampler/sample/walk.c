/* SPDX-License-Identifier: MIT */
/*
 * walk.c - see walk.h.
 */
#include "sampler/sample/walk.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define FP_FRAME_MAX (UINT64_C(1) << 20)	/* between two frame pointers, bytes */
#define SYSCALL_SIZE 2	/* bytes of the instruction */

bool hp_sample_walker_init(struct hp_sample_walker *walker, struct hp_spaces *spaces)
{
	memset(walker, 0, sizeof(*walker));
	walker->spaces = spaces;
	walker->fresh = calloc(HP_TRAIL_MAX, sizeof(*walker->fresh));
	return hp_rows_init(&walker->rows) && walker->fresh;
}

void hp_sample_walker_release(struct hp_sample_walker *walker)
{
	hp_rows_release(&walker->rows);
	free(walker->fresh);
	memset(walker, 0, sizeof(*walker));
}

static bool load(struct hp_sample_walker *walker, uint64_t address, uint64_t *word)
{
	const struct hp_stack_copy *stack = &walker->stack;

	if (address < stack->begin || address % WORD)
		return false;
	if (address >= stack->end || stack->end - address < WORD) {
		walker->is_cut = true;
		return false;
	}
	memcpy(word, stack->bytes + (address - stack->begin), WORD);
	if (walker->noting)
		hp_trail_note(walker->noting, address, *word);
	return true;
}

static bool load_word(void *context, uintptr_t address, uintptr_t *word)
{
	return load(context, address, word);
}

/* The step depends on the frame pointer. */
static void note_fp_use(struct hp_sample_walker *walker)
{
	if (walker->noting)
		walker->noting->uses_fp = true;
}

/* The last word is the caller's frame pointer. */
static void note_fp_word(struct hp_sample_walker *walker)
{
	if (walker->noting)
		walker->noting->fp_word = walker->noting->word_count;
}

static bool step_row(struct hp_sample_walker *walker, const struct hp_cfi_row *row,
		     struct hp_trail_frame *s)
{
	uint64_t base = row->kind == HP_ROW_SP ? s->sp : s->fp;
	uint64_t cfa = base + (uint64_t)(int64_t)row->cfa_offset, from = cfa;

	if (row->kind != HP_ROW_SP)
		note_fp_use(walker);
	if (row->kind == HP_ROW_FP_LOAD) {
		from = s->fp;
		if (!load(walker, cfa, &cfa))
			return false;
	}
	if (!load(walker, cfa + (uint64_t)(int64_t)row->ra_offset * WORD, &s->pc))
		return false;
	uint64_t place = from + (uint64_t)(int64_t)row->fp_offset * WORD;
	/* In an epilogue it has already been restored from the stack. */
	if ((row->fp_offset || row->kind == HP_ROW_FP_LOAD) && place >= s->sp) {
		if (!load(walker, place, &s->fp))
			return false;
		note_fp_word(walker);
	}
	s->sp = cfa;
	s->is_exact = false;
	return true;
}

static void state_set(struct hp_trail_frame *s, uint64_t pc, uint64_t sp, uint64_t fp)
{
	s->pc = pc;
	s->sp = sp;
	s->fp = fp;
	s->is_exact = false;
}

/* By a DWARF expression, which a row cannot hold; signal frames have them. */
static bool step_odd(struct hp_sample_walker *walker, const struct hp_code *code, uint64_t local,
		     struct hp_trail_frame *s)
{
	struct hp_cfi_registers registers = { .pc = local, .sp = s->sp, .fp = s->fp };
	struct hp_cfi cfi = code->cfi;

	note_fp_use(walker);
	registers.is_exact = true;
	cfi.room = walker->rows.room;
	if (!hp_cfi_step(&cfi, &registers, load_word, walker))
		return false;
	state_set(s, registers.pc, registers.sp, registers.fp);
	s->is_exact = registers.is_exact;
	return true;
}

/* Code without information, perhaps made at run time. */
static bool step_fp(struct hp_sample_walker *walker, struct hp_trail_frame *s)
{
	uint64_t fp, pc;

	note_fp_use(walker);
	if (s->fp < s->sp || s->fp - s->sp > FP_FRAME_MAX || !load(walker, s->fp, &fp) ||
	    !load(walker, s->fp + WORD, &pc) || (fp && fp <= s->fp))
		return false;
	state_set(s, pc, s->fp + 2 * WORD, fp);
	return true;
}

/*
 * In a system call that starts a thread: glibc ends the information of clone and clone3 before the
 * call, since it does not hold for the new thread. The old one's return address is still where it
 * was, if that leads to code with information.
 */
static bool step_clone(struct hp_sample_walker *walker, const struct hp_code *code, uint64_t local,
		       struct hp_trail_frame *s)
{
	const struct hp_cfi_row *row =
		hp_rows_find(&walker->rows, &code->cfi, local - SYSCALL_SIZE - 1);
	const struct hp_map_entry *entry;
	uint64_t ra, back;

	if (!s->is_exact || row->kind != HP_ROW_SP || row->cfa_offset != (int32_t)WORD ||
	    row->ra_offset != -1 || !load(walker, s->sp, &ra))
		return false;
	entry = hp_space_find(walker->spaces, walker->space, ra - 1);
	if (!entry || !entry->code || !entry->code->cfi.header)
		return false;
	back = hp_space_place(entry, ra - 1).address + entry->code->bias;
	if (hp_rows_find(&walker->rows, &entry->code->cfi, back)->kind == HP_ROW_NONE)
		return false;
	state_set(s, ra, s->sp + WORD, s->fp);
	return true;
}

/* False = the walk ends here. */
static bool step(struct hp_sample_walker *walker, const struct hp_code *code, struct hp_place place,
		 struct hp_trail_frame *s)
{
	uint64_t sp = s->sp;
	bool is_done;

	if (!code || !code->cfi.header)
		return step_fp(walker, s);
	uint64_t local = place.address + code->bias;
	const struct hp_cfi_row *row = hp_rows_find(&walker->rows, &code->cfi, local);
	switch (row->kind) {
	case HP_ROW_END:
		walker->is_complete = true;
		return false;
	case HP_ROW_ODD:
		is_done = step_odd(walker, code, local, s);
		break;
	case HP_ROW_NONE:
		is_done = step_clone(walker, code, local, s) || step_fp(walker, s);
		break;
	default:
		is_done = step_row(walker, row, s);
	}
	return is_done && s->sp > sp;
}

/* The next frame of the result. */
static void place_add(struct hp_sample_walker *walker, struct hp_place place,
		      const struct hp_trail_frame *s)
{
	walker->places[walker->count++] = place;
	walker->noting = NULL;
	if (walker->trail && walker->fresh_count < HP_TRAIL_MAX) {
		walker->noting = &walker->fresh[walker->fresh_count];
		*walker->noting = (struct hp_trail_frame){ .pc = s->pc,
							   .sp = s->sp,
							   .fp = s->fp,
							   .is_exact = s->is_exact,
							   .place = place };
	}
	walker->fresh_count++;
}

/* True if the rest is as before.  `left`: frames of the trail up to the walk's depth. */
static bool joins(struct hp_sample_walker *walker, const struct hp_trail_frame *s, uint32_t *left)
{
	const struct hp_trail *trail = walker->trail;

	while (*left && trail->frames[*left - 1].sp < s->sp)
		--*left;
	if (!*left || !hp_trail_is_at(&trail->frames[*left - 1], s))
		return false;
	walker->joint = *left;
	walker->is_complete = true;
	return true;
}

void hp_sample_walk(struct hp_sample_walker *walker, uint64_t pc, uint64_t sp, uint64_t fp)
{
	struct hp_trail_frame s = { .pc = pc, .sp = sp, .fp = fp, .is_exact = true };
	uint32_t left = walker->trail ? hp_trail_valid(walker->trail, &walker->stack) : 0;
	bool is_going_on = true;

	walker->is_complete = walker->is_cut = false;
	walker->joint = walker->fresh_count = 0;
	walker->noting = NULL;
	while (is_going_on && walker->count < walker->most) {
		uint64_t address = s.pc - !s.is_exact;
		const struct hp_map_entry *entry;

		if (left && joins(walker, &s, &left))
			return;
		entry = hp_space_find(walker->spaces, walker->space, address);
		struct hp_place place = entry ? hp_space_place(entry, address)
					      : (struct hp_place){ .address = address };

		/* A wrong step does not lead to code. */
		if (!entry && walker->count && s.pc != pc)
			return;
		place_add(walker, place, &s);
		is_going_on = step(walker, entry ? entry->code : NULL, place, &s);
		if (is_going_on && s.pc == 0) {
			walker->is_complete = true;
			return;
		}
	}
}

void hp_sample_walk_keep(struct hp_sample_walker *walker, const struct hp_tree_path *paths)
{
	struct hp_trail *trail = walker->trail;

	if (!trail || !walker->is_complete || trail->mapped != walker->space->mapped)
		return;
	if (walker->fresh_count > HP_TRAIL_MAX) {
		trail->count = 0;
		return;
	}
	for (uint32_t i = 0; i < walker->fresh_count; i++)
		walker->fresh[i].path = paths[i];
	hp_trail_extend(trail, walker->joint, walker->fresh, walker->fresh_count);
}
