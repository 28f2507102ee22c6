/* SPDX-License-Identifier: MIT */
/*
 * hook_alloc.c - stand-ins of the malloc family.
 *
 * The caller gets the result of the program's allocator, and its errno.  An
 * allocation is recorded after the real call, and a free before it: in
 * between, another thread may get the same block.
 *
 * The newest block of a thread is pending (segment/layout/heap.h, struct hp_heap):
 * most programs free many blocks immediately, and those write two words fewer of their
 * site.
 *
 * In a file that no other file refers to: a unit test has its own malloc.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/heap/allocator.h"
#include "preload/heap/block_extra.h"
#include "preload/heap/charge.h"
#include "preload/heap/sampled.h"
#include "preload/heap/heap.h"
#include "preload/heap/hook_alloc.h"
#include "preload/heap/path.h"
#include "preload/heap/path_site.h"
#include "preload/heap/peak.h"
#include "preload/heap/shadow.h"
#include "preload/thread/state.h"

/* Not in all headers. */
void cfree(void *block);
void free_sized(void *block, size_t size);
void free_aligned_sized(void *block, size_t align, size_t size);

static inline struct hp_shadow_word word_load(const struct hp_shadow_word *place)
{
	uint64_t both = __atomic_load_n((const uint64_t *)(const void *)place, __ATOMIC_RELAXED);

	return (struct hp_shadow_word){ (uint32_t)both, (uint32_t)(both >> 32) };
}

static inline void word_store_both(struct hp_shadow_word *place, uint64_t both)
{
	__atomic_store_n((uint64_t *)(void *)place, both, __ATOMIC_RELAXED);
}

static inline void word_store(struct hp_shadow_word *place, struct hp_shadow_word word)
{
	word_store_both(place, word.site | (uint64_t)word.size << 32);
}

static int64_t held(const struct hp_site *site)
{
	return (int64_t)(site->bytes - site->freed -
			 atomic_load_explicit(&site->far_freed, memory_order_relaxed)) -
	       site->base;
}

/*
 * If the site changes for the first time since the peak `epoch`, its current bytes were held at the
 * peak. Inlined: while a program grows, peaks are frequent.
 */
static inline __attribute__((always_inline)) void note_peak(struct hp_site *site, uint32_t epoch)
{
	uint32_t before = atomic_load_explicit(&site->epoch, memory_order_relaxed);

	/* Another thread may free a block of this site at the same time: one of the two records
	 * it. */
	if (HP_UNLIKELY(before != epoch) &&
	    atomic_compare_exchange_strong_explicit(&site->epoch, &before, epoch,
						    memory_order_relaxed, memory_order_relaxed))
		site->at_peak = held(site);
}

static inline __attribute__((always_inline)) void look_at_peak(const struct hp_heap_local *me,
							       struct hp_site *site)
{
	note_peak(site, atomic_load_explicit(me->epoch, memory_order_relaxed));
}

/* The pending block goes into its site, which has noted the peak. */
static inline void settle_known(struct hp_heap_local *me, struct hp_heap *heap)
{
	struct hp_site *site = hp_heap_site(me, heap->pending);
	uint64_t bytes = heap->pending_bytes;

	site->bytes += bytes;
	heap->bytes += bytes;
	heap->live += (int64_t)bytes;
	site->allocs++;
}

static inline void settle(struct hp_heap_local *me, struct hp_heap *heap)
{
	look_at_peak(me, hp_heap_site(me, heap->pending));
	settle_known(me, heap);
}

/*
 * Names the next block before the pending one goes into its site. Other threads that look for a peak
 * see that the record is about another block, and read it again (peak.c, look_at): else they would
 * count the pending block twice.
 */
static inline void announce(struct hp_heap_local *me, void *block)
{
	me->last = block;
	atomic_signal_fence(memory_order_seq_cst);
}

/* The pending block will not be temporary. */
static void settle_now(struct hp_heap_local *me)
{
	announce(me, HP_NO_BLOCK);
	settle(me, me->heap);
	me->heap->pending = 0;
	me->heap->pending_bytes = 0;
}

/* A block without a word cannot be found when it is freed, so it does not count as held. */
static HP_COLD void note_wordless(struct hp_heap_local *me, struct hp_site *site, uint64_t size)
{
	site->allocs++;
	site->bytes += size;
	site->frees++;
	site->freed += size;
	me->heap->bytes += size;
	/* The pending block is in its site already (note_found), and must not count twice. */
	if (me->last == HP_NO_BLOCK)
		me->heap->pending = me->heap->pending_bytes = 0;
}

static HP_COLD struct hp_shadow_word word_large(const struct hp_heap_local *me,
						const struct hp_site *site, const void *block,
						uint64_t size)
{
	hp_block_extra_put((uintptr_t)block, (struct hp_block_extra){ .size = size });
	return (struct hp_shadow_word){
		(uint32_t)((uint64_t)((const char *)site - me->base) / HP_LINE), HP_SHADOW_LARGE
	};
}

/* `block` is new, and `place` is the place of its word. */
static inline __attribute__((always_inline)) void note_at(struct hp_heap_local *me,
							  struct hp_shadow_word *place,
							  struct hp_site *site, void *block,
							  uint64_t size)
{
	uint64_t offset = (uint64_t)((char *)site - me->base);
	struct hp_heap *heap = me->heap;
	bool has_pending = me->last != HP_NO_BLOCK;

	announce(me, block);
	if (has_pending)
		settle(me, heap);
	heap->pending = offset;
	heap->pending_bytes = size;
	if (HP_UNLIKELY(size >= HP_SHADOW_LARGE))
		word_store(place, word_large(me, site, block, size));
	else
		word_store(place,
			   (struct hp_shadow_word){ (uint32_t)(offset / HP_LINE), (uint32_t)size });
	if (HP_UNLIKELY(heap->live + (int64_t)size > me->high))
		hp_peak_look(me);
}

/*
 * A sampled block: its word says that there is an extra entry. It is settled at once, since the
 * fast path for a pending block does not read the word; note_free detects if it was temporary.
 */
static HP_COLD void note_sampled(struct hp_heap_local *me, struct hp_shadow_word *place,
				 struct hp_site *site, void *block, uint64_t size)
{
	struct hp_heap *heap = me->heap;
	bool has_room;

	note_at(me, place, site, block, size);
	has_room = hp_sampled_begin(me, site, block, size);
	if (++me->samples % HP_PROVE_SAMPLES == 0)
		me->gate = 0;	/* the next cached path is checked by a walk */
	if (!has_room)
		return;
	word_store(place,
		   (struct hp_shadow_word){ (uint32_t)(heap->pending / HP_LINE), HP_SHADOW_LARGE });
	settle_now(me);
}

/* In memory that was never used before. */
static HP_COLD void note_new_leaf(struct hp_heap_local *me, struct hp_site *site, void *block,
				  uint64_t size)
{
	struct hp_shadow_word *place = hp_shadow_at(block);

	me->blocks++;
	if (place)
		note_at(me, place, site, block, size);
	else
		note_wordless(me, site, size);
}

/* `block` is new. */
static inline __attribute__((always_inline)) void note_new(struct hp_heap_local *me,
							   struct hp_site *site, void *block,
							   uint64_t size)
{
	struct hp_shadow_word *place = hp_shadow_find(block);

	if (HP_UNLIKELY(me->calls != NULL))
		hp_charge_add(me, size);
	if (HP_UNLIKELY(place == NULL))
		note_new_leaf(me, site, block, size);
	else if (HP_UNLIKELY(--me->countdown == 0))
		note_sampled(me, place, site, block, size);
	else
		note_at(me, place, site, block, size);
}

/* By a thread that did not allocate it. */
static __attribute__((noinline)) void free_far(struct hp_site *site, uint64_t size)
{
	const struct hp_process *process = hp_self->process;

	if (process)
		note_peak(site, atomic_load_explicit(&process->heap_epoch, memory_order_relaxed));
	atomic_fetch_add_explicit(&site->far_frees, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&site->far_freed, size, memory_order_relaxed);
}

static inline void note_free_size(struct hp_heap_local *me, struct hp_site *site, uint64_t size)
{
	struct hp_heap *heap = me->heap;
	int64_t own = heap->live + (int64_t)heap->pending_bytes;

	if (HP_UNLIKELY(own > me->trigger || own < me->low))
		hp_peak_look(me);
	heap->live -= (int64_t)size;
	if (HP_UNLIKELY(site->heap != me->id)) {
		free_far(site, size);
		return;
	}
	look_at_peak(me, site);
	site->frees++;
	site->freed += size;
}

/* The last sampled block: it was settled, but was temporary. */
static void unsettle(struct hp_heap_local *me, struct hp_site *site, uint64_t size)
{
	struct hp_heap *heap = me->heap;

	if (HP_UNLIKELY(heap->live > me->trigger))
		hp_peak_look(me);
	look_at_peak(me, site);
	heap->live -= (int64_t)size;
	heap->bytes -= size;
	heap->temporary_bytes += size;
	site->allocs--;
	site->bytes -= size;
	site->temporary++;
	site->temporary_bytes += size;
}

/* A block with an extra entry, `extra`. */
static HP_COLD void note_free_extra(struct hp_heap_local *me, struct hp_site *site,
				    const void *block, struct hp_block_extra extra)
{
	/* Of another thread: see is_of_pending. */
	if (hp_sampled_is_temporary(me, block) && site->heap == me->id) {
		unsettle(me, site, extra.size);
		return;
	}
	if (extra.born)
		hp_sampled_end(me, site, extra.born);
	note_free_size(me, site, extra.size);
}

/* A counted block is about to be freed; its word is already cleared. */
static inline void note_free(struct hp_heap_local *me, struct hp_shadow_word word,
			     const void *block)
{
	struct hp_site *site = hp_heap_site(me, (uint64_t)word.site * HP_LINE);

	if (HP_UNLIKELY(word.size == HP_SHADOW_LARGE))
		note_free_extra(me, site, block, hp_block_extra_take((uintptr_t)block));
	else
		note_free_size(me, site, word.size);
}

/*
 * True if the word is the pending block's. Else another thread has freed that block, and whoever
 * allocated one at the same address gave it to this thread: a reply in the place of its request.
 */
static inline bool is_of_pending(const struct hp_heap *heap, const struct hp_shadow_word *place)
{
	uint64_t size =
		heap->pending_bytes < HP_SHADOW_LARGE ? heap->pending_bytes : HP_SHADOW_LARGE;

	/* Two halves, compared with memory, take no register that free would have to save. */
	return __atomic_load_n(&place->site, __ATOMIC_RELAXED) ==
		       (uint32_t)(heap->pending / HP_LINE) &&
	       __atomic_load_n(&place->size, __ATOMIC_RELAXED) == (uint32_t)size;
}

/* The pending block is about to be freed. */
static inline void note_temporary(struct hp_heap_local *me, const void *block,
				  struct hp_shadow_word *place)
{
	struct hp_heap *heap = me->heap;
	struct hp_site *site = hp_heap_site(me, heap->pending);
	uint64_t size = heap->pending_bytes;

	if (HP_UNLIKELY(heap->live + (int64_t)size > me->trigger))
		hp_peak_look(me);
	me->last = HP_NO_BLOCK;
	heap->pending_bytes = 0;
	heap->pending = 0;
	heap->temporary_bytes += size;
	site->temporary_bytes += size;
	site->temporary++;
	if (HP_UNLIKELY(size >= HP_SHADOW_LARGE))
		hp_block_extra_take((uintptr_t)block);
	word_store(place, (struct hp_shadow_word){ 0, 0 });
}

/* An unknown block: allocated before we started, by the parent process, or NULL. */
static HP_COLD void note_strange(struct hp_heap_local *me, const void *block)
{
	if (block && block != me->forgiven && !hp_allocator_is_pool(block))
		me->heap->strange_frees++;
}

/* Takes and clears the word of a block; site 0 = the block is not ours. */
static inline struct hp_shadow_word word_take(const void *block)
{
	struct hp_shadow_word *place = hp_shadow_find(block);
	struct hp_shadow_word word = { 0, 0 };

	if (HP_LIKELY(place != NULL)) {
		word = word_load(place);
		if (HP_LIKELY(word.site != 0))
			word_store(place, (struct hp_shadow_word){ 0, 0 });
	}
	return word;
}

/* Before the real free. */
static inline void note_free_any(struct hp_heap_local *me, const void *block)
{
	struct hp_shadow_word word;

	if (block == me->last) {
		struct hp_shadow_word *place = hp_shadow_find(block);

		if (HP_LIKELY(place && is_of_pending(me->heap, place))) {
			note_temporary(me, block, place);
			return;
		}
		settle_now(me);
	}
	word = word_take(block);
	if (HP_LIKELY(word.site != 0))
		note_free(me, word, block);
	else
		note_strange(me, block);
}

/* --- when the gate is shut --- */

/* The site of this call; NULL = it is not recorded.  Opens the thread's heap. */
static struct hp_site *site_slow(const struct hp_path_frame *frame)
{
	struct hp_heap_local *me = hp_heap_enter(frame->sp);

	if (!me)
		return NULL;
	return me->proof ? hp_path_prove(me, frame) : hp_path_site(me, *frame);
}

static HP_COLD void note_new_slow(void *block, uint64_t size, uintptr_t pc, uintptr_t sp,
				  uintptr_t fp)
{
	const struct hp_path_frame frame = { pc, sp, fp };
	struct hp_site *site = block ? site_slow(&frame) : NULL;

	if (site)
		note_new(hp_heap(), site, block, size);
}

/* Without a heap of the thread's own: it is ending, or interrupted a slow path. */
static void free_outside(const void *block)
{
	struct hp_shadow_word *place = hp_shadow_leaves ? hp_shadow_find(block) : NULL;
	struct hp_shadow_word word;
	struct hp_site *site;

	if (!place || !hp_segment.header)
		return;
	word = word_load(place);
	if (!word.site)
		return;
	word_store(place, (struct hp_shadow_word){ 0, 0 });
	site = (struct hp_site *)((char *)hp_segment.header + (uint64_t)word.site * HP_LINE);
	free_far(site, word.size == HP_SHADOW_LARGE ? hp_block_extra_take((uintptr_t)block).size
						    : word.size);
}

/* A thread's first call is a free: its heap is opened if the block is known. */
static bool is_known(const void *block)
{
	const struct hp_shadow_word *place = hp_shadow_leaves ? hp_shadow_find(block) : NULL;

	return place && word_load(place).site;
}

static HP_COLD void note_free_slow(const void *block, uintptr_t pc, uintptr_t sp)
{
	struct hp_heap_local *me = hp_heap_enter_free();

	if (!me && hp_heap()->state == HP_THREAD_UNBORN && is_known(block) &&
	    !hp_path_is_loader(pc))
		me = hp_heap_enter(sp);
	if (me && HP_UNLIKELY(hp_tally_has_most) && is_known(block))
		hp_charge_free(me);
	if (me)
		note_free_any(me, block);
	else
		free_outside(block);
}

/* Calls before the allocator is available. */
static HP_COLD void *early(size_t size, size_t align)
{
	void *block = hp_allocator_pool(size, align);

	if (!block)
		errno = ENOMEM;
	return block;
}

#define IS_EARLY(name) (HP_UNLIKELY(!hp_allocator.name) && !hp_allocator_resolve())

/* --- the stand-ins --- */

static inline __attribute__((always_inline)) void note(void *block, size_t size,
						       struct hp_path_frame frame)
{
	struct hp_heap_local *me = hp_heap();

	if (HP_UNLIKELY(!me->gate)) {
		note_new_slow(block, size, frame.pc, frame.sp, frame.fp);
		return;
	}
	if (HP_LIKELY(block != NULL))
		note_new(me, hp_path_site(me, frame), block, size);
}

static __attribute__((noinline)) void *malloc_slow(size_t size, uintptr_t pc, uintptr_t sp,
						   uintptr_t fp)
{
	void *block;

	if (hp_heap_is_off())
		return hp_allocator.malloc(size);
	if (IS_EARLY(malloc))
		return early(size, 16);
	block = hp_allocator.malloc(size);
	note(block, size, (struct hp_path_frame){ pc, sp, fp });
	return block;
}

/* Calls are charged: nothing has been looked up yet. Has the same stack. */
static HP_TAIL void *note_rare(struct hp_heap_local *me, size_t size, void *block)
{
	struct hp_path_frame frame = HP_PATH_FRAME;

	note_new(me, hp_path_site(me, frame), block, size);
	return block;
}

/*
 * Like note_new, for an existing block that already has a word, if nothing needs to be charged to
 * a call. False = one of these does not hold, it is sampled, or a peak must be recorded: then
 * nothing was done.
 */
static inline __attribute__((always_inline)) bool is_noted(struct hp_heap_local *me,
							   uint64_t offset, void *block,
							   uint64_t size)
{
	struct hp_shadow_word *place = hp_shadow_usual(block);
	struct hp_heap *heap = me->heap;

	if (HP_UNLIKELY(!place || size >= HP_SHADOW_LARGE))
		return false;
	if (me->last != HP_NO_BLOCK) {
		if (HP_UNLIKELY(atomic_load_explicit(&hp_heap_site(me, heap->pending)->epoch,
						     memory_order_relaxed) !=
				atomic_load_explicit(me->epoch, memory_order_relaxed)))
			return false;
		announce(me, HP_NO_BLOCK);
		settle_known(me, heap);
	}
	if (HP_UNLIKELY(heap->live + (int64_t)size > me->high))
		return false;
	if (HP_UNLIKELY(--me->countdown == 0)) {
		me->countdown = 1;	/* for note_new */
		return false;
	}
	heap->pending = offset;
	heap->pending_bytes = size;
	me->last = block;
	word_store_both(place, offset / HP_LINE | size << 32);
	return true;
}

/* There is more to do than is_noted does. */
static HP_TAIL void *note_more(struct hp_heap_local *me, uint64_t site, size_t size, void *block)
{
	note_new(me, hp_heap_site(me, site), block, size);
	return block;
}

/*
 * The path was found, but the site of the pending block has not noted the last peak, or there is
 * more to do. The path is not looked up again: that would be the lookup of the next allocation, and
 * would record the entry as its own successor.
 */
static HP_TAIL void *note_found(struct hp_heap_local *me, uint64_t site, size_t size, void *block)
{
	if (me->last != HP_NO_BLOCK) {
		announce(me, HP_NO_BLOCK);
		settle(me, me->heap);
	}
	return is_noted(me, site, block, size) ? block : note_more(me, site, size, block);
}

/* The path is not the one that was tried first. */
static HP_TAIL void *note_missed(struct hp_heap_local *me, size_t size, void *block)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	struct hp_site *site = hp_path_miss(me, frame.pc, frame.sp, frame.fp);

	/* The next allocation settles this block, unless it is freed first. */
	__builtin_prefetch(site, 1);
	return note_found(me, (uint64_t)((char *)site - me->base), size, block);
}

/*
 * After the real call.  As a tail call it has the stack of the stand-in, so this frame
 * is as good; and since all its own calls are tail calls, it saves no register.
 */
static HP_TAIL void *note_open(struct hp_heap_local *me, size_t size, void *block)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	const struct hp_path_entry *entry;
	uint32_t number;

	if (HP_UNLIKELY(!block))
		return NULL;
	if (HP_UNLIKELY(me->calls != NULL))
		return note_rare(me, size, block);
	number = hp_path_expected(me);
	entry = hp_path_numbered(me, number);
	if (HP_UNLIKELY(!hp_path_fits(entry, frame.pc, frame.sp, frame.fp)))
		return note_missed(me, size, block);
	me->latest = number;
	if (HP_UNLIKELY(!is_noted(me, entry->site, block, size)))
		return note_found(me, entry->site, size, block);
	return block;
}

static HP_TAIL void *note_flat_rare(struct hp_heap_local *me, size_t size, void *block)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	struct hp_path_flat *flat = hp_path_flat(me, frame.pc);

	/* A signal handler that allocates may interrupt here: it finds this place empty or
	 * filled. */
	if (flat->pc != frame.pc) {
		struct hp_site *site = hp_path_site(me, frame);

		flat->pc = 0;
		atomic_signal_fence(memory_order_seq_cst);
		flat->site = (uint64_t)((char *)site - me->base);
		atomic_signal_fence(memory_order_seq_cst);
		flat->pc = frame.pc;
	}
	note_new(me, hp_heap_site(me, flat->site), block, size);
	return block;
}

/* The same without paths (HOTPATH_ALLOC_DEPTH=0): only the caller's address matters. */
static HP_TAIL void *note_flat(struct hp_heap_local *me, size_t size, void *block)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);
	const struct hp_path_flat *flat = hp_path_flat(me, pc);
	uint64_t site = __atomic_load_n(&flat->site, __ATOMIC_RELAXED);

	/* A signal handler may interrupt here: the site was read first. */
	atomic_signal_fence(memory_order_seq_cst);
	if (HP_UNLIKELY(!block))
		return NULL;
	if (HP_UNLIKELY(me->calls != NULL || flat->pc != pc || !is_noted(me, site, block, size)))
		return note_flat_rare(me, size, block);
	return block;
}

static inline __attribute__((always_inline)) void *malloc_open(struct hp_heap_local *me,
							       size_t size)
{
	return note_open(me, size, hp_allocator.malloc(size));
}

static HP_TAIL void *malloc_flat(struct hp_heap_local *me, size_t size)
{
	return note_flat(me, size, hp_allocator.malloc(size));
}

static HP_TAIL void *malloc_shut(size_t size)
{
	struct hp_path_frame frame = HP_PATH_FRAME;

	return malloc_slow(size, frame.pc, frame.sp, frame.fp);
}

/* No register is saved before it is known which work is necessary. */
HP_EXPORT void *malloc(size_t size)
{
	struct hp_heap_local *me = hp_heap();

	if (HP_LIKELY(me->gate == HP_GATE_PATHS))
		return malloc_open(me, size);
	if (me->gate == HP_GATE_FLAT)
		return malloc_flat(me, size);
	if (me->is_off)
		return hp_allocator.malloc(size);
	return malloc_shut(size);
}

static HP_TAIL void *calloc_open(struct hp_heap_local *me, size_t count, size_t each)
{
	return note_open(me, count * each, hp_allocator.calloc(count, each));
}

static HP_TAIL void *calloc_shut(size_t count, size_t each)
{
	void *block;

	if (IS_EARLY(calloc))
		return count && each > SIZE_MAX / count ? NULL : early(count * each, 16);
	block = hp_allocator.calloc(count, each);
	note(block, count * each, HP_PATH_FRAME);
	return block;
}

HP_EXPORT void *calloc(size_t count, size_t each)
{
	struct hp_heap_local *me = hp_heap();

	return HP_LIKELY(me->gate == HP_GATE_PATHS) ? calloc_open(me, count, each)
						    : calloc_shut(count, each);
}

/* The gate is shut or unusual, or the block is not ours. */
static __attribute__((noinline)) void free_slow(void *block)
{
	if (hp_heap_is_off())
		;
	else if (!hp_heap()->gate)
		note_free_slow(block, (uintptr_t)__builtin_return_address(0),
			       (uintptr_t)__builtin_frame_address(0));
	else
		note_free_any(hp_heap(), block);
	if (!hp_allocator_is_pool(block) && !IS_EARLY(free))
		hp_allocator.free(block);
}

/* Rare cases: a peak, a block of another thread or of 2 GiB. */
static HP_COLD void free_rare(void *block)
{
	note_free_any(hp_heap(), block);
	hp_allocator.free(block);
}

/* The pending block, like note_temporary. False = a rare case: nothing was done. */
static inline __attribute__((always_inline)) bool is_temporary(struct hp_heap_local *me,
							       const void *block)
{
	struct hp_heap *heap = me->heap;
	struct hp_site *site = hp_heap_site(me, heap->pending);
	uint64_t size = heap->pending_bytes;
	/* It has a word, else it would not be pending. */
	struct hp_shadow_word *place = hp_shadow_known(block);

	if (HP_UNLIKELY(size >= HP_SHADOW_LARGE || !is_of_pending(heap, place)))
		return false;
	me->last = HP_NO_BLOCK;
	heap->pending_bytes = 0;
	heap->pending = 0;
	heap->temporary_bytes += size;
	site->temporary_bytes += size;
	word_store_both(place, 0);
	site->temporary++;
	return true;
}

/* Any other block of this thread, like note_free. False = as above. */
static inline __attribute__((always_inline)) bool is_usual(struct hp_heap_local *me,
							   struct hp_shadow_word *place,
							   struct hp_shadow_word word)
{
	struct hp_site *site = hp_heap_site(me, (uint64_t)word.site * HP_LINE);
	struct hp_heap *heap = me->heap;

	if (HP_UNLIKELY(word.size == HP_SHADOW_LARGE || site->heap != me->id))
		return false;
	look_at_peak(me, site);
	word_store(place, (struct hp_shadow_word){ 0, 0 });
	heap->live -= word.size;
	site->frees++;
	site->freed += word.size;
	return true;
}

/* The bytes held now may be a new peak, or much less than others know. */
static inline __attribute__((always_inline)) bool must_look(const struct hp_heap_local *me)
{
	const struct hp_heap *heap = me->heap;
	int64_t own = heap->live + (int64_t)heap->pending_bytes;

	return own > me->trigger || own < me->low;
}

/* The only call is the last one, so no register is saved. */
static inline __attribute__((always_inline)) void free_open(struct hp_heap_local *me, void *block)
{
	struct hp_shadow_word *place;
	struct hp_shadow_word word;

	if (block == me->last) {
		if (HP_UNLIKELY(!is_temporary(me, block))) {
			free_rare(block);
			return;
		}
	} else {
		place = hp_shadow_usual(block);
		word = HP_LIKELY(place != NULL) ? word_load(place)
						: (struct hp_shadow_word){ 0, 0 };
		if (HP_UNLIKELY(word.site == 0)) {
			free_slow(block);
			return;
		}
		if (HP_UNLIKELY(!is_usual(me, place, word))) {
			free_rare(block);
			return;
		}
	}
	hp_allocator.free(block);
}

static __attribute__((noinline)) void free_looking(void *block)
{
	hp_peak_look(hp_heap());
	free_open(hp_heap(), block);
}

HP_EXPORT void free(void *block)
{
	struct hp_heap_local *me = hp_heap();

	if (HP_UNLIKELY(me->gate < HP_GATE_PATHS)) {
		if (me->is_off && !hp_allocator_is_pool(block))
			hp_allocator.free(block);
		else
			free_slow(block);
		return;
	}
	if (HP_UNLIKELY(must_look(me)))
		free_looking(block);
	else
		free_open(me, block);
}

/* realloc may release the block's place before it returns: its word is taken first. */
struct taken {
	struct hp_shadow_word *place;
	struct hp_shadow_word word;
	struct hp_block_extra extra;	/* if the word has the mark */
};

static inline struct taken take(struct hp_heap_local *me, const void *block)
{
	struct taken taken = { .place = hp_shadow_leaves ? hp_shadow_find(block) : NULL };

	/* It will be freed or kept: either way it is no longer pending, nor temporary. */
	if (me && block == me->sampled)
		me->sampled = NULL;
	if (me && block == me->last)
		settle_now(me);
	if (!taken.place)
		return taken;
	taken.word = word_load(taken.place);
	if (taken.word.site) {
		if (taken.word.size == HP_SHADOW_LARGE)
			taken.extra = hp_block_extra_take((uintptr_t)block);
		word_store(taken.place, (struct hp_shadow_word){ 0, 0 });
	}
	return taken;
}

static void put_back(const struct taken *taken, const void *block)
{
	if (!taken->word.site)
		return;
	if (taken->word.size == HP_SHADOW_LARGE)
		hp_block_extra_put((uintptr_t)block, taken->extra);
	word_store(taken->place, taken->word);
}

/* `old` is gone, and became `block`; NULL = it was freed. */
static void note_moved(struct hp_heap_local *me, const struct taken *taken, void *old, void *block,
		       size_t size, const struct hp_path_frame *frame)
{
	struct hp_shadow_word word = taken->word;
	bool has_extra = word.size == HP_SHADOW_LARGE;
	struct hp_site *site;

	site = (struct hp_site *)((char *)hp_segment.header + (uint64_t)word.site * HP_LINE);
	if (me && word.site && HP_UNLIKELY(hp_tally_has_most))
		hp_charge_free(me);
	if (!word.site && me)
		note_strange(me, old);
	else if (word.site && me && has_extra)
		note_free_extra(me, site, old, taken->extra);
	else if (word.site && me)
		note_free_size(me, site, word.size);
	else if (word.site)
		free_far(site, has_extra ? taken->extra.size : word.size);
	if (block)
		note(block, size, *frame);
}

static HP_COLD void *move_out_of_pool(void *block, size_t size, const struct hp_path_frame *frame)
{
	size_t old = hp_allocator_pool_size(block);
	void *moved = IS_EARLY(malloc) ? early(size, 16) : hp_allocator.malloc(size);

	if (moved) {
		memcpy(moved, block, old < size ? old : size);
		if (!hp_allocator_is_pool(moved))
			note(moved, size, *frame);
	}
	return moved;
}

static __attribute__((noinline)) void *resize(void *block, size_t size,
					      const struct hp_path_frame *frame)
{
	struct hp_heap_local *me = hp_heap();
	struct taken taken;
	void *moved;

	if (HP_UNLIKELY(hp_allocator_is_pool(block)))
		return move_out_of_pool(block, size, frame);
	if (HP_UNLIKELY(!me->gate)) {
		me = hp_heap_enter_free();
		if (!me && hp_heap()->state == HP_THREAD_UNBORN && is_known(block))
			me = hp_heap_enter(frame->sp);
	}
	taken = take(me, block);
	moved = hp_allocator.realloc(block, size);
	if (moved || size == 0)
		note_moved(me, &taken, block, moved, size, frame);
	else
		put_back(&taken, block);
	return moved;
}

HP_EXPORT void *realloc(void *block, size_t size)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	void *made;

	if (IS_EARLY(realloc))
		return block ? move_out_of_pool(block, size, &frame) : early(size, 16);
	if (block)
		return resize(block, size, &frame);
	made = hp_allocator.realloc(NULL, size);
	note(made, size, frame);
	return made;
}

/*
 * The realloc that a program's calls find: not ours if the program defines its own (as bash does).
 * The C library's reallocarray calls that one, too. volatile: compilers take a function for the one
 * of this file.
 */
static void *(*const volatile first_realloc)(void *, size_t) = realloc;
extern void *hp_own_realloc(void *block, size_t size)
	__attribute__((alias("realloc"), visibility("hidden"), nothrow, leaf, alloc_size(2)));

HP_EXPORT void *reallocarray(void *block, size_t count, size_t each)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	size_t size;
	void *made;

	if (__builtin_mul_overflow(count, each, &size)) {
		errno = ENOMEM;
		return NULL;
	}
	if (IS_EARLY(realloc))
		return block ? move_out_of_pool(block, size, &frame) : early(size, 16);
	/* NULL = the loader has not processed this library yet. */
	if (HP_UNLIKELY(first_realloc != hp_own_realloc && first_realloc))
		return first_realloc(block, size);
	if (block)
		return resize(block, size, &frame);
	made = hp_allocator.realloc(NULL, size);
	note(made, size, frame);
	return made;
}

HP_EXPORT size_t malloc_usable_size(void *block)
{
	if (HP_UNLIKELY(hp_allocator_is_pool(block)))
		return hp_allocator_pool_size(block);
	if (IS_EARLY(malloc_usable_size))
		return 0;
	return hp_allocator.malloc_usable_size(block);
}

HP_EXPORT int posix_memalign(void **block, size_t align, size_t size)
{
	int error;

	if (IS_EARLY(posix_memalign)) {
		*block = hp_allocator_pool(size, align);
		return *block ? 0 : ENOMEM;
	}
	error = hp_allocator.posix_memalign(block, align, size);
	if (error == 0)
		note(*block, size, HP_PATH_FRAME);
	return error;
}

HP_EXPORT void *aligned_alloc(size_t align, size_t size)
{
	void *block;

	if (IS_EARLY(aligned_alloc))
		return early(size, align);
	block = hp_allocator.aligned_alloc(align, size);
	note(block, size, HP_PATH_FRAME);
	return block;
}

HP_EXPORT void *memalign(size_t align, size_t size)
{
	void *block;

	if (IS_EARLY(memalign))
		return early(size, align);
	block = hp_allocator.memalign(align, size);
	note(block, size, HP_PATH_FRAME);
	return block;
}

HP_EXPORT void *valloc(size_t size)
{
	void *block;

	if (IS_EARLY(valloc))
		return early(size, HP_PAGE);
	block = hp_allocator.valloc(size);
	note(block, size, HP_PATH_FRAME);
	return block;
}

HP_EXPORT void *pvalloc(size_t size)
{
	void *block;

	if (IS_EARLY(pvalloc))
		return early(size, HP_PAGE);
	block = hp_allocator.pvalloc(size);
	note(block, size, HP_PATH_FRAME);
	return block;
}

static inline void note_gone_any(const void *block, uintptr_t sp)
{
	struct hp_heap_local *me = hp_heap();

	if (HP_LIKELY(me->gate))
		note_free_any(me, block);
	else
		note_free_slow(block, 0, sp);	/* the loader calls none of these */
}

/* Three forms of free that not every C library has. */
static inline bool note_gone(void *block, uintptr_t sp)
{
	note_gone_any(block, sp);
	return !hp_allocator_is_pool(block) && !IS_EARLY(free);
}

HP_EXPORT void cfree(void *block)
{
	if (!note_gone(block, (uintptr_t)__builtin_frame_address(0)))
		return;
	hp_allocator_resolve_rare();
	if (hp_allocator.cfree)
		hp_allocator.cfree(block);
	else
		hp_allocator.free(block);
}

HP_EXPORT void free_sized(void *block, size_t size)
{
	if (!note_gone(block, (uintptr_t)__builtin_frame_address(0)))
		return;
	hp_allocator_resolve_rare();
	if (hp_allocator.free_sized)
		hp_allocator.free_sized(block, size);
	else
		hp_allocator.free(block);
}

HP_EXPORT void free_aligned_sized(void *block, size_t align, size_t size)
{
	if (!note_gone(block, (uintptr_t)__builtin_frame_address(0)))
		return;
	hp_allocator_resolve_rare();
	if (hp_allocator.free_aligned_sized)
		hp_allocator.free_aligned_sized(block, align, size);
	else
		hp_allocator.free(block);
}

/* --- for hook_operator.c --- */

void hp_alloc_note_since(const struct hp_alloc_mark *mark, void *block, size_t size,
			 const struct hp_path_frame *frame)
{
	const struct hp_heap_local *me = hp_heap();
	bool is_still = me == mark->heap && me->last == mark->last &&
			me->sampled == mark->sampled && me->countdown == mark->countdown;

	/* A word without a record: from a block whose free was not recorded. */
	if (is_still || !is_known(block))
		note(block, size, *frame);
}

const void *hp_alloc_note_delete(const void *block, uintptr_t sp)
{
	const void *before;

	note_gone_any(block, sp);
	before = hp_heap()->forgiven;
	hp_alloc_forgive(block);
	return before;
}

void hp_alloc_forgive(const void *block)
{
	/* Those without an owner are constant for all. */
	if (hp_heap()->heap)
		hp_heap()->forgiven = block;
}
