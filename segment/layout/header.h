/* SPDX-License-Identifier: MIT */
/*
 * header.h - the shared segment, byte by byte: its header, and the words of every record.
 *
 * The threads of the profiled processes and the sampler write it, each its own
 * words; the report and the viewers map it read-only, perhaps after the writers
 * were killed.  Hence no pointers (only offsets from the start), fixed-width
 * fields, one writer per field, named next to it, and no "flush": a
 * thread's counts are here.  Reserved bytes are 0 and ignored. FORMAT.md says the same
 * in prose, with the reader's algorithm.
 *
 *       0  struct hp_header     how to read the rest
 *     256  struct hp_ticking    CPU timers in the profiled processes
 *     320  struct hp_ports      ports at which live figures are available
 *     512  struct hp_looks      scans of held locks
 *    2048  struct hp_levels     segments of processes that may do less
 *    4096  chunks               taken in order from hp_header.used, never returned
 *
 * Folder: segment/layout - the records of the shared segment, a header for each subject
 * May use: util
 *
 * One word for each concept in the source tree:
 *
 *   session   the processes that share one segment: a root and its descendants
 *   process   one program image in one process, or the sum of several ended
 *             ones of the same executable (`folded` says how many)
 *   object    a file with code (an executable, a shared library)
 *   module    an object at an address in a process, for a span of time
 *   block     a thread's records of calls; an ended thread's block is taken over by
 *             a later thread of the same process or executable, which continues
 *             adding: so short threads and short processes do not fill the segment
 *   function  a function of a block: its histogram, slowest calls, last calls
 *   part      a piece of a block's shadow stack: frames, which are calls in progress
 *   label     a name that the source gives to a piece of code (include/hotpath.h);
 *             a function may be such a piece: then `label` is valid
 *   row       a node of a block's calling-context tree: (parent row, function)
 *   group     64 counters of a histogram: one octave
 *   heap      a thread's counts of allocations; taken over as blocks are
 *   step      a node of a heap's tree of call paths: (caller's step, code address)
 *   site      a call path at which something was allocated: counts and bytes
 *   lock      an object that threads wait for: a mutex, a condition variable, ...; or several of
 *             them that were made at one place
 *   waiter    a thread's records of locks; taken over as blocks are
 *   use       a lock as a waiter uses it: acquisitions, waits, holds
 *   held      a lock that a thread has now
 *   order     a lock was taken while another one was held
 *   contest   waits of a waiter for a lock at one place while another place had it
 *   ticker    output of a thread's CPU timer: a ring of samples; taken over as
 *             blocks are
 *   channel   objects made by one place in the program to pass messages: pipes, socket
 *             pairs, queues; one way of them
 *   lane      one way of one of these objects; taken over by a later one of its channel
 *   probe     a message on its way whose time is taken
 *   value     values published by the program at one place, or under one key
 *   future    work that begins at one place in the program, or under one label
 *   flight    one call of it at a time, from its start to its end
 *   chunk     a piece of the segment that one block (or the header's lists) fills
 *
 * "Offset" is a byte offset from the start of the segment, 0 = none.  Every
 * record starts at a multiple of HP_LINE.  A list is a chain of `next` offsets
 * that only grows at its head; the head is stored after the record is complete.
 * Times are ticks of hp_header.clock_kind; `clock` converts them into ns.
 */
#ifndef HP_SEGMENT_LAYOUT_HEADER_H
#define HP_SEGMENT_LAYOUT_HEADER_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HP_MAGIC UINT64_C(0x3148544150544f48)	/* "HOTPATH1", little endian */
#define HP_FORMAT 1	/* readers refuse another number */
#define HP_LINE 64	/* words of different writers do not share a line */
#define HP_PAGE 4096
#define HP_SIZE_DEFAULT (UINT64_C(1) << 30)
#define HP_SIZE_MIN (UINT64_C(1) << 20)
#define HP_SIZE_MAX (UINT64_C(1) << 36)
#define HP_CHUNK_FIRST 32768	/* a block's first chunk */
#define HP_CHUNK_NEXT 65536	/* and its later ones */
#define HP_CHUNK_ROWS \
	8192	/* the first one of its rows; each later one is twice as large, up to HP_CHUNK_NEXT */

/* Costs and means are kept in ticks / 1024, "fine ticks": a call may take only a few ticks. */
#define HP_FINE_BITS 10

/* Sub-buckets of an octave: a value can be recovered within 1/128. */
#define HP_GROUP_BITS 6
#define HP_GROUP_SIZE (1 << HP_GROUP_BITS)
/* A counter that reaches HP_CARRY moves it to the same place in `carries`. */
#define HP_CARRY (UINT32_C(1) << 31)
#define HP_GROUPS 59	/* group 0: 0..63 exactly; group g: octave g + 5 */
/* On average one in this many calls of a hot, short function is timed. */
#define HP_SAMPLED 32

#define HP_DELTA_NONE INT32_MIN
#define HP_SLOWEST 8
#define HP_LOGS_MAX 4096

enum hp_clock_kind {
	HP_CLOCK_TSC = 1,	/* rdtsc, invariant */
	HP_CLOCK_CNTVCT = 2,	/* arm64 virtual counter */
	HP_CLOCK_MONOTONIC_RAW = 3,	/* clock_gettime: a tick is a ns */
};

enum hp_timing { HP_TIMING_ADAPTIVE = 0, HP_TIMING_EXACT = 1 };

/* A moment in both time bases. */
struct hp_moment {
	uint64_t ticks;
	uint64_t ns;	/* CLOCK_MONOTONIC_RAW */
};

/* Session-wide requests and answers, some of them futex words. */
enum hp_end_word {
	HP_END_RUNNING = 0,
	HP_END_ASKED = 1,
	HP_END_WAITED = 2,	/* plus the ms that the root has waited already */
};
enum hp_report_word {
	HP_REPORT_NONE = 0,
	HP_REPORT_STARTED = 1,
	HP_REPORT_DONE = 2,
	HP_REPORT_FAILED = 3
};

struct hp_header {
	/* -- line 0: how to read the rest; written once by the creator -- */
	_Atomic uint64_t magic;	/* creator, stored last: 0 = not yet readable */
	uint32_t format;	/* creator: HP_FORMAT */
	uint32_t header_size;	/* creator: fields beyond it are absent */
	uint64_t size;	/* creator: bytes mapped; offsets are below it */
	uint32_t clock_kind;	/* creator: enum hp_clock_kind */
	uint32_t timing;	/* creator: enum hp_timing */
	uint64_t clock_grain;	/* creator: smallest difference of two readings, ticks */
	uint32_t logs_limit;	/* creator: last calls kept for each function */
	uint32_t creator_pid;	/* creator */
	int64_t created_unix_ns;	/* creator: CLOCK_REALTIME at start.ns */
	uint16_t careful;	/* creator: 1 = the kernel may refuse a page: request it before writing */
	uint16_t defaults;	/* creator: offset / HP_LINE of a hp_text, the root's HOTPATH_DEFAULTS; 0 = none */
	uint32_t shut_down;	/* sampler: 1 = it ended the program, for HOTPATH_SHUTDOWN_MS */

	/* -- line 1: growing words, many writers, atomic -- */
	_Atomic uint64_t used;	/* any thread, fetch_add: bytes handed out; may pass size */
	_Atomic uint64_t refused;	/* any thread: chunks requested when full */
	_Atomic uint64_t processes;	/* any process: head of the list of hp_process */
	_Atomic uint64_t objects;	/* any process: head of the list of hp_object */
	_Atomic uint64_t lost_calls;	/* any thread: calls of threads without a block */
	_Atomic uint64_t lost_threads;	/* any thread: threads that got no block */
	_Atomic uint64_t joined;	/* any process: images that joined the session */
	_Atomic uint64_t threads_seen;	/* any thread: threads that got a block */

	/* -- line 2: time -- */
	struct hp_moment start;	/* creator */
	struct hp_moment last;	/* sampler every second, the root at its end */
	uint32_t last_seq;	/* as `last`: odd while it is being written (seq.h) */
	uint32_t cost_timed;	/* first hooked thread, like all cost_: the cost of a timed pair of hooks to the caller, fine ticks */
	uint32_t cost_inside;	/* creator: part of it inside the callee's own time, fine ticks */
	uint32_t cost_counted;	/* creator: the same for a pair that only counts, fine ticks */
	uint32_t cost_clock;	/* creator: one reading of the clock, fine ticks */
	uint32_t cost_inside_sampled;	/* creator: as cost_inside, for a sampled call */
	uint32_t cost_less;	/* creator: cost_inside is this much lower around 20 ns of work, fine ticks */
	uint32_t cost_less_sampled;	/* creator: the same for cost_inside_sampled */

	/* -- line 3: identities, and the end -- */
	uint32_t root_pid;	/* runner or creator: the session's root process */
	uint32_t runner_pid;	/* runner: `hotpath run`, parent of the root; 0 = none */
	_Atomic uint32_t sampler_pid;	/* spawner; 0 = none; dead: kernel, HP_SAMPLER_DIED */
	_Atomic uint32_t end_word;	/* root: enum hp_end_word; futex, the sampler waits */
	_Atomic uint32_t report_word;	/* sampler: enum hp_report_word; futex, root and runner wait */
	_Atomic uint32_t
		status_known;	/* runner: 1 = root_status is valid; futex, the sampler waits */
	uint32_t root_status;	/* runner: wait status of the root */
	uint32_t peak_rss_kb;	/* runner: of the root, from wait4 */
	uint64_t root_cpu_ns;	/* runner: user + system of the root, from wait4 */
	_Atomic uint64_t sampler_area;	/* sampler: offset of struct hp_watch */
	char token[16];	/* creator: names the session's socket, hex, not terminated */
};

/* The ports that the sampler holds for the live server. */
enum hp_port_kind { HP_PORT_METRICS = 0, HP_PORT_MCP = 1, HP_PORT_PROMETHEUS = 2, HP_PORT_KINDS };

/*
 * After the header, at HP_PORTS_AT. A process of the session that cannot bind()
 * one of these ports requests it: it sets its bit in `asked`, wakes waiters on
 * hp_header.end_word, and waits for `given` to change.
 */
#define HP_PORTS_AT 320

struct hp_ports {
	_Atomic uint16_t at[HP_PORT_KINDS];	/* sampler: 0 = none */
	uint16_t reserved0;
	_Atomic uint32_t asked;	/* any process, by fetch_or: 1 << enum hp_port_kind */
	_Atomic uint32_t given;	/* sampler: how often it released some; futex */
	_Atomic uint32_t lobby;	/* sampler: number of its second socket + HP_LOBBY; 0 = none */
	uint32_t reserved[11];
};

/* In the abstract name space, five hex digits of the number: the kernel has chosen it. */
#define HP_LOBBY (UINT32_C(1) << 20)

/*
 * After the ports, at HP_ROOM_AT. A process that limits its own address space unmaps the
 * part of the segment beyond this, and no room is allocated there until it and all its
 * descendants have ended (segment/room.c).
 */
#define HP_ROOM_AT 384
#define HP_ROOM_HOLDERS 10

struct hp_room {
	/*
	 * Any process lowers it, the sampler resets it to the size of the segment: end of the
	 * allocated part, a multiple of HP_PAGE, plus the number of its stores, modulo HP_PAGE; 0 =
	 * size.
	 */
	_Atomic uint64_t room;
	_Atomic uint64_t refusals;	/* any thread: memory or information that the kernel refused us */
	/*
	 * Sampler, once it has read what the header says, or the runner, once it has told it that:
	 * the inode of the sampler's own; 0 = not known.
	 */
	uint32_t pid_namespace;
	_Atomic uint32_t for_ever;	/* any process: 1 = the users of `room` cannot be seen */
	_Atomic uint32_t holders[HP_ROOM_HOLDERS];	/* its users: its pid; sampler: 0 = free */
};

/*
 * After the room, at HP_MEETING_AT. Two processes that first use an inherited pipe
 * at the same moment agree here on the creator of the lane.
 */
#define HP_MEETING_AT 448

struct hp_meeting {
	/* any process, by compare-exchange: number of created ones << 32 | offset / HP_LINE of
	 * one being created, or 0 */
	_Atomic uint64_t word;
	uint64_t reserved[7];
};

/*
 * At HP_LOOKS_AT: the sampler scans the locks that threads hold, while they sample holds at
 * random (hp_waiter.samples) and for a moment longer.  The gaps between scans are random.
 */
#define HP_LOOKS_AT 512

struct hp_looks {
	_Atomic uint32_t asked;	/* any thread: 1 = scans are requested; futex, the sampler waits */
	_Atomic uint32_t is_on;	/* sampler: 1 = it is scanning */
	_Atomic uint64_t since;	/* sampler: ticks when it was last turned on */
	_Atomic uint64_t last;	/* sampler: ticks of the last scan */
	_Atomic uint64_t gap;	/* sampler: mean gap, each weighted by its length, ticks */
	_Atomic uint64_t gap_most;	/* sampler: the longest */
	_Atomic uint64_t count;	/* sampler: scans so far */
	uint64_t reserved[2];
};

/* What timing costs all processes together (preload/guest/budget.h). */
struct hp_budget {
	_Atomic uint64_t spent;	/* any thread: ticks, in this span */
	_Atomic uint64_t since;	/* any thread, by compare-exchange: start of this span, ticks */
	_Atomic uint64_t part;	/* any thread: what each has of its credit; 0 = HP_BUDGET_ALL */
};

#define HP_BUDGET_ALL 65536

/*
 * At HP_CREDIT_AT: what timing may still cost all processes together. Readers don't need it.
 */
#define HP_CREDIT_AT 576

struct hp_credit {
	/* Messages (preload/channel/credit.c).  Any thread, by compare-exchange: ticks; in the
	 * past = there is credit. */
	_Atomic uint64_t paid_until;
	/* The same: span of time << 32 | lanes timed in it << 16 | in the one before. */
	_Atomic uint64_t lanes;
	struct hp_budget holds;	/* preload/lock/timed.c */
	struct hp_budget items;	/* preload/stream/stream.c */
};

/*
 * At HP_VACANT_AT: how many records are free, so that nobody searches long lists in vain. A process
 * that is killed in between leaves a wrong count: then a search is in vain, or a record stays free.
 * And the room that is left for records that each process searches (hp_segment_take_searched).
 * Readers don't need it.
 */
#define HP_VACANT_AT 640

struct hp_vacant {
	_Atomic uint32_t offcpu_rings;	/* any thread, sampler: of hp_offcpu_ring */
	_Atomic uint32_t processes;	/* any process, sampler: of hp_process */
	/* any thread, by compare-exchange: offset / HP_LINE << 8 | lines left there */
	_Atomic uint64_t searched;
	_Atomic uint32_t nested;	/* any process: 1 = the pids of some are of another namespace */
	uint32_t reserved[11];
};

/*
 * At HP_RECORDED_AT: kinds recorded by any process of the session, so that an empty
 * table can tell whether there was nothing or nothing was recorded.
 */
#define HP_RECORDED_AT 1024

enum hp_recorded_kind {
	HP_RECORDED_KNOWN = 1 << 0,	/* the other bits are valid: set by the creator */
	HP_RECORDED_ALLOCATIONS = 1 << 1,
	HP_RECORDED_LOCKS = 1 << 2,
	HP_RECORDED_CHANNELS = 1 << 3,
	HP_RECORDED_THREADS = 1 << 4,
	HP_RECORDED_LOOPS = 1 << 5,
	HP_RECORDED_STREAMS = 1 << 6,
	HP_RECORDED_VALUES = 1 << 7,
	HP_RECORDED_FUTURES = 1 << 8,
};

struct hp_recorded {
	_Atomic uint32_t kinds;	/* any process, by fetch_or: enum hp_recorded_kind */
	uint32_t folding;	/* sampler: grows by 2 (seq.h) each time rows of hp_watch are folded */
	_Atomic uint64_t helper_cpu_ns;	/* sampler: its CPU time, until the report began */
	_Atomic uint32_t interrupt_ns;	/* sampler: what a sampling interrupt takes; 0 = unknown */
	_Atomic uint32_t bare_fine;	/* as cost_: an empty call, with empty hooks; 0 = unknown */
	_Atomic uint64_t suspended_ns;	/* sampler: time the machine was suspended */
	_Atomic uint32_t cores;	/* sampler: CPUs that were online at the start; 0 = unknown */
	uint32_t reserved0;
	_Atomic uint64_t folded;	/* sampler: offset of the newest hp_watch_folded, 0 = none */
	uint32_t reserved[4];
};

/*
 * At HP_LEVELS_AT.  Processes with fewer rights than the session's first one have their own
 * segments (doc/internals/safety.md), one for each trust level. No two segments of a session use
 * the same offsets, so that a reader can map all of them side by side: each at the offset where its
 * records begin. In every segment, the page before the records is for a copy of its header.
 */
#define HP_LEVELS_AT 2048
#define HP_LEVELS_MAX 15	/* besides the session's own */

enum hp_level_flag {
	HP_LEVEL_OWNED = 1 << 0,	/* user and group are valid; 0 in runs kept by earlier versions */
	HP_LEVEL_KEPT = 1 << 1,	/* set in kept runs, whose first header has all losses */
	HP_LEVEL_LOST = 1 << 2,	/* with HP_LEVEL_KEPT: data of this one were lost */
};

struct hp_level_place {
	uint64_t begin;	/* sampler: offset of the page before its first record */
	uint64_t end;	/* sampler: where its offsets end: its size */
	uint32_t user;	/* sampler: effective user and group id of the first process that requested it */
	uint32_t group;
	uint32_t flags;	/* sampler: enum hp_level_flag */
	uint32_t reserved;
};

struct hp_levels {
	uint64_t begin;	/* creator: of this segment; 0 = it is the session's own */
	_Atomic uint32_t
		count;	/* sampler, in the session's own segment, like `at`: how many there are */
	_Atomic uint32_t refused;	/* sampler: processes that got none because there are too many */
	_Atomic uint32_t
		is_tainted;	/* any process, sampler: 1 = one with fewer rights than this level has written here */
	uint32_t flags;	/* creator: enum hp_level_flag, of the session's own segment */
	uint32_t user;	/* creator: its effective user and group id */
	uint32_t group;
	uint64_t used;	/* set in kept runs: of the session's own segment */
	uint64_t reserved[3];
	struct hp_level_place at[HP_LEVELS_MAX];
	uint64_t rest[4];
};

/*
 * Samples that the profiled processes take of themselves if the kernel's
 * counters are not available (preload/wait/cpu_timer.h).  At HP_TICKING_AT, directly
 * after the header.
 */
#define HP_TICKING_AT 256

struct hp_ticking {
	_Atomic uint64_t tickers;	/* any thread: head of the list of hp_ticker */
	_Atomic uint32_t is_on;	/* the root: 1 = threads of the session have timers */
	uint32_t interval_ns;	/* the root, before that: user time between two samples */
	_Atomic uint64_t refused;	/* any thread: threads that got no timer or no ticker */
	uint64_t profile;	/* sampler: offset of a hp_text, the path of samply's profile; 0 = none */
	uint64_t trouble;	/* sampler: the same, why samply provided no samples */
	_Atomic uint64_t offcpu_rings;	/* any thread: head of the list of hp_offcpu_ring */
	_Atomic uint32_t
		offcpu_least;	/* sampler: calls of at least this many ticks are noted; 0 = none */
	_Atomic uint32_t offcpu_count;	/* any thread: in the list, or refused for lack of room */
	uint32_t low_hz;	/* sampler: the rate for threads while they switched often; 0 = never */
	uint32_t first_hz;	/* sampler: the rate before it was lowered to the sampling record's; 0 = it was not */
};

static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock cannot be shared this way");
static_assert(sizeof(struct hp_header) == 256, "format: readers rely on it");
static_assert(offsetof(struct hp_header, used) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_header, start) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_header, root_pid) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_ports) == 64, "format: readers rely on it");
static_assert(HP_PORTS_AT + sizeof(struct hp_ports) <= HP_ROOM_AT, "it is behind them");
static_assert(HP_ROOM_AT + sizeof(struct hp_room) <= HP_MEETING_AT, "it is behind it");
static_assert(HP_RECORDED_AT + sizeof(struct hp_recorded) <= HP_LEVELS_AT, "it is behind it");
static_assert(sizeof(struct hp_level_place) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_levels) == 576, "format: readers rely on it");
static_assert(HP_LEVELS_AT + sizeof(struct hp_levels) <= HP_PAGE, "it is in the header's page");
static_assert(sizeof(struct hp_room) == 64, "format: readers rely on it");
static_assert(HP_MEETING_AT + sizeof(struct hp_meeting) <= HP_LOOKS_AT, "it is behind it");
static_assert(sizeof(struct hp_looks) == HP_LINE, "format: readers rely on it");
static_assert(HP_LOOKS_AT + sizeof(struct hp_looks) <= HP_CREDIT_AT, "it is behind it");
static_assert(sizeof(struct hp_credit) == 64, "it has its own line");
static_assert(HP_CREDIT_AT + sizeof(struct hp_credit) <= HP_VACANT_AT, "it is behind it");
static_assert(sizeof(struct hp_vacant) == HP_LINE, "it has its own line");
static_assert(HP_VACANT_AT + sizeof(struct hp_vacant) <= HP_RECORDED_AT, "it is behind it");
static_assert(sizeof(struct hp_recorded) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_ticking) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_header) <= HP_TICKING_AT, "it is behind the header");
static_assert(HP_TICKING_AT + sizeof(struct hp_ticking) <= HP_PORTS_AT, "it is behind that");

#endif
