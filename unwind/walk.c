/* SPDX-License-Identifier: MIT */
/*
 * walk.c - see walk.h.
 */
#include "unwind/walk.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#define PAGE 4096
#define WORD sizeof(uintptr_t)
#define FP_FRAME_MOST (UINT64_C(1) << 20)	/* between two frame pointers, bytes */

/* glibc's struct dl_find_object (2.35); not in the headers of older ones. */
struct find_object {
	unsigned long long int flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long int reserved[7];
};

extern int find_object(void *address, struct find_object *result) __asm__("_dl_find_object")
	__attribute__((weak));

/* --- objects --- */

struct question {
	uintptr_t pc;
	struct hp_cfi *cfi;
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct question *question = data;
	struct hp_cfi *cfi = question->cfi;
	uintptr_t low = UINTPTR_MAX, high = 0;
	const uint8_t *header = NULL;
	bool holds = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;

		if (p->p_type == PT_GNU_EH_FRAME)
			header = (const uint8_t *)begin;
		if (p->p_type != PT_LOAD)
			continue;
		holds |= question->pc >= begin && question->pc < end;
		low = begin < low ? begin : low;
		high = end > high ? end : high;
	}
	if (!holds)
		return 0;
	cfi->header = header;
	cfi->begin = low;
	cfi->end = high;
	return 1;
}

/* False = there is no information about `pc`. */
static bool cfi_of(struct hp_walker *walker, uintptr_t pc, struct hp_cfi *cfi)
{
	struct question question = { pc, cfi };
	struct find_object object;

	cfi->room = walker->room;
	if (!find_object)
		return dl_iterate_phdr(look, &question) == 1 && cfi->header;
	if (find_object((void *)pc, &object) != 0 || !object.eh_frame)
		return false;
	cfi->header = object.eh_frame;
	cfi->begin = (uintptr_t)object.map_start;
	cfi->end = (uintptr_t)object.map_end;
	return true;
}

static __attribute__((noinline, cold)) void row_fill(struct hp_walker *walker, uintptr_t pc,
						     struct hp_cfi_row *row)
{
	struct hp_cfi cfi;

	walker->fills++;
	if (cfi_of(walker, pc - 1, &cfi))
		hp_cfi_find(&cfi, pc - 1, row);
	else
		*row = (struct hp_cfi_row){ .kind = HP_ROW_NONE };
	row->pc = pc;
}

static inline const struct hp_cfi_row *row_of(struct hp_walker *walker, uintptr_t pc)
{
	/* Multiplicative hashing, with the factor of SplitMix64. */
	struct hp_cfi_row *row =
		&walker->rows[(pc * UINT64_C(0xbf58476d1ce4e5b9)) >> walker->row_shift];

	if (__builtin_expect(row->pc != pc, 0))
		row_fill(walker, pc, row);
	return row;
}

/* --- the stack --- */

/* On a stack that is not known: page by page. */
static __attribute__((noinline, cold)) bool extend(struct hp_walker *walker, uintptr_t place)
{
	bool is_home = walker->limit == walker->home_high;

	while (!is_home && walker->is_readable && place + WORD > walker->limit) {
		if (place - walker->limit > FP_FRAME_MOST ||
		    !walker->is_readable(walker->limit, PAGE))
			return false;
		walker->limit += PAGE;
	}
	return place + WORD <= walker->limit;
}

/* A word at or above the stack pointer. */
static inline bool load(struct hp_walker *walker, uintptr_t sp, uintptr_t place, uintptr_t *word)
{
	if (__builtin_expect(place < sp || place % WORD, 0))
		return false;
	if (__builtin_expect(place + WORD > walker->limit || place + WORD < place, 0) &&
	    !extend(walker, place))
		return false;
	*word = *(const uintptr_t *)place;
	return true;
}

struct bounds {
	struct hp_walker *walker;
	uintptr_t sp;
};

static bool load_checked(void *context, uintptr_t place, uintptr_t *word)
{
	const struct bounds *bounds = context;

	return load(bounds->walker, bounds->sp, place, word);
}

static inline void slot_add(struct hp_walker *walker, uintptr_t place, uintptr_t word)
{
	struct hp_walk_slot *slot = &walker->slots[walker->slot_count++];

	slot->place = place;
	slot->word = word;
}

/* What is known of the frame that the walk stands in. */
struct state {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t fp_place;	/* where fp was loaded from, if no slot says so yet; else 0 */
	bool is_start;	/* fp is still that of the start */
};

/* The walk is going to depend on fp. */
static inline void use_fp(struct hp_walker *walker, struct state *s)
{
	if (s->is_start)
		walker->uses_fp = true;
	else if (s->fp_place)
		slot_add(walker, s->fp_place, s->fp);
	s->fp_place = 0;
}

/* One step by a row of the usual kinds; false = it leads off the stack. */
static inline bool step(struct hp_walker *walker, const struct hp_cfi_row *row, struct state *s)
{
	uintptr_t cfa, from, ra;

	if (__builtin_expect(row->kind == HP_ROW_SP, 1)) {
		cfa = from = s->sp + (uintptr_t)(intptr_t)row->cfa_offset;
	} else {
		use_fp(walker, s);
		cfa = s->fp + (uintptr_t)(intptr_t)row->cfa_offset;
		from = cfa;
		if (row->kind == HP_ROW_FP_LOAD) {
			uintptr_t place = cfa;

			if (!load(walker, s->sp, place, &cfa))
				return false;
			slot_add(walker, place, cfa);
			from = s->fp;
		}
	}
	if (!load(walker, s->sp, cfa + (uintptr_t)(intptr_t)row->ra_offset * WORD, &ra))
		return false;
	slot_add(walker, cfa + (uintptr_t)(intptr_t)row->ra_offset * WORD, ra);
	if (row->fp_offset || row->kind == HP_ROW_FP_LOAD) {
		s->fp_place = from + (uintptr_t)(intptr_t)row->fp_offset * WORD;
		if (!load(walker, s->sp, s->fp_place, &s->fp))
			return false;
		s->is_start = false;
	}
	s->sp = cfa;
	s->pc = ra;
	return true;
}

/* By the program itself, which a row cannot hold. */
static __attribute__((noinline, cold)) bool step_odd(struct hp_walker *walker, struct state *s)
{
	struct hp_cfi_registers registers = { .pc = s->pc, .sp = s->sp, .fp = s->fp };
	struct bounds bounds = { walker, s->sp };
	struct hp_cfi cfi;

	walker->is_proven = false;
	if (!cfi_of(walker, s->pc - 1, &cfi) ||
	    !hp_cfi_step(&cfi, &registers, load_checked, &bounds) || registers.sp <= s->sp)
		return false;
	s->pc = registers.pc + registers.is_exact;
	s->sp = registers.sp;
	s->fp = registers.fp;
	s->fp_place = 0;
	s->is_start = false;
	return true;
}

/* Code without information, made at run time perhaps: its frame pointer, if that looks like one. */
static __attribute__((noinline, cold)) bool step_fp(struct hp_walker *walker, struct state *s)
{
	uintptr_t fp, ra;

	walker->is_proven = false;
	if (walker->mode == HP_WALK_CFI || s->fp < s->sp || s->fp - s->sp > FP_FRAME_MOST ||
	    !load(walker, s->sp, s->fp, &fp) || !load(walker, s->sp, s->fp + WORD, &ra) ||
	    (fp && fp <= s->fp))
		return false;
	s->sp = s->fp + 2 * WORD;
	s->fp = fp;
	s->pc = ra;
	s->fp_place = 0;
	s->is_start = false;
	return true;
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9FB21C651E98DF25);
	return hash ^ (hash >> 32);
}

static uintptr_t limit_of(const struct hp_walker *walker, uintptr_t sp)
{
	if (sp >= walker->home_low && sp < walker->home_high)
		return walker->home_high;
	return (sp & ~(uintptr_t)(PAGE - 1)) + PAGE;
}

/* False = the walk ends here. */
static inline bool step_any(struct hp_walker *walker, const struct hp_cfi_row *row, struct state *s)
{
	uintptr_t sp = s->sp;

	if (__builtin_expect(row->kind <= HP_ROW_FP_LOAD, 1))
		return step(walker, row, s) && s->sp > sp;
	if (row->kind == HP_ROW_END || (row->kind == HP_ROW_NONE && s->pc > walker->start_low &&
					s->pc <= walker->start_high)) {
		walker->is_complete = true;
		return false;
	}
	return row->kind == HP_ROW_ODD ? step_odd(walker, s) : step_fp(walker, s);
}

void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct state s = { .pc = pc, .sp = sp, .fp = fp, .is_start = true };
	static const struct hp_cfi_row no_row = { .kind = HP_ROW_NONE };
	uint32_t count = 0;
	uint64_t hash = 1;

	walker->slot_count = 0;
	walker->is_complete = walker->is_cut = walker->uses_fp = false;
	walker->is_proven = true;
	walker->limit = limit_of(walker, sp);
	for (;;) {
		walker->frames[count++] = s.pc;
		hash = mix(hash, s.pc);
		if (__builtin_expect(count == walker->most, 0)) {
			walker->is_cut = true;
			break;
		}
		if (!step_any(walker, walker->mode == HP_WALK_FP ? &no_row : row_of(walker, s.pc),
			      &s))
			break;
		if (__builtin_expect(s.pc == 0, 0)) {
			walker->is_complete = true;
			break;
		}
	}
	walker->count = count;
	walker->hash = hash;
}

uint32_t hp_walk_slowly(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			uintptr_t *frames)
{
	struct state s = { .pc = pc, .sp = sp, .fp = fp };
	struct hp_cfi_row row;
	uint32_t count = 0;

	walker->limit = limit_of(walker, sp);
	while (s.pc && count < walker->most) {
		bool is_done;

		frames[count++] = s.pc;
		row_fill(walker, s.pc, &row);
		is_done = row.kind == HP_ROW_END ||
			  !(row.kind == HP_ROW_NONE ? step_fp(walker, &s) : step_odd(walker, &s));
		if (is_done)
			break;
	}
	return count;
}
