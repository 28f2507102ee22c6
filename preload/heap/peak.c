/* SPDX-License-Identifier: MIT */
/*
 * peak.c - see peak.h.
 *
 * A process's live bytes are the sum over its threads' heaps; each thread knows
 * its own part exactly and reads the others' now and then.  With one thread the
 * peak is exact.  With several threads, the others' allocations in between may
 * hide it: each checks again when it has grown by 1/1024 of the peak (at least
 * 4 KiB).
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

#define HP_PEAK_PART 1024	/* threads check again after growing by the peak / this */
#define HP_PEAK_MIN 4096	/* bytes */

static int64_t site_held(const struct hp_site *site)
{
	return (int64_t)(site->bytes - site->freed -
			 atomic_load_explicit(&site->far_freed, memory_order_relaxed)) -
	       site->base;
}

/* A killed thread's pending block remains: it counts like any other. */
void hp_peak_settle(struct hp_heap *heap)
{
	struct hp_site *site = (struct hp_site *)((char *)hp_segment.header + heap->pending);

	if (!heap->pending)
		return;
	site->allocs++;
	site->bytes += heap->pending_bytes;
	heap->bytes += heap->pending_bytes;
	heap->live += (int64_t)heap->pending_bytes;
	heap->pending = 0;
	heap->pending_bytes = 0;
}

/* --- peaks --- */

int64_t hp_peak_live(const struct hp_process *process)
{
	const struct hp_heap *heap;
	int64_t live = 0;

	for (uint64_t at = atomic_load_explicit(&process->heaps, memory_order_acquire); at;
	     at = heap->next) {
		heap = (const struct hp_heap *)((char *)hp_segment.header + at);
		live += *(const volatile int64_t *)&heap->live +
			(int64_t) * (const volatile uint64_t *)&heap->pending_bytes -
			heap->folded_live;
	}
	return live;
}

bool hp_peak_is_alone(const struct hp_heap_local *me)
{
	return atomic_load_explicit(&hp_self->heaps, memory_order_relaxed) == me && !me->next;
}

/* The pending block is in no site yet, but is part of the peak. */
static void note_pending(struct hp_heap_local *me, uint32_t epoch)
{
	struct hp_heap *heap = me->heap;
	struct hp_site *site;

	if (!heap->pending)
		return;
	site = hp_heap_site(me, heap->pending);
	site->at_peak = site_held(site) + (int64_t)heap->pending_bytes;
	atomic_store_explicit(&site->epoch, epoch, memory_order_relaxed);
}

HP_COLD void hp_peak_look(struct hp_heap_local *me)
{
	struct hp_process *process = hp_self->process;
	int64_t own = me->heap->live + (int64_t)me->heap->pending_bytes;
	int64_t peak = atomic_load_explicit(&process->heap_peak, memory_order_relaxed);
	int64_t part = peak / HP_PEAK_PART > HP_PEAK_MIN ? peak / HP_PEAK_PART : HP_PEAK_MIN;
	int64_t live;

	if (HP_LIKELY(hp_peak_is_alone(me))) {
		uint32_t epoch = atomic_load_explicit(me->epoch, memory_order_relaxed) + 1;

		live = own - me->heap->folded_live;
		if (live > peak) {
			atomic_store_explicit(&process->heap_peak, live, memory_order_relaxed);
			atomic_store_explicit(me->epoch, epoch, memory_order_relaxed);
			note_pending(me, epoch);
		}
		me->trigger = own > me->trigger ? own : me->trigger;
		return;
	}
	live = hp_peak_live(process);
	while (live > peak)
		if (atomic_compare_exchange_weak_explicit(&process->heap_peak, &peak, live,
							  memory_order_relaxed,
							  memory_order_relaxed)) {
			uint32_t epoch =
				atomic_fetch_add_explicit(me->epoch, 1, memory_order_relaxed) + 1;

			note_pending(me, epoch);
			break;
		}
	me->trigger = own + part;
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
	hp_peak_settle(me->heap);
	me->last = HP_NO_BLOCK;
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
		hp_peak_settle(heap);
	}
	epoch = atomic_load(&process->heap_epoch) + settle_peak(process);
	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		for (uint64_t s = atomic_load(&heap->sites); s; s = site->next) {
			site = (struct hp_site *)((char *)hp_segment.header + s);
			fold_site(site, epoch);
		}
		heap->folded_live = heap->live;
	}
	process->folded_heap_peak += atomic_load(&process->heap_peak);
	atomic_store(&process->heap_peak, 0);
	atomic_store(&process->heap_epoch, epoch);
}
