/* SPDX-License-Identifier: MIT */
/*
 * leak.c - see leak.h: from the roots to the blocks.  leak_map.c determines the roots.
 */
#include "preload/heap/leak.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/heap/block_extra.h"
#include "preload/heap/heap.h"
#include "preload/heap/leak_map.h"
#include "preload/heap/path.h"
#include "preload/heap/shadow.h"
#include "preload/thread/module.h"
#include "segment/section_key.h"

#define WORD sizeof(uintptr_t)
#define PIECE 65536	/* bytes that are copied at once */
#define ROOTS_MAX (UINT64_C(1) << 33)	/* bytes */

struct block {
	uintptr_t at;
	uint64_t size;
	uint32_t site;	/* offset / HP_LINE */
	uint32_t is_met;
};

struct scan {
	struct hp_leak_map map;
	struct block *blocks;	/* by address */
	uint32_t *stack;	/* numbers of blocks that were found but not searched */
	uint64_t count;
	uint64_t depth;	/* of the stack */
	uint64_t roots;	/* bytes looked through */
	char *piece;
};

static bool is_wanted, is_glibc;

void hp_leak_configure(const struct hp_settings *settings, bool glibc)
{
	is_wanted = hp_settings_names(settings, HP_KEY_LEAKS);
	is_glibc = glibc;
	/* The word must show where the block begins: at which multiple of 16. */
	if (is_wanted && is_glibc && hp_heap_is_wanted)
		hp_shadow_grain = 4;
}

/* --- the blocks --- */

static uint64_t size_of(uintptr_t at, struct hp_shadow_word word)
{
	struct hp_block_extra extra;

	if (word.size != HP_SHADOW_LARGE)
		return word.size;
	extra = hp_block_extra_take(at);
	hp_block_extra_put(at, extra);
	return extra.size;
}

/* Those of one leaf in [begin, end): counted, and noted if there is room. */
static void gather_in(struct scan *scan, struct hp_shadow_word *leaf, uintptr_t begin,
		      uintptr_t end)
{
	for (uintptr_t at = begin; at < end; at += 16) {
		struct hp_shadow_word word = *hp_shadow_in(leaf, at);

		if (!word.site)
			continue;
		if (scan->blocks)
			scan->blocks[scan->count] =
				(struct block){ at, size_of(at, word), word.site, 0 };
		scan->count++;
	}
}

static void gather(struct scan *scan)
{
	const uintptr_t span = (uintptr_t)1 << HP_SHADOW_LEAF;

	scan->count = 0;
	for (uint32_t i = 0; i < scan->map.count; i++) {
		const struct hp_leak_range *range = &scan->map.ranges[i];
		uintptr_t end;

		for (uintptr_t at = range->begin; at < range->end && !(at >> 47); at = end) {
			struct hp_shadow_word *leaf = hp_shadow_leaves[at >> HP_SHADOW_LEAF];

			end = (at & ~(span - 1)) + span;
			end = end < range->end ? end : range->end;
			if (leaf)
				gather_in(scan, leaf, at, end);
		}
	}
}

/* --- pointers to them --- */

static void meet(struct scan *scan, uintptr_t word, bool is_start)
{
	uint64_t low = 0, high = scan->count;
	struct block *block;

	if (word < scan->blocks[0].at)
		return;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (scan->blocks[middle].at <= word)
			low = middle;
		else
			high = middle;
	}
	block = &scan->blocks[low];
	if (block->is_met || (word != block->at && (is_start || word - block->at >= block->size)))
		return;
	block->is_met = 1;
	scan->stack[scan->depth++] = (uint32_t)low;
}

static void look(struct scan *scan, const void *memory, uint64_t size, bool is_start)
{
	const uintptr_t *words = memory;

	for (uint64_t i = 0; i < size / WORD; i++)
		meet(scan, words[i], is_start);
}

/* Copies the readable part; returns how many bytes from the first on. */
static uint64_t copy(const struct scan *scan, uintptr_t at, uint64_t size)
{
	struct iovec to = { scan->piece, size }, from = { (void *)at, size };
	long got = syscall(SYS_process_vm_readv, getpid(), &to, 1L, &from, 1L, 0L);

	return got > 0 ? (uint64_t)got : 0;
}

/*
 * By the kernel: beyond the end of its file a mapping is unreadable, and so are
 * guard pages (MADV_GUARD_INSTALL, Linux 6.13), which /proc does not show.
 */
static void look_through(struct scan *scan, uintptr_t begin, uintptr_t end, bool is_start)
{
	for (uintptr_t at = begin, got; at < end; at += got) {
		got = copy(scan, at, end - at < PIECE ? end - at : PIECE);
		look(scan, scan->piece, got, is_start);
		/* The page that stopped it is stepped over. */
		if (got % HP_PAGE || !got)
			got = ((at + got) & ~(uintptr_t)(HP_PAGE - 1)) + HP_PAGE - at;
	}
}

static void follow(struct scan *scan)
{
	while (scan->depth) {
		const struct block *block = &scan->blocks[scan->stack[--scan->depth]];
		const struct hp_leak_range *range = hp_leak_map_find(&scan->map, block->at);

		/* The program may have made it unreadable. */
		if (range && block->size < HP_PAGE && block->size <= range->end - block->at)
			look(scan, (const void *)block->at, block->size, false);
		else
			look_through(scan, block->at, block->at + block->size, false);
	}
}

/* The parts of the range outside holes. */
static void look_at_root(struct scan *scan, const struct hp_leak_range *range)
{
	uintptr_t at = range->begin;

	while (at < range->end && scan->roots < ROOTS_MAX) {
		uintptr_t end = range->end, skip = 0;

		for (uint32_t i = 0; i < scan->map.hole_count; i++) {
			const struct hp_leak_hole *hole = &scan->map.holes[i];

			if (at >= hole->begin && at < hole->end)
				skip = hole->end;
			else if (hole->begin > at && hole->begin < end)
				end = hole->begin;
		}
		if (!skip) {
			look_through(scan, at, end, range->is_libc);
			scan->roots += end - at;
		}
		at = skip ? skip : end;
	}
}

/* --- the end --- */

static void tell(const struct scan *scan)
{
	for (uint64_t i = 0; i < scan->count; i++) {
		const struct block *block = &scan->blocks[i];
		struct hp_site *site =
			hp_segment_at(&hp_segment, (uint64_t)block->site * HP_LINE, sizeof(*site));

		if (block->is_met || !site)
			continue;
		site->lost++;
		site->lost_bytes += block->size;
	}
}

static enum hp_leak_state search(struct scan *scan, uintptr_t sp)
{
	uint64_t room;

	/* A container may forbid this way of reading memory. */
	if (!hp_leak_map_read(&scan->map) || !hp_leak_map_cut(&scan->map, sp) ||
	    copy(scan, sp, WORD) != WORD)
		return HP_LEAKS_REFUSED;
	gather(scan);
	if (!scan->count)
		return HP_LEAKS_TOLD;
	room = scan->count * (sizeof(*scan->blocks) + sizeof(*scan->stack)) + HP_PAGE - 1;
	room &= ~(uint64_t)(HP_PAGE - 1);
	scan->blocks = scan->count < UINT32_MAX ? hp_pages(room) : NULL;
	if (!scan->blocks)
		return HP_LEAKS_REFUSED;
	scan->stack = (uint32_t *)(scan->blocks + scan->count);
	gather(scan);
	for (uint64_t i = 0; i < scan->count; i++)
		if (!hp_leak_map_cut_block(&scan->map, scan->blocks[i].at))
			return HP_LEAKS_REFUSED;
	for (uint32_t i = 0; i < scan->map.count; i++)
		look_at_root(scan, &scan->map.ranges[i]);
	if (scan->roots >= ROOTS_MAX)
		return HP_LEAKS_REFUSED;
	follow(scan);
	tell(scan);
	hp_pages_release(scan->blocks, room);
	return HP_LEAKS_TOLD;
}

/*
 * The start of the program's frames. Frames that the C library has pushed since
 * have older values in their gaps.
 */
static uintptr_t program_stack(struct hp_heap_local *me, uintptr_t sp, uintptr_t pc, uintptr_t fp)
{
	struct hp_module libc, own;

	if (!me->walker.trail || !hp_module_span((uintptr_t)hp_real()->_exit, &libc) ||
	    !hp_module_span((uintptr_t)hp_leak_scan, &own))
		return sp;
	hp_walk(&me->walker, pc, sp, fp);
	for (uint32_t i = me->walker.count; i-- > 0;) {
		const struct hp_walk_frame *frame = &me->walker.trail[i];

		if (frame->pc >= own.begin && frame->pc < own.end)
			continue;
		sp = frame->sp;
		if (frame->pc < libc.begin || frame->pc >= libc.end)
			break;
	}
	return sp;
}

__attribute__((noinline)) void hp_leak_scan(void)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	struct hp_heap_local *me = hp_heap();
	enum hp_leak_state state = HP_LEAKS_ALLOCATOR;
	uint64_t size = (sizeof(struct scan) + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	uint64_t ranges = HP_LEAK_RANGES * sizeof(struct hp_leak_range);
	struct scan *scan;

	if (!is_wanted || !hp_heap_is_wanted || !me->heap || hp_is_confined())
		return;
	hp_heap_shut(me, frame.sp);
	scan = is_glibc ? hp_pages(size + ranges + PIECE) : NULL;
	if (scan) {
		scan->map.ranges = (struct hp_leak_range *)((char *)scan + size);
		scan->map.room = scan->piece = (char *)scan + size + ranges;
		state = HP_LEAKS_THREADS;
		if (hp_leak_map_threads(&scan->map) == 1)
			state = search(scan, program_stack(me, frame.sp, frame.pc, frame.fp));
		hp_pages_release(scan, size + ranges + PIECE);
	} else if (is_glibc) {
		state = HP_LEAKS_REFUSED;
	}
	me->heap->leak_state = state;
	if (state == HP_LEAKS_TOLD)
		me->heap->leak_scans++;
	hp_heap_reopen(me);
}
