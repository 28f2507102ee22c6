/* SPDX-License-Identifier: MIT */
/*
 * peak.c - see peak.h.
 *
 * A process's live bytes are the sum over its threads' heaps. With one thread the
 * peak is exact. With several, each adds to a common sum what its own part has
 * changed by, up or down, when that is a step or more: 1/256 of the peak divided
 * by the threads, at least 4 KiB. If the sum is above the peak, all parts are
 * read, and their exact sum is the new peak. So the true peak is higher by at most
 * a step for each thread. (A thread that only looked when it was higher than ever
 * before missed a peak to which another had grown meanwhile.)
 *
 * Recording each path's bytes at the peak then costs nothing: the peak gets a
 * number (hp_process.heap_epoch), and the first thread to change a site
 * afterwards records the site's bytes (hp_site.at_peak).
 */
#include "preload/heap/peak.h"

#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/heap/block_extra.h"
#include "preload/heap/shadow.h"

#define HP_STEP_PART 256	/* of the peak: all threads' steps together */
#define HP_STEP_MIN 4096	/* bytes */
#define HP_SITES_AHEAD 8	/* prefetched while others are folded */
#define HP_TRIES 1024	/* per look, to read the other threads' records: some microseconds in all */

static int64_t site_held(const struct hp_site *site)
{
	return (int64_t)(site->bytes - site->freed -
			 atomic_load_explicit(&site->far_freed, memory_order_relaxed)) -
	       site->base;
}

/*
 * A killed thread's pending block remains: it counts like any other. If its site has not noted the
 * last peak, the block is newer than that.
 */
void hp_peak_settle(struct hp_heap *heap, const struct hp_process *process)
{
	struct hp_site *site = (struct hp_site *)((char *)hp_segment.header + heap->pending);
	uint32_t epoch = atomic_load(&process->heap_epoch);

	if (!heap->pending)
		return;
	if (atomic_exchange(&site->epoch, epoch) != epoch)
		site->at_peak = site_held(site);
	site->allocs++;
	site->bytes += heap->pending_bytes;
	heap->bytes += heap->pending_bytes;
	heap->live += (int64_t)heap->pending_bytes;
	heap->pending = 0;
	heap->pending_bytes = 0;
}

/* --- what another thread holds --- */

/* A consistent copy of the record, although its thread keeps writing. */
struct view {
	uint64_t pending;	/* its site; 0 = there is none */
	uint64_t pending_bytes;
	int64_t live;	/* bytes, without the pending block */
	int64_t held;	/* by that site, without the pending block */
};

static struct view view_of(const struct hp_heap_local *other)
{
	const volatile struct hp_heap *heap = other->heap;
	struct view view = { .pending = heap->pending, .pending_bytes = heap->pending_bytes };

	view.live = heap->live - heap->folded_live;
	if (view.pending)
		view.held = site_held(hp_heap_site(other, view.pending));
	return view;
}

/* The record is about the block that the thread names: it is not between two blocks. */
static bool is_settled(const void *last, const struct view *view)
{
	const struct hp_shadow_word *place;
	uint64_t size = view->pending_bytes;

	if (last == HP_NO_BLOCK)
		return !view->pending;
	place = hp_shadow_find(last);
	return place &&
	       __atomic_load_n(&place->site, __ATOMIC_RELAXED) == view->pending / HP_LINE &&
	       __atomic_load_n(&place->size, __ATOMIC_RELAXED) ==
		       (size < HP_SHADOW_LARGE ? size : HP_SHADOW_LARGE);
}

static uint64_t blocks_gone(const struct hp_heap_local *other)
{
	const volatile struct hp_heap *heap = other->heap;

	return heap->bytes + heap->temporary_bytes;
}

/*
 * A thread names its next block, adds the pending one to its site, records the next one as pending,
 * and then writes that one's word (hook_alloc.c, announce). While name and word disagree, the pending
 * block may be in its site already. That lasts nanoseconds, so everything is read again, at most
 * `*tries` times in all. They also disagree for as long as another thread has freed the pending
 * block; then the record is right.
 */
static struct view look_at(const struct hp_heap_local *other, uint32_t *tries)
{
	const void *last;
	struct view view;
	uint64_t gone;
	bool is_sure;

	if (other == hp_heap())
		return view_of(other);
	do {
		last = __atomic_load_n(&other->last, __ATOMIC_ACQUIRE);
		gone = blocks_gone(other);
		atomic_thread_fence(memory_order_acquire);
		view = view_of(other);
		atomic_thread_fence(memory_order_acquire);
		is_sure = is_settled(last, &view) && blocks_gone(other) == gone &&
			  __atomic_load_n(&other->last, __ATOMIC_RELAXED) == last;
	} while (!is_sure && *tries && --*tries);
	if (!is_sure && last == HP_NO_BLOCK)
		view.pending = view.pending_bytes = 0;
	return view;
}

/* --- peaks --- */

/* Heaps without a user are folded, and hold nothing. */
int64_t hp_peak_live(void)
{
	const struct hp_heap_local *other;
	uint32_t tries = HP_TRIES;
	int64_t live = 0;

	other = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);
	for (; other; other = other->next) {
		struct view view = look_at(other, &tries);

		live += view.live + (int64_t)view.pending_bytes;
	}
	return live;
}

/* The pending block is in no site yet, but is part of the peak. */
static inline void note_pending(struct hp_heap_local *me, uint32_t epoch)
{
	struct hp_heap *heap = me->heap;
	struct hp_site *site;

	if (!heap->pending)
		return;
	site = hp_heap_site(me, heap->pending);
	site->at_peak = site_held(site) + (int64_t)heap->pending_bytes;
	atomic_store_explicit(&site->epoch, epoch, memory_order_relaxed);
}

/* The same for another thread, unless that has just noted the peak in its site itself. */
static void note_other(struct hp_heap_local *other, uint32_t epoch, uint32_t *tries)
{
	struct view view = look_at(other, tries);
	struct hp_site *site = hp_heap_site(other, view.pending);
	uint32_t before;

	if (!view.pending)
		return;
	before = atomic_load_explicit(&site->epoch, memory_order_relaxed);
	if (before != epoch &&
	    atomic_compare_exchange_strong_explicit(&site->epoch, &before, epoch,
						    memory_order_relaxed, memory_order_relaxed))
		site->at_peak = view.held + (int64_t)view.pending_bytes;
}

/* The highest so far. True = it was lower. */
static bool raise_peak(struct hp_process *process, int64_t live)
{
	int64_t peak = atomic_load_explicit(&process->heap_peak, memory_order_relaxed);

	while (live > peak)
		if (atomic_compare_exchange_weak_explicit(&process->heap_peak, &peak, live,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

static inline __attribute__((always_inline)) void look_alone(struct hp_heap_local *me)
{
	struct hp_process *process = hp_self->process;
	int64_t own = me->heap->live + (int64_t)me->heap->pending_bytes;
	int64_t live = own - me->heap->folded_live;
	uint32_t epoch = atomic_load_explicit(me->epoch, memory_order_relaxed) + 1;

	if (live > atomic_load_explicit(&process->heap_peak, memory_order_relaxed)) {
		atomic_store_explicit(&process->heap_peak, live, memory_order_relaxed);
		atomic_store_explicit(me->epoch, epoch, memory_order_relaxed);
		note_pending(me, epoch);
	}
	me->trigger = own > me->trigger ? own : me->trigger;
}

/* What the others have allocated between the sum and the peak's number is in their sites. */
static void look_at_all(struct hp_heap_local *me)
{
	struct hp_process *process = hp_self->process;
	struct hp_heap_local *other;
	uint32_t epoch, tries = HP_TRIES;

	if (!raise_peak(process, hp_peak_live()))
		return;
	epoch = atomic_fetch_add_explicit(me->epoch, 1, memory_order_relaxed) + 1;
	note_pending(me, epoch);
	other = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);
	for (; other; other = other->next)
		if (other != me)
			note_other(other, epoch, &tries);
	raise_peak(process, hp_peak_live());
}

/*
 * The thread's part of the sum is what it holds now. Any thread: an exchange, since a handler that
 * allocates may do the same in between.
 */
static int64_t add(struct hp_heap_local *other)
{
	uint32_t tries = HP_TRIES;
	struct view view = look_at(other, &tries);
	int64_t own = view.live + (int64_t)view.pending_bytes;
	int64_t change = own - atomic_exchange_explicit(&other->added, own, memory_order_relaxed);

	return atomic_fetch_add_explicit(&hp_self->heap_sum, change, memory_order_relaxed) + change;
}

static HP_COLD void look_among_others(struct hp_heap_local *me)
{
	int64_t peak, step, own;

	peak = atomic_load_explicit(&hp_self->process->heap_peak, memory_order_relaxed);
	if (add(me) > peak)
		look_at_all(me);
	step = peak / HP_STEP_PART /
	       (atomic_load_explicit(&hp_self->heap_count, memory_order_relaxed) + 1);
	step = step > HP_STEP_MIN ? step : HP_STEP_MIN;
	own = me->heap->live + (int64_t)me->heap->pending_bytes;
	me->trigger = INT64_MAX;
	me->high = own + step;
	me->low = own - step;
}

/* Not cold: while a program grows, peaks are frequent. */
void hp_peak_look(struct hp_heap_local *me)
{
	if (HP_LIKELY(hp_peak_is_alone(me)))
		look_alone(me);
	else
		look_among_others(me);
}

/* While it was alone, its thread added nothing; from its next block on it does. */
void hp_peak_join(struct hp_heap_local *me)
{
	struct hp_heap_local *other = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);

	if (hp_peak_is_alone(me)) {
		me->high = INT64_MAX;
		me->low = INT64_MIN;
		me->trigger =
			me->heap->live + atomic_load(&hp_self->process->heap_peak) - hp_peak_live();
		return;
	}
	for (; other; other = other->next)
		if (other != me && __atomic_load_n(&other->high, __ATOMIC_RELAXED) == INT64_MAX) {
			add(other);
			__atomic_store_n(&other->high, INT64_MIN, __ATOMIC_RELAXED);
			__atomic_store_n(&other->low, INT64_MAX, __ATOMIC_RELAXED);
		}
	hp_peak_look(me);
}

/* --- a process that drops privileges --- */

/* Its entry has the block's own address, a multiple of 16 somewhere in the grain. */
static uint64_t extra_size(uintptr_t grain)
{
	uintptr_t end = grain + ((uintptr_t)1 << hp_shadow_grain);
	struct hp_block_extra extra;

	for (uintptr_t at = grain; at < end; at += 16)
		if (hp_block_extra_look(at, &extra))
			return hp_block_extra_take(at).size;
	return HP_SHADOW_LARGE;
}

/* As if another thread had freed it: its own thread may be about to add to the site. */
static void leave_block(void *context, uintptr_t address, struct hp_shadow_word word)
{
	const struct hp_process *process = hp_self->process;
	struct hp_heap_local *me = context;
	struct hp_site *site =
		hp_segment_at(&hp_segment, (uint64_t)word.site * HP_LINE, sizeof(*site));
	uint64_t size = word.size == HP_SHADOW_LARGE ? extra_size(address) : (uint64_t)word.size;
	uint32_t epoch = atomic_load(&process->heap_epoch);

	if (!site)
		return;
	if (atomic_exchange(&site->epoch, epoch) != epoch)
		site->at_peak = site_held(site);
	atomic_fetch_add_explicit(&site->far_frees, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&site->far_freed, size, memory_order_relaxed);
	me->heap->left++;
	me->heap->left_bytes += size;
}

void hp_peak_drop(struct hp_heap_local *me)
{
	me->last = HP_NO_BLOCK;
	hp_peak_settle(me->heap, hp_self->process);
	hp_peak_look(me);
	hp_shadow_each(leave_block, me);
}

/* --- records that ended processes left --- */

static void fold_site(struct hp_site *site, uint32_t epoch)
{
	int64_t held = site_held(site);

	site->folded_peak += atomic_load(&site->epoch) == epoch ? site->at_peak : held;
	site->base += held;
	site->at_peak = 0;
	atomic_store_explicit(&site->epoch, epoch, memory_order_relaxed);
}

/* Most sites lie behind the next older one, so their place is known before the list leads there. */
static void prefetch_older(uint64_t site)
{
	const char *at =
		(const char *)hp_segment.header + site - HP_SITES_AHEAD * sizeof(struct hp_site);

	__builtin_prefetch(at, 1);
	__builtin_prefetch(at + HP_LINE, 1);
}

/* A process that never freed anything after its highest point has its peak at its end. */
static bool settle_peak(struct hp_process *process)
{
	int64_t live = 0;
	const struct hp_heap *heap;

	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (const struct hp_heap *)((char *)hp_segment.header + at);
		live += heap->live - heap->folded_live;
	}
	if (live <= atomic_load(&process->heap_peak))
		return false;
	atomic_store(&process->heap_peak, live);
	return true;
}

void hp_peak_fold(struct hp_process *process)
{
	struct hp_heap *heap;
	struct hp_site *site;
	uint32_t epoch;

	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		hp_peak_settle(heap, process);
	}
	epoch = atomic_load(&process->heap_epoch) + settle_peak(process);
	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		for (uint64_t s = atomic_load(&heap->sites); s; s = site->next) {
			site = (struct hp_site *)((char *)hp_segment.header + s);
			prefetch_older(s);
			fold_site(site, epoch);
		}
		heap->folded_live = heap->live;
	}
	process->folded_heap_peak += atomic_load(&process->heap_peak);
	atomic_store(&process->heap_peak, 0);
	atomic_store(&process->heap_epoch, epoch);
}
