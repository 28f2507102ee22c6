/* SPDX-License-Identifier: MIT */
/*
 * direct.c - see direct.h.
 *
 * The path comes from the allocations' cache, and leads to a site of the same form
 * (segment/layout/heap.h, struct hp_maps). The owners of ranges are in one tree for the process
 * (range.h), with a lock: the kernel has one for these calls, too.
 *
 * A signal handler that interrupts its own thread inside the lock leaves its changes in `late`, for
 * the interrupted call to apply.  If a handler jumps out, or the thread is cancelled there, the
 * lock is never released: then the figures end (hp_maps.fault), and the program continues.
 */
#include "preload/heap/direct.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/heap/allocator.h"
#include "preload/heap/heap.h"
#include "preload/heap/path_site.h"
#include "preload/heap/range.h"
#include "preload/thread/module.h"
#include "preload/thread/state.h"
#include "segment/section_key.h"
#include "util/assert.h"

#define LATE 16	/* calls of signal handlers that interrupted one */
#define TRIES 1000	/* attempts to get the lock, before yielding to other threads */
#define WAITS 20000	/* naps of 0.1 ms: then the holder is dead */

struct call {
	uintptr_t begin;
	uintptr_t end;
	uint64_t number;
	struct hp_site *site;	/* NULL = it is gone */
	uint32_t kinds;
};

struct hp_direct {
	_Atomic uintptr_t owner;	/* the lock's holder: its thread's own address; 0 = nobody */
	uintptr_t owner_sp;	/* its stack pointer */
	_Atomic uint64_t numbers;	/* given so far */
	struct hp_ranges ranges;
	struct hp_maps *maps;
	_Atomic uint32_t late_count;
	struct call late[LATE];
};

bool hp_direct_is_wanted;
struct hp_module hp_direct_own;
static _Atomic uint64_t early;	/* calls before there was a record: of handlers, of ending threads */
static struct hp_module allocator_at;	/* the code of an allocator that is not the C library's */

static void configure(const struct hp_settings *settings, bool is_first)
{
	uintptr_t address;

	(void)is_first;
	if (!hp_heap_is_wanted)
		return;
	hp_direct_is_wanted = hp_settings_asks(settings, HP_KEY_DIRECT_MAPS) &&
			      hp_module_span((uintptr_t)configure, &hp_direct_own);
	memcpy(&address, &hp_allocator.malloc, sizeof(address));
	if (hp_heap_allocator() == HP_ALLOCATOR_OTHER)
		hp_module_span(address, &allocator_at);
}

/* --- the lock --- */

static uintptr_t self(void)
{
	return (uintptr_t)&hp_heap_pointer;
}

static void give_up(struct hp_direct *direct, uint32_t fault)
{
	if (!direct->maps->fault)
		direct->maps->fault = fault;
}

static bool is_tried(struct hp_direct *direct)
{
	uintptr_t nobody = 0;

	return atomic_compare_exchange_strong_explicit(&direct->owner, &nobody, self(),
						       memory_order_acquire, memory_order_relaxed);
}

/* False = this thread already has it, or it will never be released. */
static bool lock(struct hp_direct *direct)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	const struct timespec wait = { .tv_nsec = 100000 };

	if (direct->maps->fault)
		return false;
	for (int i = 0; !is_tried(direct); i++) {
		if (atomic_load_explicit(&direct->owner, memory_order_relaxed) == self()) {
			/* A handler runs further down the stack than the code it interrupted. */
			if (sp >= direct->owner_sp && sp - direct->owner_sp < HP_PAGE)
				give_up(direct, HP_MAPS_LEFT);
			return false;
		}
		if (i >= TRIES && !hp_is_confined())
			syscall(SYS_nanosleep, &wait, NULL);
		if (i >= TRIES + WAITS) {
			give_up(direct, HP_MAPS_LEFT);
			return false;
		}
	}
	direct->owner_sp = sp;
	return true;
}

static void unlock(struct hp_direct *direct)
{
	direct->owner_sp = 0;
	atomic_store_explicit(&direct->owner, 0, memory_order_release);
}

/* --- sites; with the lock --- */

static int64_t held(const struct hp_site *site)
{
	return (int64_t)(site->bytes - site->freed) - site->base;
}

/* It changes for the first time since the peak: its current bytes were held at the peak. */
static void note_peak(const struct hp_maps *maps, struct hp_site *site)
{
	if (atomic_load_explicit(&site->epoch, memory_order_relaxed) == maps->epoch)
		return;
	site->at_peak = held(site);
	atomic_store_explicit(&site->epoch, maps->epoch, memory_order_relaxed);
}

static void note_gone(void *context, struct hp_site *site, uint64_t bytes, bool is_whole,
		      bool is_split)
{
	struct hp_maps *maps = ((struct hp_direct *)context)->maps;
	int64_t live = maps->live - maps->folded_live;

	if (live > maps->peak) {
		maps->peak = live;
		maps->epoch++;
	}
	note_peak(maps, site);
	site->freed += bytes;
	site->frees += is_whole;
	site->splits += is_split;
	maps->live -= (int64_t)bytes;
}

static void note_made(struct hp_direct *direct, const struct call *call, uint64_t number)
{
	struct hp_maps *maps = direct->maps;
	uint64_t bytes = call->end - call->begin;

	note_peak(maps, call->site);
	call->site->allocs++;
	call->site->bytes += bytes;
	call->site->kinds |= call->kinds;
	maps->live += (int64_t)bytes;
	hp_ranges_add(&direct->ranges, call->begin, call->end, call->site, number);
}

static void apply(struct hp_direct *direct, const struct call *call)
{
	uint64_t number = call->number;

	if (!hp_ranges_prepare(&direct->ranges)) {
		give_up(direct, HP_MAPS_NO_MEMORY);
		return;
	}
	if (call->site)
		number = atomic_fetch_add_explicit(&direct->numbers, 1, memory_order_relaxed) + 1;
	hp_ranges_take(&direct->ranges, call->begin, call->end, number, note_gone, direct);
	if (call->site)
		note_made(direct, call, number);
}

/* A handler may add to it at any moment. */
static void apply_late(struct hp_direct *direct)
{
	uint32_t done = 0, count;

	do {
		count = atomic_load_explicit(&direct->late_count, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		for (; done < count; done++)
			apply(direct, &direct->late[done]);
	} while (!atomic_compare_exchange_strong_explicit(
		&direct->late_count, &count, 0, memory_order_relaxed, memory_order_relaxed));
}

/* This thread is interrupted inside the lock: nobody else writes `late`. */
static void leave_late(struct hp_direct *direct, const struct call *call)
{
	uint32_t count = atomic_load_explicit(&direct->late_count, memory_order_relaxed);

	if (direct->maps->fault || count == LATE) {
		give_up(direct, HP_MAPS_LEFT);
		atomic_fetch_add_explicit(&direct->maps->lost, 1, memory_order_relaxed);
		return;
	}
	HP_ASSERT(count < LATE);
	direct->late[count] = *call;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&direct->late_count, count + 1, memory_order_relaxed);
}

static void do_call(struct hp_direct *direct, const struct call *call)
{
	int saved = errno;

	if (!lock(direct)) {
		leave_late(direct, call);
		errno = saved;
		return;
	}
	apply(direct, call);
	/* A handler may run between its last check and the release of the lock. */
	do {
		apply_late(direct);
		unlock(direct);
	} while (atomic_load_explicit(&direct->late_count, memory_order_relaxed) &&
		 is_tried(direct));
	errno = saved;
}

/* --- records --- */

/* A site of direct maps; NULL = no room.  The gate is shut. */
static struct hp_site *site_new(struct hp_heap_local *me, uint32_t step, uint32_t epoch)
{
	struct hp_site *site = hp_heap_take(me, sizeof(*site));

	if (!site)
		return NULL;
	site->heap = me->id;
	site->step = step;
	site->epoch = epoch;
	site->next = atomic_load_explicit(&me->heap->map_sites, memory_order_relaxed);
	/* Release: a thread that finds the site finds it filled. */
	atomic_store_explicit(&me->heap->map_sites, (uint64_t)((char *)site - me->base),
			      memory_order_release);
	return site;
}

/* The one beside `path`, which is this thread's; NULL = no room.  The gate is shut. */
static struct hp_site *site_beside(struct hp_heap_local *me, struct hp_site *path, uint32_t epoch)
{
	struct hp_site *site;

	if (path->map_site)
		return hp_heap_site(me, (uint64_t)path->map_site * HP_LINE);
	site = site_new(me, path->step, epoch);
	if (site)
		path->map_site = (uint32_t)((uint64_t)((char *)site - me->base) / HP_LINE);
	return site;
}

/* The record of this process, which an earlier process may have left. */
static struct hp_maps *maps_find(const struct hp_process *process)
{
	const struct hp_heap *heap;

	for (uint64_t at = atomic_load_explicit(&process->heaps, memory_order_acquire); at;
	     at = heap->next) {
		heap = (const struct hp_heap *)((const char *)hp_segment.header + at);
		if (heap->maps)
			return (struct hp_maps *)((char *)hp_segment.header + heap->maps);
	}
	return NULL;
}

static struct hp_maps *maps_get(struct hp_heap_local *me)
{
	struct hp_maps *maps = maps_find(hp_self->process);
	struct hp_site *path = hp_heap_site(me, me->heap->other);
	struct hp_site *other, *inner;

	if (maps)
		return maps;
	maps = hp_heap_take(me, sizeof(*maps));
	other = maps ? site_beside(me, path, 0) : NULL;
	inner = other ? site_new(me, path->step, 0) : NULL;
	if (!inner)
		return NULL;
	maps->other = (uint64_t)((char *)other - me->base);
	maps->inner = (uint64_t)((char *)inner - me->base);
	return maps;
}

/* If two threads are first, one creates it, and the other's is lost. */
static struct hp_direct *direct_new(struct hp_heap_local *me)
{
	struct hp_direct *direct = hp_part_wiped(sizeof(*direct)), *none = NULL;
	struct hp_maps *maps = direct ? maps_get(me) : NULL;

	static_assert(sizeof(*direct) <= HP_PAGE, "one wiped page");
	if (!maps)
		return NULL;
	direct->maps = maps;
	if (!atomic_compare_exchange_strong_explicit(&hp_self->direct, &none, direct,
						     memory_order_acq_rel, memory_order_acquire))
		return none;
	atomic_fetch_add_explicit(&maps->lost,
				  atomic_exchange_explicit(&early, 0, memory_order_relaxed),
				  memory_order_relaxed);
	return direct;
}

static struct hp_direct *direct_of_process(void)
{
	return hp_self ? atomic_load_explicit(&hp_self->direct, memory_order_acquire) : NULL;
}

static bool is_inner(uintptr_t pc)
{
	return pc >= allocator_at.begin && pc < allocator_at.end;
}

/* The site of this call; NULL = it is not known. */
static struct hp_site *path_of(struct hp_heap_local *me, const struct hp_path_frame *frame)
{
	struct hp_site *path = me->gate	   ? hp_path_site(me, *frame)
			       : me->proof ? hp_path_prove(me, frame)
					   : hp_path_site(me, *frame);
	struct hp_direct *direct;
	struct hp_site *site = NULL;
	int saved = errno;

	hp_heap_shut(me, frame->sp);
	direct = direct_of_process();
	if (!direct)
		direct = direct_new(me);
	if (direct && !me->heap->maps)
		me->heap->maps = (uint64_t)((char *)direct->maps - me->base);
	if (direct)
		site = site_beside(me, path, direct->maps->epoch);
	hp_heap_reopen(me);
	errno = saved;
	return site;
}

void hp_direct_made(uintptr_t begin, uintptr_t end, uint32_t kinds,
		    const struct hp_path_frame *frame)
{
	struct call call = { .begin = begin, .end = end, .kinds = kinds };
	struct hp_heap_local *me = hp_heap();
	struct hp_direct *direct;

	if (is_inner(frame->pc))
		call.kinds |= HP_MAP_INNER;
	/* An allocator may hold its own locks while it maps: a thread is not opened then. */
	if (!me->gate)
		me = me->state == HP_THREAD_UNBORN && (call.kinds & HP_MAP_INNER)
			     ? NULL
			     : hp_heap_enter(frame->sp);
	if (me)
		call.site = path_of(me, frame);
	direct = direct_of_process();
	if (!direct) {
		if (!(call.kinds & HP_MAP_INNER))
			atomic_fetch_add_explicit(&early, 1, memory_order_relaxed);
		return;
	}
	if (!call.site)
		call.site = (struct hp_site *)((char *)hp_segment.header +
					       (call.kinds & HP_MAP_INNER ? direct->maps->inner
									  : direct->maps->other));
	do_call(direct, &call);
}

uint64_t hp_direct_number(void)
{
	struct hp_direct *direct = direct_of_process();

	return direct ? atomic_fetch_add_explicit(&direct->numbers, 1, memory_order_relaxed) + 1
		      : 0;
}

void hp_direct_gone(uintptr_t begin, uintptr_t end, uint64_t number)
{
	struct hp_direct *direct = direct_of_process();
	const struct call call = { .begin = begin, .end = end, .number = number };

	if (direct && number)
		do_call(direct, &call);
}

/* --- a process record that is taken over --- */

static void fold_site(struct hp_site *site, const struct hp_maps *maps, bool is_peak_now)
{
	int64_t now = held(site);
	bool is_noted = !is_peak_now && atomic_load(&site->epoch) == maps->epoch;

	site->folded_peak += is_noted ? site->at_peak : now;
	site->base += now;
	site->at_peak = 0;
	atomic_store_explicit(&site->epoch, maps->epoch, memory_order_relaxed);
}

static void fold(struct hp_process *process)
{
	struct hp_maps *maps = maps_find(process);
	const struct hp_heap *heap;
	struct hp_site *site;
	bool is_peak_now;

	if (!maps)
		return;
	is_peak_now = maps->live - maps->folded_live > maps->peak;
	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (const struct hp_heap *)((const char *)hp_segment.header + at);
		for (uint64_t s = atomic_load(&heap->map_sites); s; s = site->next) {
			site = (struct hp_site *)((char *)hp_segment.header + s);
			fold_site(site, maps, is_peak_now);
		}
	}
	maps->folded_peak += is_peak_now ? maps->live - maps->folded_live : maps->peak;
	maps->folded_live = maps->live;
	maps->peak = 0;
}

const struct hp_recorder hp_direct_recorder = { .configure = configure, .fold = fold };
