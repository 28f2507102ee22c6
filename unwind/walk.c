/* SPDX-License-Identifier: MIT */
/*
 * walk.c - see walk.h.
 */
#include "unwind/walk.h"

#include <link.h>
#include <sys/auxv.h>
#include <stddef.h>
#include <string.h>

#include "util/find_object.h"

#define PAGE 4096
#define WORD sizeof(uintptr_t)
#define ENTRY_MAX 64	/* bytes of _start up to its only call */
#define FP_FRAME_MAX (UINT64_C(1) << 20)	/* between two frame pointers, bytes */

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

/*
 * The C library gives only the segment of `pc` if the object's segments are apart from each
 * other, as those of node are, and the information is in another one. For the program itself
 * the kernel told where its segments are, without a lock.
 */
static bool look_at_program(struct question *question)
{
	const ElfW(Phdr) *first = (const ElfW(Phdr) *)getauxval(AT_PHDR), *p;
	struct dl_phdr_info info = { .dlpi_phdr = first,
				     .dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM) };

	for (p = first; first && p < first + info.dlpi_phnum; p++) {
		if (p->p_type != PT_PHDR)
			continue;
		info.dlpi_addr = (uintptr_t)first - p->p_vaddr;
		return look(&info, sizeof(info), question) == 1;
	}
	return false;
}

/* False = no information about `pc`. */
static bool cfi_of(struct hp_walker *walker, uintptr_t pc, struct hp_cfi *cfi)
{
	struct question question = { pc, cfi };
	struct hp_find_object object;

	cfi->room = walker->room;
	cfi->has_kept = walker->has_kept;
	walker->has_kept = true;
	if (!hp_find_object)
		return dl_iterate_phdr(look, &question) == 1 && cfi->header;
	if (hp_find_object((void *)pc, &object) != 0 || !object.eh_frame)
		return false;
	cfi->header = object.eh_frame;
	cfi->begin = (uintptr_t)object.map_start;
	cfi->end = (uintptr_t)object.map_end;
	if ((uintptr_t)cfi->header >= cfi->begin && (uintptr_t)cfi->header < cfi->end)
		return true;
	return look_at_program(&question) && cfi->header;
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
	if (walker->made)
		walker->made(walker, row);
}

void hp_walk_keep(struct hp_walker *walker, const struct hp_cfi_row *row)
{
	struct hp_cfi_row *pair = hp_walk_pair(walker, row->pc), *room;

	if (pair[1].pc && (room = hp_walk_near(walker, pair, 0)))
		*room = pair[1];
	pair[1] = pair[0];
	pair[0] = *row;
}

/* The first of a pair is the most recently used. */
static __attribute__((noinline)) const struct hp_cfi_row *row_other(struct hp_walker *walker,
								    uintptr_t pc,
								    struct hp_cfi_row *pair)
{
	struct hp_cfi_row row = pair[1], *near;

	if (row.pc == pc) {
		pair[1] = pair[0];
		pair[0] = row;
	} else if ((near = hp_walk_near(walker, pair, pc))) {
		row = *near;
		*near = pair[1];
		pair[1] = pair[0];
		pair[0] = row;
	} else {
		row_fill(walker, pc, &row);
		hp_walk_keep(walker, &row);
	}
	return pair;
}

static inline const struct hp_cfi_row *row_of(struct hp_walker *walker, uintptr_t pc)
{
	struct hp_cfi_row *pair = hp_walk_pair(walker, pc);

	if (__builtin_expect(pair->pc != pc, 0))
		return row_other(walker, pc, pair);
	return pair;
}

/* --- the stack --- */

/* On an unknown stack, checks page by page. */
static __attribute__((noinline, cold)) bool extend(struct hp_walker *walker, uintptr_t place)
{
	bool is_home = walker->limit == walker->home_high;

	if (place + WORD < place)
		return false;
	while (!is_home && walker->is_readable && place + WORD > walker->limit) {
		if (place - walker->limit > FP_FRAME_MAX ||
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
	if (__builtin_expect(place > walker->limit - WORD, 0) && !extend(walker, place))
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

/* The walk's current frame. */
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

static bool is_on_home(const struct hp_walker *walker, uintptr_t sp)
{
	return sp >= walker->home_low && sp < walker->home_high;
}

/* Of a call's stack. Elsewhere the page of the word below `sp` is readable: the return address was there. */
static uintptr_t limit_of(const struct hp_walker *walker, uintptr_t sp)
{
	return is_on_home(walker, sp) ? walker->home_high
				      : ((sp - 1) & ~(uintptr_t)(PAGE - 1)) + PAGE;
}

/* From a handler to the interrupted code, which may have been on any other stack. */
static bool change_stack(struct hp_walker *walker, uintptr_t sp)
{
	walker->limit = is_on_home(walker, sp) ? walker->home_high : sp & ~(uintptr_t)(PAGE - 1);
	return walker->limit == walker->home_high || walker->is_readable;
}

/* For rules that do not fit in a row: runs the program. */
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

/*
 * Code without unwind information, such as JIT code: uses its frame pointer if
 * that is plausible. On the home stack that is proven as other steps are. Elsewhere it is not: the
 * frame pointer may be any number, and what it points to may be unmapped before the next walk.
 */
static __attribute__((noinline, cold)) bool step_fp(struct hp_walker *walker, struct state *s,
						    struct hp_walk_fresh *fresh)
{
	bool is_home = walker->limit == walker->home_high;
	uintptr_t fp, ra;

	if (walker->mode == HP_WALK_CFI || s->fp < s->sp || s->fp - s->sp > FP_FRAME_MAX ||
	    !load(walker, s->sp, s->fp, &fp) || !load(walker, s->sp, s->fp + WORD, &ra) ||
	    (fp && fp <= s->fp)) {
		walker->is_proven = false;
		return false;
	}
	fresh->uses_fp = fresh->checks_fp = true;
	fresh->fp_place = s->fp;
	fresh->ra_place = s->fp + WORD;
	walker->is_proven &= is_home;
	walker->has_guessed |= is_home;
	s->sp = s->fp + 2 * WORD;
	s->fp = fp;
	s->pc = ra;
	return true;
}

static inline bool is_same(const struct hp_walk_slot *slot)
{
	return __builtin_expect(*(const uintptr_t *)slot->place == slot->word, 1);
}

/*
 * The first slot below `top`, from the inside, whose value changed. If none
 * did, the slot before the first, which never matches.
 */
static inline const struct hp_walk_slot *differs(const struct hp_walk_slot *top)
{
	for (;; top -= 4) {
		if (!is_same(top - 1))
			return top - 1;
		if (!is_same(top - 2))
			return top - 2;
		if (!is_same(top - 3))
			return top - 3;
		if (!is_same(top - 4))
			return top - 4;
	}
}

/*
 * The frame before *met is at `s`. Returns true if the walk would continue from
 * here as the trail did. Otherwise *met is just past the first frame that may
 * still be met.
 */
static inline bool joins(const struct hp_walker *walker, const struct state *s,
			 const struct hp_walk_frame **met)
{
	const struct hp_walk_frame *frame = *met - 1;
	const struct hp_walk_slot *slot;

	if (frame->pc != s->pc || (frame->needs_fp && frame->fp != s->fp))
		return false;
	slot = differs(walker->slots + frame->slots);
	if (slot < walker->slots)
		return true;
	/* Only frames further out than that slot's may be met again. */
	while ((*met)[-1].slots > slot - walker->slots)
		--*met;
	return false;
}

/*
 * Puts `count` new frames after the first `kept` ones of the trail; `s` is
 * where the walk ended. A frame without slots precedes the trail.
 */
static inline void trail_add(struct hp_walker *walker, uint32_t count, uint32_t kept,
			     struct state s)
{
	struct hp_walk_frame *to = walker->trail + kept;
	struct hp_walk_slot *slot = walker->slots + to[-1].slots;
	bool needs_fp = to[-1].needs_fp;
	uint64_t hash = to[-1].hash;

	for (const struct hp_walk_fresh *fresh = walker->fresh + count; fresh-- > walker->fresh;
	     to++) {
		/*
		 * Reads from the last one on, since each place depends on those
		 * before it. Unused entries are overwritten by the next: that
		 * is cheaper than a branch.
		 */
		*slot = (struct hp_walk_slot){ fresh->fp_place, s.fp };
		slot += (needs_fp | fresh->checks_fp) & (fresh->fp_place != 0);
		*slot = (struct hp_walk_slot){ fresh->ra_place, s.pc };
		slot += fresh->ra_place != 0;
		if (__builtin_expect(fresh->cfa_place != 0, 0))
			*slot++ = (struct hp_walk_slot){ fresh->cfa_place, s.sp };
		needs_fp = fresh->uses_fp | (needs_fp & (fresh->fp_place == 0));
		s = (struct state){ fresh->pc, fresh->sp, fresh->fp };
		hash = hp_hash_add(hash, s.pc);
		to->pc = s.pc;
		to->sp = s.sp;
		to->fp = s.fp;
		to->hash = hash;
		to->slots = (uint32_t)(slot - walker->slots);
		to->needs_fp = needs_fp;
	}
	walker->count = kept + count;
	if (kept < walker->shared)
		walker->shared = kept;
}

static inline void fresh_begin(struct hp_walk_fresh *fresh, const struct state *s)
{
	fresh->pc = s->pc;
	fresh->sp = s->sp;
	fresh->fp = s->fp;
	fresh->ra_place = fresh->fp_place = fresh->cfa_place = 0;
	fresh->uses_fp = fresh->checks_fp = false;
}

/* For code without information: the process began there. */
static bool is_start(const struct hp_walker *walker, uintptr_t pc)
{
	return (pc > walker->start_low && pc <= walker->start_high) ||
	       (pc > walker->entry && pc - walker->entry <= ENTRY_MAX);
}

/* One step by a less common kind of row; false = the walk ends here. */
static __attribute__((noinline)) bool step_other(struct hp_walker *walker,
						 const struct hp_cfi_row *row, struct state *s,
						 struct hp_walk_fresh *fresh)
{
	uintptr_t sp = s->sp;

	if (row->kind <= HP_ROW_FP_LOAD)
		return step(walker, row, s, fresh) && s->sp > sp;
	if (row->kind == HP_ROW_END || (row->kind == HP_ROW_NONE && is_start(walker, s->pc))) {
		walker->is_complete = true;
		return false;
	}
	return row->kind == HP_ROW_ODD ? step_odd(walker, s) : step_fp(walker, s, fresh);
}

/* One step by a row of any kind. */
static inline bool step_any(struct hp_walker *walker, struct state *s, struct hp_walk_fresh *fresh)
{
	static const struct hp_cfi_row no_row = { .kind = HP_ROW_NONE };
	const struct hp_cfi_row *row;
	uintptr_t sp = s->sp;
	struct state other;
	bool is_going_on;

	if (__builtin_expect(walker->mode == HP_WALK_FP, 0))
		row = &no_row;
	else
		row = row_of(walker, s->pc);
	if (__builtin_expect(row->kind == HP_ROW_SP, 1))
		return step(walker, row, s, fresh) && s->sp > sp;
	/* A copy; otherwise the compiler keeps the state in memory for the common steps. */
	other = *s;
	is_going_on = step_other(walker, row, &other, fresh);
	*s = other;
	return is_going_on;
}

/*
 * Walks from `s` to the outermost frame, or to one in the trail; then *kept is
 * the number of frames kept. Returns the number of new ones.
 */
static inline uint32_t walk_fresh(struct hp_walker *walker, struct state *s, uint32_t *kept)
{
	const struct hp_walk_frame *met = walker->trail + *kept;
	struct hp_walk_fresh *fresh = walker->fresh, *end = fresh + walker->most;
	bool was_complete = walker->is_complete;

	walker->is_complete = walker->is_cut = false;
	walker->is_proven = true;
	for (;;) {
		while (met[-1].sp < s->sp)
			met--;
		if (met[-1].sp == s->sp && joins(walker, s, &met)) {
			walker->is_complete = was_complete;
			break;
		}
		fresh_begin(fresh, s);
		if (__builtin_expect(++fresh == end, 0)) {
			walker->is_cut = true;
			met = walker->trail;
			break;
		}
		if (!step_any(walker, s, fresh - 1)) {
			met = walker->trail;
			break;
		}
		if (__builtin_expect(s->pc == 0, 0)) {
			walker->is_complete = true;
			met = walker->trail;
			break;
		}
	}
	*kept = (uint32_t)(met - walker->trail);
	return (uint32_t)(fresh - walker->fresh);
}

__attribute__((cold)) void hp_walk_forget_rows(struct hp_walker *walker)
{
	memset(walker->rows, 0, HP_WALK_PAIR << (64 - walker->row_shift));
	walker->has_inherited = false;
}

void hp_walk_settle(struct hp_walker *walker, void *room, uint32_t most)
{
	struct hp_walk_frame *outside = room;
	struct hp_walk_slot *never = (struct hp_walk_slot *)(outside + 1 + most);

	walker->most = most;
	*outside = (struct hp_walk_frame){ .sp = UINTPTR_MAX, .hash = 1 };
	*never = (struct hp_walk_slot){ (uintptr_t)&never->place, ~(uintptr_t)&never->place };
	walker->trail = outside + 1;
	walker->slots = never + 1;
	walker->fresh = (struct hp_walk_fresh *)(walker->slots + 3 * (size_t)most + 4);
}

void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint32_t followed = walker->is_followed ? walker->count : 0, kept, count;
	struct state s;

	walker->limit = limit_of(walker, sp);
	if (__builtin_expect(walker->limit != walker->home_high && walker->has_inherited, 0))
		hp_walk_forget_rows(walker);
	/* If a signal handler jumps out of this function, the trail is invalid. */
	walker->is_followed = false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (;; followed = 0) {
		s = (struct state){ pc, sp, fp };
		kept = followed;
		count = walk_fresh(walker, &s, &kept);
		if (__builtin_expect(count + kept <= walker->most, 1))
			break;
		/* It is truncated further in than that. */
	}
	trail_add(walker, count, kept, s);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	walker->is_followed = walker->is_proven && !walker->is_cut;
}
