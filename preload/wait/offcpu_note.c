/* SPDX-License-Identifier: MIT */
/*
 * offcpu_note.c - see offcpu_note.h.
 *
 * A ring in the segment for each thread that ever waited; after its end another
 * thread uses it. A signal handler that waits while its thread writes a note
 * writes none, nor does a child of vfork.
 */
#include "preload/wait/offcpu_note.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/claim.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/readable.h"
#include "preload/guest/self.h"
#include "preload/guest/tid.h"
#include "preload/heap/path.h"
#include "preload/thread/end.h"
#include "preload/thread/process.h"
#include "segment/ring.h"
#include "segment/section_key.h"
#include "util/assert.h"

#define COPY_MAX 4096u	/* bytes of the stack */
#define WINDOW_NOTES \
	1000	/* and this many waits per window, like the helper with the kernel's stacks */
#define WINDOW_NS UINT64_C(250000000)
#define NEAR_NS UINT64_C(50000)	/* a vfork child takes longer until it may wait */
#define SHARE_OF_SEGMENT 16	/* the largest share of it that rings take */
#define WALK_NS UINT64_C(10000000)	/* after a search without a free ring, until the next one */
#define RINGS_FREELY 256u	/* with more of them, */
#define WAITS_WITHOUT 3u	/* a thread gets a ring after this many waits */
#define RINGS_MAX 100000	/* a damaged list must not cause an endless loop */

const _Atomic uint32_t hp_offcpu_note_off;
ptrdiff_t hp_offcpu_note_least_at;

static __thread struct hp_offcpu_ring *own_ring __attribute__((tls_model("initial-exec")));
static __thread uint32_t waits_without __attribute__((tls_model("initial-exec")));
static int end_number = -1;	/* of preload/thread/end.h */
static _Atomic uint64_t no_walk_ns;	/* the list of rings is not searched before */

static struct hp_ticking *ticking(void)
{
	return (struct hp_ticking *)((char *)hp_segment.header + HP_TICKING_AT);
}

static _Atomic uint32_t *free_rings(void)
{
	return &hp_segment_vacant(&hp_segment)->offcpu_rings;
}

/* Release: the next owner continues after the last word. */
static void thread_end(void *data)
{
	struct hp_offcpu_ring *me = data;

	if (me != own_ring || !hp_self_is_me() || me->pid != hp_self->pid)
		return;
	own_ring = NULL;
	atomic_fetch_add_explicit(free_rings(), 1, memory_order_relaxed);
	atomic_store_explicit(&me->state, HP_FREE, memory_order_release);
}

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	if (!(hp_settings_asks(settings, HP_KEY_OFFCPU) ||
	      hp_settings_names(settings, HP_KEY_BOUND)) ||
	    (end_number = hp_end_new(thread_end)) < 0)
		return;
	hp_offcpu_note_least_at =
		(const char *)&ticking()->offcpu_least - (const char *)&hp_offcpu_note_off;
}

static void entered(void)
{
	if (hp_offcpu_note_least_at)
		hp_offcpu_note_least_at =
			(const char *)&ticking()->offcpu_least - (const char *)&hp_offcpu_note_off;
}

const struct hp_recorder hp_offcpu_note_recorder = { .configure = configure, .entered = entered };

/* ---- rings ---- */

/*
 * MOVING until its owner is stored: the sampler would free it again under its previous
 * owner's name. Notes left in it belong to that owner, so it is not taken before they
 * were read.
 */
static bool ring_claim(struct hp_offcpu_ring *ring)
{
	if (!hp_claim(&ring->state, HP_FREE, HP_MOVING))
		return false;
	/* Then the sampler has also read its owner's name. */
	if (hp_ring_is_read(&(struct hp_ring)HP_RING(ring))) {
		atomic_fetch_sub_explicit(free_rings(), 1, memory_order_relaxed);
		return true;
	}
	hp_claim_end(&ring->state);
	return false;
}

/*
 * Thousands of threads that start at once must not each search the rings of the others. In a forked
 * child, each is a page fault or two.
 */
static struct hp_offcpu_ring *ring_free(uint64_t now_ns)
{
	uint64_t offset = atomic_load_explicit(&ticking()->offcpu_rings, memory_order_acquire);

	if (!atomic_load_explicit(free_rings(), memory_order_relaxed) ||
	    now_ns < atomic_load_explicit(&no_walk_ns, memory_order_relaxed))
		return NULL;
	for (int i = 0; offset && i < RINGS_MAX; i++) {
		struct hp_offcpu_ring *ring =
			(struct hp_offcpu_ring *)((char *)hp_segment.header + offset);

		if (ring_claim(ring))
			return ring;
		offset = ring->next;
	}
	atomic_store_explicit(&no_walk_ns, now_ns + WALK_NS, memory_order_relaxed);
	return NULL;
}

static struct hp_offcpu_ring *ring_new(uint64_t *offset)
{
	uint64_t count =
		atomic_fetch_add_explicit(&ticking()->offcpu_count, 1, memory_order_relaxed) + 1;

	if (count * sizeof(struct hp_offcpu_ring) > hp_segment.size / SHARE_OF_SEGMENT)
		return NULL;
	*offset = hp_segment_take(&hp_segment, sizeof(struct hp_offcpu_ring), HP_LINE);
	return hp_segment_at(&hp_segment, *offset, sizeof(struct hp_offcpu_ring));
}

/* Thousands of threads that each wait once or twice cost two pages and much reading each. */
static bool is_one_of_a_crowd(void)
{
	return atomic_load_explicit(&ticking()->offcpu_count, memory_order_relaxed) >
		       RINGS_FREELY &&
	       waits_without < WAITS_WITHOUT && ++waits_without;
}

static struct hp_offcpu_ring *ring_take(uint64_t now_ns)
{
	struct hp_offcpu_ring *ring = ring_free(now_ns);
	uint64_t offset = 0;

	if (!ring)
		ring = ring_new(&offset);
	if (!ring)
		return NULL;
	HP_ASSERT(offset || atomic_load(&ring->state) == HP_MOVING);
	ring->pid = hp_self->pid;
	ring->tid = hp_tid();
	/* The sampler may read it, see sampler/sample/orphan.h: in this order. */
	__atomic_store_n(&ring->process, hp_segment_offset(&hp_segment, hp_self->process),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&ring->image, hp_self->process->start_ticks, __ATOMIC_RELEASE);
	ring->is_busy = 0;
	ring->stack_low = ring->stack_high = 0;
	ring->since_ns = 0;
	/* Release: a reader that finds it taken finds its owner. */
	atomic_store_explicit(&ring->state, HP_TAKEN, memory_order_release);
	if (offset)
		hp_list_push(&ticking()->offcpu_rings, offset, &ring->next);
	hp_end_watch(end_number, ring);
	return ring;
}

/*
 * The thread's own, or in a vfork child that of its parent's thread, see is_mine(). NULL = it has
 * none, and gets none.
 */
static struct hp_offcpu_ring *ring_of_thread(uint64_t now_ns)
{
	/* In a segment that was left, it has no owner. A forked child has no record, or its own. */
	if (own_ring && hp_self && own_ring->pid == hp_self->pid &&
	    hp_segment_holds(&hp_segment, own_ring))
		return own_ring;
	if (is_one_of_a_crowd())
		return NULL;
	uint32_t pid = (uint32_t)getpid();
	if (!hp_self_open() || hp_self->pid != pid || !hp_self->process)
		return NULL;
	own_ring = ring_take(now_ns);
	return own_ring;
}

/* ---- a note ---- */

/* How much of the stack from `sp` on can be read, bytes. */
static uint64_t stack_size(struct hp_offcpu_ring *me, uintptr_t sp)
{
	uint64_t size, rest = HP_PAGE - (sp & (HP_PAGE - 1));

	if (sp < me->stack_low || sp >= me->stack_high) {
		uintptr_t end = hp_readable_stack_end(sp);

		/* A stack made by the program: up to the end of the current page. */
		if (!end)
			return rest;
		me->stack_low = sp;
		me->stack_high = end;
	}
	size = me->stack_high - sp;
	if (size > COPY_MAX)
		size = COPY_MAX;
	/* Fibers may be below a thread's stack, and the memory above one may be unmapped. */
	return size <= rest || hp_readable_few(sp + rest, 1) ? size : rest;
}

/* Too many of them cost the helper too much. */
static bool is_too_much(struct hp_offcpu_ring *me, uint64_t now_ns)
{
	if (now_ns - me->window >= WINDOW_NS) {
		me->window = now_ns;
		me->window_count = 0;
	}
	return ++me->window_count > WINDOW_NOTES;
}

static uint64_t ns_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

static bool is_mine(const struct hp_offcpu_ring *me)
{
	return me->pid == (uint32_t)getpid();
}

/*
 * False if it may be a vfork child, whose own figures begin at 0. Asking the kernel each time would
 * cost half as much again as the figures.
 */
static bool is_near(const struct hp_offcpu_ring *me, uint64_t now_ns, uint64_t cpu_ns,
		    uint64_t switches)
{
	return now_ns - me->since_ns < NEAR_NS && cpu_ns >= me->since_cpu_ns &&
	       switches >= me->since_switches;
}

/*
 * The thread's work since the previous call that may have waited; the next one continues from here.
 * False = the ring is that of another thread.
 */
static bool since_take(struct hp_offcpu_ring *me, uint64_t now_ns, uint64_t *words)
{
	struct rusage use;
	uint64_t cpu_ns, switches;

	words[HP_OFFCPU_SWITCHES] = 1;
	words[HP_OFFCPU_NONE] = UINT64_MAX;
	if (!(hp_offcpu_note_least() & HP_OFFCPU_LONG) ||
	    hp_kernel_call(SYS_getrusage, RUSAGE_THREAD, (long)&use, 0) < 0)
		return is_mine(me);
	cpu_ns = ns_of(&use.ru_utime) + ns_of(&use.ru_stime);
	switches = (uint64_t)use.ru_nvcsw;
	if (!is_near(me, now_ns, cpu_ns, switches) && !is_mine(me))
		return false;
	if (me->since_ns) {
		uint64_t wall_ns = now_ns - me->since_ns, ran_ns = cpu_ns - me->since_cpu_ns;

		words[HP_OFFCPU_SWITCHES] = switches - me->since_switches;
		words[HP_OFFCPU_NONE] = wall_ns > ran_ns ? wall_ns - ran_ns : 0;
	}
	me->since_ns = now_ns;
	me->since_cpu_ns = cpu_ns;
	me->since_switches = switches;
	return true;
}

static bool is_noted(uint64_t took)
{
	uint32_t least = hp_offcpu_note_least();

	return !(least & HP_OFFCPU_LONG) || took >= (uint64_t)least * HP_OFFCPU_LONG_RATIO;
}

/* Word by word: memcpy may be a checker's, which objects to such reads of the stack. */
static void words_put(const struct hp_ring *ring, uint64_t at, uintptr_t from, uint64_t count)
{
	const volatile uint64_t *word = (const volatile uint64_t *)from;

	for (uint64_t i = 0; i < count; i++)
		hp_ring_put(ring, at + i, word[i]);
}

static void note(struct hp_offcpu_ring *me, uint64_t *head_words, uintptr_t sp)
{
	const struct hp_ring ring = HP_RING(me);
	uint64_t words = sp % sizeof(uint64_t) ? 0 : stack_size(me, sp) / sizeof(uint64_t);
	uint64_t size = HP_OFFCPU_HEAD + words, at;

	if (!hp_ring_begin(&ring, size, &at)) {
		atomic_fetch_add_explicit(&me->lost, 1, memory_order_relaxed);
		return;
	}
	head_words[HP_OFFCPU_SIZE] |= size;
	words_put(&ring, at, (uintptr_t)head_words, HP_OFFCPU_HEAD);
	words_put(&ring, at + HP_OFFCPU_HEAD, sp, words);
	hp_ring_end(&ring, at + size);
}

/* Its kind, according to the kernel. */
static enum hp_wait_on on_file(int fd)
{
	struct stat status;

	if (syscall(SYS_fstat, fd, &status) < 0)
		return HP_ON_OTHER;
	return S_ISFIFO(status.st_mode)				    ? HP_ON_PIPE
	       : S_ISSOCK(status.st_mode)			    ? HP_ON_SOCKET
	       : S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) ? HP_ON_DISK
								    : HP_ON_OTHER;
}

__attribute__((noinline)) HP_COLD void hp_offcpu_note_write(uint64_t since, enum hp_wait_on on,
							    int fd)
{
	const struct hp_path_frame frame = HP_PATH_FRAME;
	/* One moment on both clocks: the rest takes time. */
	const uint64_t now_ns = hp_clock_raw_ns(), now = hp_ticks();
	int saved = errno;
	struct hp_offcpu_ring *me = hp_is_confined() ? NULL : ring_of_thread(now_ns);

	if (me && !me->is_busy) {
		me->is_busy = 1;
		atomic_signal_fence(memory_order_seq_cst);
		uint64_t words[HP_OFFCPU_HEAD] = { [HP_OFFCPU_END] = now_ns,
						   [HP_OFFCPU_TICKS] = hp_clock_between(since, now),
						   [HP_OFFCPU_PC] = frame.pc,
						   [HP_OFFCPU_SP] = frame.sp,
						   [HP_OFFCPU_FP] = frame.fp };

		if (since_take(me, now_ns, words) && is_noted(words[HP_OFFCPU_TICKS]) &&
		    !is_too_much(me, now_ns)) {
			words[HP_OFFCPU_SIZE] = (uint64_t)(on ? on : on_file(fd)) << 32;
			note(me, words, frame.sp);
		}
		atomic_signal_fence(memory_order_seq_cst);
		me->is_busy = 0;
	}
	errno = saved;
}
