/* SPDX-License-Identifier: MIT */
/*
 * sample.h - CPU samples and of waits, by the kernel and by timers.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_SAMPLE_H
#define HP_SEGMENT_LAYOUT_SAMPLE_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/*
 * A ring of samples (ring.h), from the thread to the sampler.
 */
#define HP_TICKER_WORDS 8192

struct hp_ticker {
	uint64_t next;	/* set once */
	_Atomic uint32_t
		state;	/* enum hp_state; freed by its thread, or by the sampler after its process */
	uint32_t pid;	/* owner: present or last */
	uint32_t tid;	/* owner: present or last */
	uint32_t reserved0;
	_Atomic uint64_t head;	/* owner: number of the next word */
	_Atomic uint64_t lost;	/* owner: samples without room */
	_Atomic uint64_t lost_ns;	/* owner: the time they stand for */
	uint64_t process;	/* owner: offset of its hp_process, */
	uint64_t image;	/* and hp_process.start_ticks: if that has changed, the ticker is free */

	_Atomic uint64_t tail;	/* sampler: number of the first word that was not read */
	uint64_t reserved2[7];
	uint64_t words[HP_TICKER_WORDS];
};

/* A sample: these words, and after them return addresses from the inside out. */
enum hp_tick_word {
	HP_TICK_SIZE = 0,	/* all its words, HP_TICK_FLAGS above */
	HP_TICK_TIME,	/* ns, CLOCK_MONOTONIC_RAW */
	HP_TICK_SPAN,	/* ns of CPU that it stands for */
	HP_TICK_THREAD,	/* pid, tid << 32 */
	HP_TICK_PARENT,	/* pid of its parent, offset / HP_LINE of the executable's hp_object << 32 */
	HP_TICK_IMAGE,	/* hp_process.start_ticks: another one after exec */
	HP_TICK_WORDS,
};

#define HP_TICK_COMPLETE (UINT64_C(1) << 32)	/* it reaches the thread's first function */
#define HP_TICK_CUT (UINT64_C(1) << 33)	/* it has more frames than were walked */

/*
 * Calls that waited, noted by the thread afterwards (preload/wait/offcpu_note.h): the kernel
 * tells when a thread was off the CPU, but not, for some users, where. A ring of words as
 * hp_ticker's.
 */
#define HP_OFFCPU_WORDS 4096

/*
 * In hp_ticking.offcpu_least: only calls are noted that took HP_OFFCPU_LONG_RATIO times as long.
 * Shorter ones are only counted (hp_offcpu_ring.since_switches), which distinguishes a long call
 * that was only preempted from one that waited.
 */
#define HP_OFFCPU_LONG 1u
#define HP_OFFCPU_LONG_RATIO 256u

struct hp_offcpu_ring {
	uint64_t next;	/* set once */
	_Atomic uint32_t
		state;	/* enum hp_state; freed by its thread, or by the sampler after its process */
	uint32_t pid;	/* owner: present or last */
	uint32_t tid;	/* owner: present or last */
	uint32_t is_busy;	/* owner: a record is being written */
	_Atomic uint64_t head;	/* owner: number of the next word */
	_Atomic uint64_t lost;	/* owner: calls without room, or that were too many */
	uint64_t process;	/* owner: offset of its hp_process, */
	uint64_t image;	/* and hp_process.start_ticks: if that has changed, the ring is free */
	uint64_t stack_low;	/* owner: plain addresses of its stack that can be read */

	uint64_t stack_high;	/* owner: and their end */
	uint64_t window;	/* owner: ns, CLOCK_MONOTONIC_RAW, when the current count began */
	uint64_t window_count;	/* owner: calls since */
	uint64_t since_ns;	/* owner: end of the last call that may have waited, CLOCK_MONOTONIC_RAW; */
	uint64_t since_cpu_ns;	/* owner: its CPU time then, */
	uint64_t since_switches;	/* owner: and how often it had given up its CPU */
	uint64_t reserved[2];

	_Atomic uint64_t tail;	/* sampler: number of the first word that was not read */
	uint64_t reserved2[7];
	uint64_t words[HP_OFFCPU_WORDS];
};

/* A call: these words, and after them a copy of the stack from HP_OFFCPU_SP on. */
enum hp_offcpu_word {
	HP_OFFCPU_SIZE = 0,	/* all its words, enum hp_wait_on << 32 */
	HP_OFFCPU_END,	/* ns, CLOCK_MONOTONIC_RAW */
	HP_OFFCPU_TICKS,	/* that it took */
	HP_OFFCPU_PC,	/* return address into the caller, */
	HP_OFFCPU_SP,	/* its stack pointer then, */
	HP_OFFCPU_FP,	/* and frame pointer */
	HP_OFFCPU_SWITCHES,	/* how often it gave up its CPU since hp_offcpu_ring.since_ns */
	HP_OFFCPU_NONE,	/* ns without a CPU since then: the call had no more than that; UINT64_MAX = unknown */
	HP_OFFCPU_HEAD,
};

/* Where CPU samples come from. */
enum hp_sampling_source {
	HP_SAMPLING_NONE = 0,
	HP_SAMPLING_CYCLES = 1,	/* perf_event: the processor's cycle counter */
	HP_SAMPLING_CLOCK = 2,	/* perf_event: the kernel's clock of CPU time */
	HP_SAMPLING_TIMER = 3,	/* a CPU timer for each thread, in the target */
	HP_SAMPLING_SAMPLY = 4,	/* samply's profile, beside the segment */
};

/*
 * A thread's wait, where only its system call is known: stands as an address of
 * the kernel's object, which has no code down there.
 */
enum hp_wait_on {
	HP_ON_OTHER = 1,
	HP_ON_FUTEX,
	HP_ON_SLEEP,
	HP_ON_POLL,
	HP_ON_PIPE,
	HP_ON_SOCKET,
	HP_ON_DISK,
	HP_ON_CHILD,
	HP_ON_SIGNAL,
	HP_ON_ONS,
};

/* Reasons for their absence. */
enum hp_sampling_fault {
	HP_SAMPLING_FINE = 0,
	HP_SAMPLING_OFF = 1,	/* HOTPATH_CPU=off */
	HP_SAMPLING_REFUSED = 2,	/* perf_event_open: `error` */
	HP_SAMPLING_NO_RING = 3,	/* mmap of a ring: `error` */
	HP_SAMPLING_GONE = 4,	/* the target had ended before it could be sampled */
	HP_SAMPLING_NO_TIMER = 5,	/* no process of the session created timers */
	HP_SAMPLING_SAMPLY_FAILED = 6,	/* samply: see its session */
};

/*
 * The sampler's view of the CPU.  Samples are summed up in a tree of stacks.
 * Written by the sampler only.
 */
struct hp_sampling {
	uint32_t source;	/* enum hp_sampling_source */
	uint32_t fault;	/* enum hp_sampling_fault */
	uint32_t error;	/* errno of it */
	int32_t paranoid;	/* kernel.perf_event_paranoid; INT32_MIN = not known */
	uint32_t frequency;	/* samples a second of CPU time, Hz */
	uint32_t has_kernel;	/* 1 = time in the kernel is sampled too */
	uint32_t stack_size;	/* bytes of the stack that are copied; 0 = frame pointers */
	uint32_t ring_size;	/* bytes for each CPU */
	uint64_t samples;	/* taken */
	uint64_t cpu_ns;	/* that they stand for */
	uint64_t lost;	/* records that did not fit into the rings */
	uint64_t folded;	/* samples that are counted without their stack: no room for it */

	uint64_t complete;	/* samples whose stack reaches the first function of the thread */
	uint64_t cut;	/* samples whose stack is longer than the copied part */
	uint64_t nodes;	/* offset of the first hp_stack_chunk */
	uint64_t node_count;
	uint64_t events;	/* offset of the first hp_event_chunk */
	uint64_t event_count;
	uint64_t event_lost;	/* dropped, no room; they are in the tree anyway */
	uint64_t blocked_ns;	/* that threads gave up the CPU for, over all */
};

/* Why CPUs were sampled instead of threads, from some time on. */
enum hp_sampling_by_cpu {
	HP_BY_CPU_NEVER,	/* or for another reason: hp_stack_chunk.crowd, hp_bursts.is_whole */
	HP_BY_CPU_SWITCHES,	/* threads switched often */
	HP_BY_CPU_SHORT,	/* threads ended, or stopped, before their first sample was due */
	HP_BY_CPU_STARTS,	/* not for good: many threads or processes started */
	HP_BY_CPU_FIRST,	/* only in the session's first moments */
};

/* Of a longer stack only the innermost places are kept. */
#define HP_PLACES_MAX 1024

/*
 * A place in code, called from the place `parent`: a node of the tree of
 * stacks.  Node 0 is the root, which isn't a place.
 */
struct hp_stack_node {
	uint64_t address;	/* set once: ELF address, of a caller the return address - 1; else the plain address */
	uint32_t object;	/* set once: offset / HP_LINE of hp_object; 0 = unknown */
	uint32_t parent;	/* set once: number of a node, lower than its own */
	uint64_t samples;	/* sampler: with this as the innermost place */
	uint64_t cpu_ns;	/* sampler: that they stand for */
	uint64_t waits;	/* sampler: times that a thread gave up the CPU here */
	uint64_t blocked_ns;	/* sampler: until it was back, or so far */
	uint64_t counted_ns;	/* sampler: the part of cpu_ns whose kind the processor's counters reveal */
	uint64_t memory_ns;	/* sampler: of that, spent waiting for memory mostly */
};

/* Nodes are numbered through all chunks. */
struct hp_stack_chunk {
	uint64_t next;	/* sampler: once it is full */
	uint32_t capacity;	/* set once */
	uint32_t count;	/* sampler: nodes in use */
	uint64_t changes;	/* set once, of the first chunk: offset of hp_stack_changes; 0 = none */
	uint64_t bursts;	/* set once, of the first chunk: offset of hp_bursts; 0 = none */
	uint64_t crowd;	/* sampler, of the first chunk: the most threads alive while the CPUs' events replaced theirs; 0 = never */
	uint64_t by_cpu;	/* sampler, of the first chunk: enum hp_sampling_by_cpu */
	uint64_t wait_lost;	/* sampler, of the first chunk: records of waits that did not fit into their rings */
	uint64_t reserved[1];
	struct hp_stack_node nodes[];
};

/*
 * Which nodes' counters have changed: a ring of their numbers, each stored after the counters.
 * Change n, counted forever, is at nodes[n % capacity].  No ring.h: it has several readers, which
 * never hold the sampler up and see by `head` when it has passed them.
 */
struct hp_stack_changes {
	_Atomic uint64_t head;	/* sampler: number of the next change */
	uint32_t capacity;	/* set once, a power of two */
	uint32_t reserved0;
	uint64_t reserved[6];
	_Atomic uint32_t nodes[];
};

/*
 * Recording every switch would be expensive for threads that switch all the time. So their waits
 * are recorded in short bursts, and each short wait counts for several. Written by the sampler
 * only.
 */
struct hp_bursts {
	uint64_t count;	/* bursts so far */
	uint64_t covered_ns;	/* time that they stand for */
	uint64_t taken_ns;	/* with recorded waits */
	uint64_t waits;	/* that were recorded and count for several */
	uint64_t blocked_ns;	/* their part of hp_sampling.blocked_ns */
	uint64_t squares;	/* sum over all bursts: (one burst's contribution, us) squared */
	uint64_t guesses;	/* offset of the first hp_guess_chunk */
	uint32_t is_whole;	/* 1 = since then CPUs have been sampled instead of threads */
	uint32_t long_ns;	/* longer waits were recorded at any time */
	uint64_t outs;	/* switches for any reason that bursts stand for; */
	uint64_t switches;	/* and the kernel's count */
	uint64_t counted_ns;	/* in so long */
	uint64_t on_ns;	/* in which waits were recorded only in bursts: set when that ends */
	uint64_t reserved[4];
};

/* The part of a node's waits that comes from bursts. */
struct hp_guess {
	uint32_t node;
	uint32_t reserved0;
	uint64_t waits;	/* their part of hp_stack_node.waits */
	uint64_t blocked_ns;	/* their part of hp_stack_node.blocked_ns */
	uint64_t squares;	/* as in hp_bursts */
};

struct hp_guess_chunk {
	uint64_t next;	/* once it is full */
	uint32_t capacity;	/* set once */
	uint32_t count;	/* in use */
	uint64_t reserved[6];
	struct hp_guess guesses[];
};

enum hp_event_kind {
	HP_EVENT_CPU = 0,	/* a sample; span_ns is the time it stands for */
	HP_EVENT_WAIT = 1,	/* back on the CPU after span_ns, or the report began then */
};

/* The same samples and waits in order of time. */
struct hp_event {
	uint64_t ns;	/* CLOCK_MONOTONIC_RAW */
	uint64_t span_ns;
	uint32_t node;	/* number of the stack node; 0 = unknown stack */
	uint32_t pid;
	uint32_t tid;
	uint32_t kind;	/* enum hp_event_kind */
};

struct hp_event_chunk {
	uint64_t next;	/* sampler: once it is full */
	uint32_t capacity;	/* set once */
	uint32_t count;	/* sampler: events in use */
	uint64_t reserved[6];
	struct hp_event events[];
};

static_assert(offsetof(struct hp_ticker, words) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_offcpu_ring) == 192 + HP_OFFCPU_WORDS * 8,
	      "format: readers rely on it");
static_assert(sizeof(struct hp_sampling) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_node) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_chunk) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_changes) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_bursts) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_guess) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_guess_chunk) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_event) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_event_chunk) == 64, "format: readers rely on it");

#endif
