/* SPDX-License-Identifier: MIT */
/*
 * heap.c - a thread's life with the allocation stand-ins; peaks.
 *
 * Peak.  What a process holds is the sum over its threads' heaps; each thread
 * knows its own part exactly and looks at the others' now and then.  With one
 * thread the peak is exact.  With several it may be missed by what the others
 * allocated since: each looks again when it has grown by 1/1024 of the peak (at
 * least 4 KiB).
 *
 * What each path held at the peak costs nothing then: the peak gets a number
 * (hp_process.heap_epoch), and who first changes a site after it notes what
 * the site held (hp_site.at_peak).
 */
#include "preload/heap/heap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "preload/call/tally.h"
#include "preload/guest/above.h"
#include "preload/guest/begin.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/say.h"
#include "preload/guest/self.h"
#include "preload/heap/allocator.h"
#include "preload/heap/direct.h"
#include "preload/heap/drawn.h"
#include "preload/heap/leak.h"
#include "preload/heap/path.h"
#include "preload/heap/shadow.h"
#include "preload/thread/module.h"
#include "preload/thread/process.h"
#include "preload/thread/state.h"

#define HP_HEAP_CHUNK_FIRST 8192
#define HP_HEAP_CHUNK_NEXT 65536
#define HP_PEAK_PART 1024	/* threads look again after the peak / this */
#define HP_PEAK_LEAST 4096	/* bytes */

extern char __libc_single_threaded __attribute__((weak));	/* glibc 2.32 and later */

struct hp_heap_local hp_heap_unborn = { .state = HP_THREAD_UNBORN };

/* Threads that do not record point here: for good, and while they are being opened. */
struct hp_heap_local hp_heap_closed = { .state = HP_THREAD_CLOSED, .last = HP_NO_BLOCK };
static struct hp_heap_local opening = { .state = HP_THREAD_BUSY, .last = HP_NO_BLOCK };
/* After the thread's last destructor: frees are still counted. */
static struct hp_heap_local ending = { .state = HP_THREAD_CLOSED, .last = HP_NO_BLOCK };

__thread struct hp_heap_local *hp_heap_pointer = &hp_heap_unborn;

bool hp_heap_is_wanted;
static uint32_t depth_most;
static uint32_t walk_mode;
static uint32_t prove_all;
static bool has_charges;	/* calls of functions are charged what they allocate */
static uint32_t allocator;	/* enum hp_allocator_kind */
static const char *allocator_file;
static uintptr_t loader_low, loader_high;
static pthread_key_t key;
static bool has_key;

static void thread_end(void *data);

static_assert(sizeof(struct hp_heap_local) <= HP_PAGE, "one wiped page each");

static void note_allocator(void)
{
	struct hp_process *process;

	if (!hp_self_open())
		return;
	process = hp_self->process;
	if (process->allocator == allocator)
		return;
	process->allocator_file =
		allocator_file ? hp_text_new(allocator_file, strlen(allocator_file)) : 0;
	process->allocator = allocator;
}

static void find_loader(void)
{
	uintptr_t base = (uintptr_t)getauxval(AT_BASE);
	struct hp_module module;

	if (base && hp_module_span(base, &module)) {
		loader_low = module.begin;
		loader_high = module.end;
	}
}

bool hp_heap_is_loader(uintptr_t pc)
{
	return pc >= loader_low && pc < loader_high;
}

/* Of a section that `auto` does not show: it is recorded with the others, and for it alone if it is asked for. */
static bool is_asked_apart(const struct hp_settings *settings, const char *section)
{
	return hp_settings_names(settings, section) ||
	       (hp_settings_names(settings, "all") && hp_settings_asks(settings, section));
}

static bool is_asked(const struct hp_settings *settings)
{
	return hp_settings_asks(settings, "alloc-sites") ||
	       hp_settings_asks(settings, "functions-alloc") ||
	       hp_settings_asks(settings, "direct-maps") || hp_settings_names(settings, "bound") ||
	       is_asked_apart(settings, "alloc-callers") || is_asked_apart(settings, "leaks") ||
	       is_asked_apart(settings, "alloc-sizes") || is_asked_apart(settings, "alloc-lives") ||
	       /* Call paths come from our cache alone. */
	       hp_settings_names(settings, "waits") || hp_settings_names(settings, "thread-states");
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	hp_heap_is_wanted = is_asked(settings);
	depth_most = (uint32_t)settings->alloc_depth;
	walk_mode = settings->unwind;
	prove_all = settings->alloc_prove;
	has_charges = hp_settings_asks(settings, "functions-alloc");
	hp_tally_has_most = has_charges && (settings->alloc_metric == HP_ALLOC_BYTES_MAX ||
					    settings->alloc_metric == HP_ALLOC_COUNT_MAX);
	if (!hp_heap_is_wanted)
		return;
	find_loader();
	allocator = hp_allocator_kind(&allocator_file);
	/* Nobody will ask us for a block: this is the place to say so. */
	if (allocator == HP_ALLOCATOR_INSIDE || allocator == HP_ALLOCATOR_BEFORE)
		note_allocator();
	if (!hp_shadow_init(allocator == HP_ALLOCATOR_GLIBC)) {
		hp_heap_is_wanted = false;
		hp_say("allocations are not recorded: less than 1 GiB of addresses (ulimit -v, -d)",
		       NULL);
		return;
	}
	hp_leak_configure(settings, allocator == HP_ALLOCATOR_GLIBC);
	hp_direct_configure(settings, allocator);
	has_key = pthread_key_create(&key, thread_end) == 0;
}

/* --- room --- */

void *hp_heap_take(struct hp_heap_local *me, uint64_t size)
{
	struct hp_heap *heap = me->heap;
	uint64_t chunk = heap->arena ? HP_HEAP_CHUNK_NEXT : HP_HEAP_CHUNK_FIRST;
	uint64_t at;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	if (heap->arena_end - heap->arena < size) {
		at = hp_segment_take(&hp_segment, chunk, HP_LINE);
		if (at == 0)
			return NULL;
		heap->arena = at;
		heap->arena_end = at + chunk;
	}
	at = heap->arena;
	heap->arena += size;
	return me->base + at;
}

/* --- records --- */

static bool heap_claim(struct hp_heap *heap)
{
	uint32_t state = HP_FREE;

	return atomic_load_explicit(&heap->state, memory_order_relaxed) == HP_FREE &&
	       atomic_compare_exchange_strong_explicit(&heap->state, &state, HP_TAKEN,
						       memory_order_acq_rel, memory_order_relaxed);
}

/* Release: the next owner finds the tables as `user` leaves them; NULL = nobody has any. */
static void heap_give(struct hp_heap *heap, struct hp_heap_local *user)
{
	atomic_store_explicit(&heap->state, HP_FREE, memory_order_release);
	if (user)
		hp_spare_push(&hp_self->spare_heaps, &user->ended);
	else
		hp_spare_unused(&hp_self->spare_heaps);
}

/* The struct that used `heap` before in this process; NULL = none. */
static struct hp_heap_local *local_of(const struct hp_heap *heap)
{
	struct hp_heap_local *me = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);

	while (me && me->heap != heap)
		me = me->next;
	return me;
}

static struct hp_heap *heap_free(struct hp_process *process, struct hp_heap_local **user)
{
	struct hp_spare *spare;
	uint64_t at;

	while ((spare = hp_spare_pop(&hp_self->spare_heaps))) {
		*user = HP_SPARE_OF(struct hp_heap_local, spare);
		if (heap_claim((*user)->heap))
			return (*user)->heap;
	}
	if (!hp_spare_walk(&hp_self->spare_heaps))
		return NULL;
	at = atomic_load_explicit(&process->heaps, memory_order_acquire);
	for (struct hp_heap *heap; at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		if (!heap_claim(heap))
			continue;
		hp_spare_unused(&hp_self->spare_heaps);
		*user = local_of(heap);
		return heap;
	}
	return NULL;
}

/* *user = who used it before in this process; NULL = nobody did. */
static struct hp_heap *heap_get(struct hp_heap_local **user)
{
	struct hp_process *process = hp_self->process;
	struct hp_heap *heap = heap_free(process, user);
	uint64_t offset;

	if (heap)
		return heap;
	*user = NULL;
	offset = hp_segment_take(&hp_segment, sizeof(*heap), HP_LINE);
	heap = hp_segment_at(&hp_segment, offset, sizeof(*heap));
	if (!heap)
		return NULL;
	atomic_store_explicit(&heap->state, HP_TAKEN, memory_order_relaxed);
	heap->process = hp_segment_offset(&hp_segment, process);
	hp_list_push(&process->heaps, offset, &heap->next);
	return heap;
}

static void local_add(struct hp_heap_local *me)
{
	me->next = atomic_load_explicit(&hp_self->heaps, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&hp_self->heaps, &me->next, me,
						      memory_order_release, memory_order_relaxed))
		;
}

static int64_t site_held(const struct hp_site *site)
{
	return (int64_t)(site->bytes - site->freed -
			 atomic_load_explicit(&site->far_freed, memory_order_relaxed)) -
	       site->base;
}

/* The pending block of a thread that was killed stays: it is counted as any other. */
static void settle_pending(struct hp_heap *heap)
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

static void fold_site(struct hp_site *site, uint32_t epoch)
{
	int64_t held = site_held(site);

	site->folded_peak += atomic_load(&site->epoch) == epoch ? site->at_peak : held;
	site->base += held;
	site->at_peak = 0;
	atomic_store_explicit(&site->epoch, epoch, memory_order_relaxed);
}

/* A process that never freed after its highest point has its peak at its end. */
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

static void fold(struct hp_process *process)
{
	struct hp_heap *heap;
	struct hp_site *site;
	uint32_t epoch;

	for (uint64_t at = atomic_load(&process->heaps); at; at = heap->next) {
		heap = (struct hp_heap *)((char *)hp_segment.header + at);
		settle_pending(heap);
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
	hp_direct_fold(process);
	process->folded_heap_peak += atomic_load(&process->heap_peak);
	atomic_store(&process->heap_peak, 0);
	atomic_store(&process->heap_epoch, epoch);
}

/* --- peaks --- */

static int64_t process_live(const struct hp_process *process)
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

/* Only this thread ever had a heap in this process. */
static bool is_alone(const struct hp_heap_local *me)
{
	return atomic_load_explicit(&hp_self->heaps, memory_order_relaxed) == me && !me->next;
}

/* The pending block is in no site yet, but it is part of the peak. */
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

HP_COLD void hp_heap_look(struct hp_heap_local *me)
{
	struct hp_process *process = hp_self->process;
	int64_t own = me->heap->live + (int64_t)me->heap->pending_bytes;
	int64_t peak = atomic_load_explicit(&process->heap_peak, memory_order_relaxed);
	int64_t part = peak / HP_PEAK_PART > HP_PEAK_LEAST ? peak / HP_PEAK_PART : HP_PEAK_LEAST;
	int64_t live;

	if (HP_LIKELY(is_alone(me))) {
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
	live = process_live(process);
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

/* --- opening and closing --- */

static bool local_init(struct hp_heap_local *me, struct hp_heap *heap, uintptr_t sp)
{
	me->heap = heap;
	me->base = (char *)hp_segment.header;
	me->id = (uint32_t)((uint64_t)((char *)heap - me->base) / HP_LINE);
	me->epoch = &hp_self->process->heap_epoch;
	me->walker.most = depth_most ? depth_most : 1;
	me->walker.mode = walk_mode;
	me->state = HP_THREAD_BUSY;
	hp_drawn_init(me);
	if (!depth_most)
		me->flat = hp_pages(sizeof(*me->flat) << HP_PATH_FLAT_BITS);
	me->gate_open = hp_shadow_grain != HP_SHADOW_USUAL ? HP_GATE_ANY
			: me->flat			   ? HP_GATE_FLAT
							   : HP_GATE_PATHS;
	return (depth_most || me->flat) && hp_path_init(me, sp);
}

static struct hp_heap_local *local_get(uintptr_t sp)
{
	struct hp_heap_local *me;
	struct hp_heap *heap = heap_get(&me);

	if (!heap)
		return NULL;
	if (me) {
		hp_path_set_stack(me, sp);
		return me;
	}
	me = hp_pages_wiped();
	if (me && local_init(me, heap, sp)) {
		local_add(me);
		return me;
	}
	/* What it took of the tables is lost, and the thread records nothing. */
	heap_give(heap, NULL);
	return NULL;
}

static void identify(struct hp_heap_local *me)
{
	struct hp_heap *heap = me->heap;

	settle_pending(heap);
	heap->tid = hp_confine_tid();
	heap->pid = hp_self->pid;
	heap->threads++;
	heap->first_bytes = heap->bytes + heap->temporary_bytes;
	heap->first_live = heap->live;
	me->last = HP_NO_BLOCK;
	me->end_rounds = 0;
	me->trigger = heap->live;
	if (is_alone(me))
		me->trigger +=
			atomic_load(&hp_self->process->heap_peak) - process_live(hp_self->process);
}

static bool is_large_segment(void)
{
	return hp_segment.size / HP_LINE > UINT32_MAX;
}

static void bind(struct hp_local *calls)
{
	struct hp_heap_local *me = hp_heap();

	/* One that is shared by all, or is being opened, is no thread's own. */
	if (has_charges && me->heap)
		me->calls = calls;
}

/* The first allocation of a thread, or of a forked child. */
static struct hp_heap_local *open_heap(uintptr_t sp)
{
	struct hp_heap_local *me = NULL;
	int saved = errno;

	hp_heap_set(&opening);
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
	if (has_key)
		pthread_setspecific(key, me);
	me->calls = has_charges && hp_local()->block ? hp_local() : NULL;
	me->state = HP_THREAD_OPEN;
	hp_heap_set(me);
	hp_heap_reopen(me);
	errno = saved;
	return me;
}

struct hp_heap_local *hp_heap_pause(void)
{
	struct hp_heap_local *was;

	if (hp_is_early())
		return NULL;
	was = hp_heap();
	hp_heap_set(&opening);
	return was;
}

void hp_heap_go_on(struct hp_heap_local *was)
{
	if (was)
		hp_heap_set(was);
}

void hp_heap_shut(struct hp_heap_local *me, uintptr_t sp)
{
	me->gate = 0;
	me->shut_at = sp;
	me->state = HP_THREAD_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
}

/* There is no other thread of glibc's, and what makes one is a barrier. */
static inline bool is_single_threaded(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

void hp_heap_reopen(struct hp_heap_local *me)
{
	atomic_signal_fence(memory_order_seq_cst);
	me->state = HP_THREAD_OPEN;
	if (!prove_all && !hp_tally_has_most)
		__atomic_store_n(&me->gate, me->gate_open, __ATOMIC_RELAXED);
	/*
	 * The other side is forget: is_stale, then gate.  Either we see
	 * is_stale here, or its store to the gate comes after ours.
	 */
	if (!is_single_threaded())
		atomic_thread_fence(memory_order_seq_cst);
	if (HP_UNLIKELY(atomic_load_explicit(&me->is_stale, memory_order_relaxed)))
		me->gate = 0;
}

/* Something is to be done before this thread goes on recording. */
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
		me->proof =
			prove_all || (!hp_tally_has_most &&
				      !atomic_load_explicit(&me->is_stale, memory_order_relaxed));
		see_to(me, sp);
		return me;
	case HP_THREAD_BUSY:
		/* A handler jumped out of our slow path: the stack of that is gone. */
		if (me == &opening || sp <= me->shut_at ||
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
	return me->state == HP_THREAD_OPEN ? me : NULL;
}

static void close_heap(struct hp_heap_local *me, struct hp_heap_local *then)
{
	hp_heap_shut(me, 0);
	settle_pending(me->heap);
	me->last = HP_NO_BLOCK;
	me->calls = NULL;
	hp_heap_set(then);
	heap_give(me->heap, me);
}

/* Destructors of other keys may allocate, so ours asks to be called until the last round. */
static void thread_end(void *data)
{
	struct hp_heap_local *me = data;

	if (me != hp_heap() || (me->state != HP_THREAD_OPEN && me->state != HP_THREAD_BUSY))
		return;
	if (++me->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, me);
	else
		close_heap(me, &ending);
}

static void leave(void)
{
	struct hp_heap_local *me = hp_heap();

	if (me->state == HP_THREAD_OPEN || (me->state == HP_THREAD_BUSY && me != &opening))
		close_heap(me, &ending);
}

static void forget(uintptr_t begin, uintptr_t end)
{
	struct hp_heap_local *me = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);

	(void)begin;
	(void)end;
	for (; me; me = me->next) {
		atomic_store_explicit(&me->is_stale, 1, memory_order_seq_cst);
		__atomic_store_n(&me->gate, 0, __ATOMIC_SEQ_CST);
	}
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
	.fold = fold,
	.free = heaps_free,
	.bind = bind,
	.forget = forget,
	.leave = leave,
	.is_left = is_left,
};
