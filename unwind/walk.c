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
		hp_cfi_find_call(&cfi, pc - 1, row);
	else
		*row = (struct hp_cfi_row){ .kind = HP_ROW_NONE };
	row->pc = pc;
}

/* Of a pair the first is the one that was used last. */
static __attribute__((noinline)) const struct hp_cfi_row *row_other(struct hp_walker *walker,
								    uintptr_t pc,
								    struct hp_cfi_row *pair)
{
	struct hp_cfi_row row = pair[1];

	if (row.pc != pc)
		row_fill(walker, pc, &row);
	pair[1] = pair[0];
	pair[0] = row;
	return pair;
}

static inline const struct hp_cfi_row *row_of(struct hp_walker *walker, uintptr_t pc)
{
	/* Multiplicative hashing, with the factor of SplitMix64. */
	struct hp_cfi_row *pair =
		&walker->rows[2 * ((pc * UINT64_C(0xbf58476d1ce4e5b9)) >> walker->row_shift)];

	if (__builtin_expect(pair->pc != pc, 0))
		return row_other(walker, pc, pair);
	return pair;
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

/* What is known of the frame that the walk stands in. */
struct state {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
};

/* One step by a row of the usual kinds; false = it leads off the stack. */
static inline bool step(struct hp_walker *walker, const struct hp_cfi_row *row, struct state *s,
			struct hp_walk_fresh *fresh)
{
	bool is_loaded = row->kind == HP_ROW_FP_LOAD;
	uintptr_t cfa, from, place, ra, cfa_place = 0;

	if (__builtin_expect(row->kind == HP_ROW_SP, 1)) {
		cfa = from = s->sp + (uintptr_t)(intptr_t)row->cfa_offset;
	} else {
		fresh->uses_fp = true;
		cfa = from = s->fp + (uintptr_t)(intptr_t)row->cfa_offset;
		if (is_loaded) {
			cfa_place = cfa;
			if (!load(walker, s->sp, cfa_place, &cfa))
				return false;
			from = s->fp;
		}
	}
	place = cfa + (uintptr_t)(intptr_t)row->ra_offset * WORD;
	if (!load(walker, s->sp, place, &ra))
		return false;
	if (row->fp_offset || is_loaded) {
		uintptr_t fp_place = from + (uintptr_t)(intptr_t)row->fp_offset * WORD;

		if (!load(walker, s->sp, fp_place, &s->fp))
			return false;
		fresh->fp_place = fp_place;
	}
	fresh->cfa_place = cfa_place;
	fresh->ra_place = place;
	s->sp = cfa;
	s->pc = ra;
	return true;
}

static uintptr_t limit_of(const struct hp_walker *walker, uintptr_t sp)
{
	if (sp >= walker->home_low && sp < walker->home_high)
		return walker->home_high;
	return (sp & ~(uintptr_t)(PAGE - 1)) + PAGE;
}

/* From a handler to what it interrupted, which may have been on any other stack. */
static bool change_stack(struct hp_walker *walker, uintptr_t sp)
{
	uintptr_t limit = limit_of(walker, sp);

	if (limit != walker->home_high &&
	    (!walker->is_readable || !walker->is_readable(limit - PAGE, PAGE)))
		return false;
	walker->limit = limit;
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
	    !hp_cfi_step(&cfi, &registers, load_checked, &bounds))
		return false;
	if (registers.is_exact ? !change_stack(walker, registers.sp) : registers.sp <= s->sp)
		return false;
	s->pc = registers.pc + registers.is_exact;
	s->sp = registers.sp;
	s->fp = registers.fp;
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
	return true;
}

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9FB21C651E98DF25);
	return hash ^ (hash >> 32);
}

/* False = the walk ends here. */
static inline bool step_any(struct hp_walker *walker, const struct hp_cfi_row *row, struct state *s,
			    struct hp_walk_fresh *fresh)
{
	uintptr_t sp = s->sp;

	if (__builtin_expect(row->kind <= HP_ROW_FP_LOAD, 1))
		return step(walker, row, s, fresh) && s->sp > sp;
	if (row->kind == HP_ROW_END || (row->kind == HP_ROW_NONE && s->pc > walker->start_low &&
					s->pc <= walker->start_high)) {
		walker->is_complete = true;
		return false;
	}
	return row->kind == HP_ROW_ODD ? step_odd(walker, s) : step_fp(walker, s);
}

/* The first slot, from the inside, of `slots` that does not hold the same any more; -1 = all do. */
static inline int64_t differs(const struct hp_walker *walker, uint32_t slots)
{
	const struct hp_walk_slot *slot = walker->slots + slots;

	while (slot-- > walker->slots)
		if (__builtin_expect(*(const uintptr_t *)slot->place != slot->word, 0))
			return slot - walker->slots;
	return -1;
}

/*
 * `*met` frames of the trail are still to be met.  True = the walk, which stands in
 * frame number *met - 1 of it, would go on as the trail did.
 */
static inline bool joins(const struct hp_walker *walker, const struct state *s, uint32_t *met)
{
	const struct hp_walk_frame *frame;
	int64_t slot;

	while (*met && walker->trail[*met - 1].sp < s->sp)
		--*met;
	frame = &walker->trail[*met - 1];
	if (*met == 0 || frame->sp != s->sp || frame->pc != s->pc ||
	    (frame->needs_fp && frame->fp != s->fp))
		return false;
	slot = differs(walker, frame->slots);
	if (slot < 0)
		return true;
	/* Only what is further out than that slot's frame may be met again. */
	while (*met && walker->trail[*met - 1].slots > slot)
		--*met;
	return false;
}

static inline void slot_add(struct hp_walker *walker, uint32_t *count, uintptr_t place,
			    uintptr_t word)
{
	walker->slots[(*count)++] = (struct hp_walk_slot){ place, word };
}

/* `count` fresh frames go behind the first `kept` ones of the trail; `s` is where the walk ended. */
static inline void trail_add(struct hp_walker *walker, uint32_t count, uint32_t kept,
			     struct state s)
{
	struct hp_walk_frame *to = walker->trail + kept;
	uint32_t slots = kept ? to[-1].slots : 0, needs_fp = kept ? to[-1].needs_fp : 0;
	uint64_t hash = kept ? to[-1].hash : 1;

	for (const struct hp_walk_fresh *fresh = walker->fresh + count; fresh-- > walker->fresh;
	     to++) {
		/* Read from the last one on: each place has to follow from those before. */
		if (fresh->fp_place && needs_fp)
			slot_add(walker, &slots, fresh->fp_place, s.fp);
		if (fresh->ra_place)
			slot_add(walker, &slots, fresh->ra_place, s.pc);
		if (fresh->cfa_place)
			slot_add(walker, &slots, fresh->cfa_place, s.sp);
		needs_fp = fresh->uses_fp || (needs_fp && !fresh->fp_place);
		s = (struct state){ fresh->pc, fresh->sp, fresh->fp };
		hash = mix(hash, s.pc);
		*to = (struct hp_walk_frame){ s.pc, s.sp, s.fp, hash, slots, needs_fp };
	}
	walker->count = kept + count;
	walker->shared = kept;
}

/* Up to the outermost frame, or one of the trail: then `*kept` is the number of its frames. */
static inline uint32_t walk_fresh(struct hp_walker *walker, struct state *s, uint32_t *kept)
{
	static const struct hp_cfi_row no_row = { .kind = HP_ROW_NONE };
	uint32_t met = *kept, count = 0;
	bool was_complete = walker->is_complete;

	walker->is_complete = walker->is_cut = false;
	walker->is_proven = true;
	for (;;) {
		struct hp_walk_fresh *fresh = &walker->fresh[count];

		if (met && joins(walker, s, &met)) {
			walker->is_complete = was_complete;
			break;
		}
		*fresh = (struct hp_walk_fresh){ .pc = s->pc, .sp = s->sp, .fp = s->fp };
		count++;
		if (__builtin_expect(count == walker->most, 0)) {
			walker->is_cut = true;
			met = 0;
			break;
		}
		if (!step_any(walker, walker->mode == HP_WALK_FP ? &no_row : row_of(walker, s->pc),
			      s, fresh)) {
			met = 0;
			break;
		}
		if (__builtin_expect(s->pc == 0, 0)) {
			walker->is_complete = true;
			met = 0;
			break;
		}
	}
	*kept = met;
	return count;
}

void hp_walk_settle(struct hp_walker *walker, void *room, uint32_t most)
{
	walker->most = most;
	walker->trail = room;
	walker->slots = (struct hp_walk_slot *)(walker->trail + most);
	walker->fresh = (struct hp_walk_fresh *)(walker->slots + 3 * (size_t)most);
}

void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint32_t kept = walker->is_followed ? walker->count : 0, count;
	struct state s = { pc, sp, fp };

	walker->limit = limit_of(walker, sp);
	count = walk_fresh(walker, &s, &kept);
	if (__builtin_expect(count + kept > walker->most, 0)) {	/* it is cut further in than that */
		kept = 0;
		s = (struct state){ pc, sp, fp };
		count = walk_fresh(walker, &s, &kept);
	}
	trail_add(walker, count, kept, s);
	walker->is_followed = walker->is_proven && !walker->is_cut;
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
