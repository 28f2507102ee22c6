/* SPDX-License-Identifier: MIT */
/*
 * life.c - a thread's life with the allocation stand-ins.
 */
#include "preload/guest/tid.h"
#include "preload/heap/heap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "preload/call/tally.h"
#include "preload/guest/above.h"
#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/record.h"
#include "preload/guest/say.h"
#include "preload/guest/self.h"
#include "preload/guest/free_list.h"
#include "preload/guest/ticks.h"
#include "preload/heap/allocator.h"
#include "preload/heap/block_extra.h"
#include "preload/heap/sampled.h"
#include "preload/heap/leak.h"
#include "preload/heap/path.h"
#include "preload/heap/peak.h"
#include "preload/heap/shadow.h"
#include "preload/thread/level.h"
#include "preload/thread/end.h"
#include "preload/thread/module.h"
#include "preload/thread/process.h"
#include "preload/thread/state.h"
#include "segment/section_key.h"
#include "util/count.h"

/* After the thread's last destructor: frees are still counted. */
HP_BULKY_DATA static struct hp_heap_local ending = { .state = HP_THREAD_CLOSED,
						     .last = HP_NO_BLOCK };
/* The thread may not read the clock: the same. */
HP_BULKY_DATA static struct hp_heap_local silent = { .state = HP_THREAD_CLOSED,
						     .last = HP_NO_BLOCK };

static uint32_t depth_most;
static uint32_t walk_mode;
static bool has_charges;	/* calls of functions are charged for their allocations */
static uint32_t allocator;	/* enum hp_allocator_kind */
static const char *allocator_file;
static int end_number = -1;	/* of preload/thread/end.h */

static void thread_end(void *data);

static_assert(sizeof(struct hp_heap_local) <= HP_PAGE, "one wiped page each");

uint32_t hp_heap_allocator(void)
{
	return allocator;
}

static bool is_unseen(uint32_t kind)
{
	return kind == HP_ALLOCATOR_INSIDE || kind == HP_ALLOCATOR_BEFORE;
}

static bool is_same_file(uint64_t offset)
{
	const struct hp_text *text = hp_segment_at(&hp_segment, offset, sizeof(*text));
	size_t length = allocator_file ? strlen(allocator_file) : 0;

	return text && text->length == length &&
	       hp_segment_at(&hp_segment, offset, sizeof(*text) + length) &&
	       memcmp(text->bytes, allocator_file, length) == 0;
}

/* The record may be that of an ended process whose blocks were not seen: that stays known. */
static void note_allocator(void)
{
	struct hp_process *process;
	uint32_t before, kind;

	if (!hp_self_open())
		return;
	process = hp_self->process;
	before = process->allocator;
	kind = before & ~HP_ALLOCATOR_EARLIER;
	if (kind == allocator && (!is_unseen(kind) || is_same_file(process->allocator_file)))
		return;
	process->allocator_file =
		allocator_file ? hp_text_new(allocator_file, strlen(allocator_file)) : 0;
	process->allocator = allocator | (is_unseen(kind) ? HP_ALLOCATOR_EARLIER
							  : before & HP_ALLOCATOR_EARLIER);
}

/*
 * For a section that `auto` does not show: recorded with the others, and on its own
 * if requested.
 */
static bool is_asked_apart(const struct hp_settings *settings, const char *section)
{
	return hp_settings_names(settings, section) ||
	       (hp_settings_names(settings, "all") && hp_settings_asks(settings, section));
}

static bool is_asked(const struct hp_settings *settings)
{
	return hp_settings_asks(settings, HP_KEY_ALLOC_SITES) ||
	       hp_settings_asks(settings, HP_KEY_FUNCTIONS_ALLOC) ||
	       hp_settings_asks(settings, HP_KEY_DIRECT_MAPS) ||
	       hp_settings_names(settings, HP_KEY_BOUND) ||
	       is_asked_apart(settings, HP_KEY_ALLOC_CALLERS) ||
	       is_asked_apart(settings, HP_KEY_LEAKS) ||
	       is_asked_apart(settings, HP_KEY_ALLOC_SIZES) ||
	       is_asked_apart(settings, HP_KEY_ALLOC_LIVES) ||
	       /* Call paths come only from our cache. */
	       hp_settings_names(settings, HP_KEY_WAITS) ||
	       hp_settings_names(settings, HP_KEY_POOLS) ||
	       hp_settings_names(settings, HP_KEY_THREAD_STATES);
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	hp_heap_is_wanted = is_asked(settings);
	depth_most = (uint32_t)settings->alloc_depth;
	walk_mode = settings->unwind;
	hp_heap_proves = settings->alloc_prove;
	has_charges = hp_settings_asks(settings, HP_KEY_FUNCTIONS_ALLOC);
	hp_tally_has_most = has_charges && (settings->alloc_metric == HP_ALLOC_BYTES_MAX ||
					    settings->alloc_metric == HP_ALLOC_COUNT_MAX);
	if (!hp_heap_is_wanted)
		return;
	hp_path_begin();
	allocator = hp_allocator_kind(&allocator_file);
	/* Nobody will request a block from us, so it is recorded here. */
	if (is_unseen(allocator))
		note_allocator();
	if (!hp_shadow_init(allocator == HP_ALLOCATOR_GLIBC)) {
		hp_heap_is_wanted = false;
		hp_say("allocations are not recorded: less than 1 GiB of addresses (ulimit -v, -d)",
		       NULL);
		return;
	}
	hp_segment_recorded(&hp_segment, HP_RECORDED_ALLOCATIONS);
	hp_leak_configure(settings, allocator == HP_ALLOCATOR_GLIBC);
	end_number = hp_end_new(thread_end);
}

/* --- records --- */

static struct hp_records records(void)
{
	return (struct hp_records)HP_RECORDS(&hp_self->ended_heaps, &hp_self->heaps, struct hp_heap,
					     struct hp_heap_local, heap);
}

HP_RECORD_CHECK(struct hp_heap);

/* --- opening and closing --- */

static bool local_init(struct hp_heap_local *me, struct hp_heap *heap, uintptr_t sp)
{
	me->heap = heap;
	me->base = (char *)hp_segment.header;
	me->id = (uint32_t)((uint64_t)((char *)heap - me->base) / HP_LINE);
	me->epoch = &hp_self->process->heap_epoch;
	me->depth_most = depth_most ? depth_most : 1;
	me->walker.mode = walk_mode;
	me->state = HP_THREAD_BUSY;
	hp_sampled_init(me);
	if (!depth_most)
		me->flat = hp_pages(sizeof(*me->flat) << HP_PATH_FLAT_BITS);
	me->gate_open = hp_shadow_grain != HP_SHADOW_USUAL ? HP_GATE_ANY
			: me->flat			   ? HP_GATE_FLAT
							   : HP_GATE_PATHS;
	return (depth_most || me->flat) && hp_path_init(me, sp);
}

static struct hp_heap_local *local_get(uintptr_t sp)
{
	const struct hp_records kind = records();
	void *user;
	struct hp_heap *heap = hp_record_get(&kind, &hp_self->process->heaps, &user);
	struct hp_heap_local *me = user;

	if (!heap)
		return NULL;
	if (me) {
		hp_path_set_stack(me, sp);
		return me;
	}
	me = hp_part_wiped(sizeof(*me));
	if (me && local_init(me, heap, sp)) {
		hp_record_add(&kind, me);
		atomic_fetch_add_explicit(&hp_self->heap_count, 1, memory_order_relaxed);
		return me;
	}
	/* Its table entries are lost, and the thread records nothing. */
	hp_record_give(&kind, heap, NULL);
	return NULL;
}

static void identify(struct hp_heap_local *me)
{
	struct hp_heap *heap = me->heap;

	hp_peak_settle(heap, hp_self->process);
	me->drops = __atomic_load_n(&hp_drops, __ATOMIC_RELAXED);
	heap->tid = hp_tid();
	heap->pid = hp_self->pid;
	hp_count_up(&heap->threads);
	heap->first_bytes = heap->bytes + heap->temporary_bytes;
	heap->first_live = heap->live;
	me->last = HP_NO_BLOCK;
	me->end_rounds = 0;
	hp_peak_join(me);
}

static bool is_large_segment(void)
{
	return hp_segment.size / HP_LINE > UINT32_MAX;
}

static void bind(struct hp_local *calls)
{
	struct hp_heap_local *me = hp_heap();

	/* One that is shared by all, or being opened, belongs to no thread. */
	if (has_charges && me->heap)
		me->calls = calls;
}

/* An own heap takes three pages; in a crowd of threads that only wait, one serves many. */
uint32_t hp_heap_borrowed_step(const struct hp_path_frame *frame)
{
	const struct hp_records kind = records();
	struct hp_heap_local *me;
	int saved = errno;
	uint32_t step;

	if (hp_heap()->state != HP_THREAD_UNBORN || hp_ticks_are_forbidden() ||
	    hp_start_is_early() || !hp_start() || !hp_heap_is_wanted || is_large_segment() ||
	    !hp_self_open() || !(me = local_get(frame->sp)))
		return 0;
	me->heap->pid = hp_self->pid;
	me->last = HP_NO_BLOCK;
	if (atomic_exchange_explicit(&me->is_stale, 0, memory_order_acquire))
		hp_path_forget(me);
	step = hp_path_miss(me, frame->pc, frame->sp, frame->fp)->step;
	hp_heap_shut(me, 0);
	hp_record_give(&kind, me->heap, me);
	errno = saved;
	return step;
}

/* The first allocation of a thread, or of a forked child. */
static struct hp_heap_local *open_heap(uintptr_t sp)
{
	struct hp_heap_local *me = NULL;
	int saved = errno;

	if (hp_ticks_are_forbidden()) {
		hp_heap_set(&silent);
		return NULL;
	}
	hp_heap_set(&hp_heap_opening);
	hp_allocator_resolve();
	if (!hp_start_is_early() && hp_start() && hp_heap_is_wanted && !is_large_segment()) {
		if (hp_self_open()) {
			note_allocator();
			me = local_get(sp);
		}
		if (!me)
			atomic_fetch_add_explicit(&hp_segment.header->lost_threads, 1,
						  memory_order_relaxed);
	} else if (hp_start_is_early() || hp_start_is_running()) {
		hp_heap_set(&hp_heap_unborn);	/* later, perhaps */
		errno = saved;
		return NULL;
	}
	if (!me) {
		if (!hp_heap_is_wanted && hp_allocator_resolve())
			hp_heap_closed.is_off = 1;
		hp_heap_set(&hp_heap_closed);
		errno = saved;
		return NULL;
	}
	identify(me);
	hp_end_watch(end_number, me);
	me->calls = has_charges && hp_local()->block ? hp_local() : NULL;
	me->state = HP_THREAD_OPEN;
	hp_heap_set(me);
	hp_heap_reopen(me);
	errno = saved;
	return me;
}

/* True if the process has left the segment since: the thread starts again. */
static bool is_forsaken(struct hp_heap_local *me)
{
	if (me == &hp_heap_opening || !hp_drop_is_before(me->drops))
		return false;
	me->state = HP_THREAD_CLOSED;
	me->last = HP_NO_BLOCK;
	me->calls = NULL;
	hp_heap_set(&hp_heap_unborn);
	return true;
}

/* Something must be done before this thread continues recording. */
static void see_to(struct hp_heap_local *me, uintptr_t sp)
{
	hp_heap_shut(me, sp);
	if (atomic_exchange_explicit(&me->is_stale, 0, memory_order_acquire))
		hp_path_forget(me);
	hp_heap_reopen(me);
}

HP_COLD struct hp_heap_local *hp_heap_enter(uintptr_t sp)
{
	struct hp_heap_local *me;

	if (hp_is_early())
		return NULL;
	me = hp_heap();
	switch (me->state) {
	case HP_THREAD_UNBORN:
		return open_heap(sp);
	case HP_THREAD_OPEN:
		if (is_forsaken(me))
			return open_heap(sp);
		me->proof = hp_heap_proves ||
			    (!hp_tally_has_most &&
			     !atomic_load_explicit(&me->is_stale, memory_order_relaxed));
		see_to(me, sp);
		return me;
	case HP_THREAD_BUSY:
		/* A handler jumped out of our slow path, whose stack is gone. */
		if (me == &hp_heap_opening || sp <= me->shut_at ||
		    sp - me->shut_at > me->walker.home_high - me->walker.home_low)
			return NULL;
		see_to(me, sp);
		return me;
	default:
		return NULL;
	}
}

HP_COLD struct hp_heap_local *hp_heap_enter_free(void)
{
	struct hp_heap_local *me = hp_heap();

	/* A proof that is due waits for the next allocation. */
	return me->state == HP_THREAD_OPEN && !is_forsaken(me) ? me : NULL;
}

static void close_heap(struct hp_heap_local *me, struct hp_heap_local *then)
{
	const struct hp_records kind = records();

	hp_heap_shut(me, 0);
	me->last = HP_NO_BLOCK;
	hp_peak_settle(me->heap, hp_self->process);
	me->calls = NULL;
	hp_heap_set(then);
	hp_record_give(&kind, me->heap, me);
}

/* Destructors of other keys may allocate, so ours asks to be called until the last round. */
static void thread_end(void *data)
{
	struct hp_heap_local *me = data;

	if (me != hp_heap() || (me->state != HP_THREAD_OPEN && me->state != HP_THREAD_BUSY))
		return;
	if (++me->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		hp_end_watch(end_number, me);
	else
		close_heap(me, &ending);
}

static void leave_for(struct hp_heap_local *then)
{
	struct hp_heap_local *me = hp_heap();

	/* Nor is its page touched. */
	if (me == &hp_heap_unborn)
		return;
	if (me->state == HP_THREAD_OPEN || (me->state == HP_THREAD_BUSY && me != &hp_heap_opening))
		close_heap(me, then);
}

static void leave(void)
{
	leave_for(&ending);
}

static void silence(bool is_silent)
{
	if (is_silent)
		leave_for(&silent);
	else if (hp_heap() == &silent)
		hp_heap_set(&hp_heap_unborn);
}

/* All threads have something to do first. */
static void call_all(struct hp_self *self)
{
	struct hp_heap_local *me = atomic_load_explicit(&self->heaps, memory_order_acquire);

	for (; me; me = me->next) {
		atomic_store_explicit(&me->is_stale, 1, memory_order_seq_cst);
		__atomic_store_n(&me->gate, 0, __ATOMIC_SEQ_CST);
	}
}

static void forget(uintptr_t begin, uintptr_t end)
{
	(void)begin;
	(void)end;
	call_all(hp_self);
}

static void drop(void)
{
	if (hp_heap_is_wanted && hp_heap()->heap)
		hp_peak_drop(hp_heap());
}

/* Earlier blocks are unowned, like the parent's in a forked child. */
static void dropped(void)
{
	if (!hp_heap_is_wanted)
		return;
	if (hp_self_before)
		call_all(hp_self_before);
	if (hp_heap() == &ending)
		hp_heap_set(&hp_heap_unborn);
	hp_shadow_wipe();
	hp_block_extra_wipe();
}

static void find(void)
{
	HP_EARLY_FIND(heap);
}

static void heaps_free(struct hp_process *process)
{
	struct hp_heap *heap;

	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		atomic_store_explicit(&heap->state, HP_FREE, memory_order_release);
	}
}

static bool is_left(const struct hp_process *process)
{
	const struct hp_heap *heap;

	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (const struct hp_heap *)((char *)hp_segment.header + at);
		if (atomic_load_explicit(&heap->state, memory_order_acquire) != HP_FREE)
			return false;
	}
	return true;
}

const struct hp_recorder hp_heap_recorder = {
	.find = find,
	.configure = configure,
	.fold = hp_peak_fold,
	.free = heaps_free,
	.bind = bind,
	.forget = forget,
	.silence = silence,
	.drop = drop,
	.dropped = dropped,
	.leave = leave,
	.is_left = is_left,
};
