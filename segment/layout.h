/* SPDX-License-Identifier: MIT */
/*
 * layout.h - the shared segment, byte by byte.
 *
 * The threads of the profiled processes and the sampler write it, each its own
 * words; the report and the viewers map it read-only, perhaps after the
 * writers were killed.  Hence no pointers (only offsets from the start),
 * fixed-width fields, one writer per field, named beside it, and no "flush":
 * what a thread counted is here.  Reserved bytes are 0 and ignored.
 * FORMAT.md says the same in prose, with the reader's algorithm.
 *
 *       0  struct hp_header     how to read the rest
 *     256  struct hp_ticking    CPU timers in the profiled processes
 *     320  struct hp_ports      ports at which live figures are to be had
 *    4096  chunks               taken in order from hp_header.used, never returned
 *
 * One word for each idea in the whole tree:
 *
 *   session   the processes that share one segment: a root and what it started
 *   process   one program image in one process, or the sum of several ended
 *             ones of the same executable (`folded` says how many)
 *   object    a file with code (an executable, a shared library)
 *   module    an object at an address in a process, for a span of time
 *   block     what one thread writes; an ended thread's block is taken over by
 *             a later thread of the same process or executable, which goes on
 *             adding: so short threads and short processes do not fill the segment
 *   function  a function of a block: its histogram, slowest calls, last calls
 *   part      a piece of a block's shadow stack: frames, which are calls that go on
 *   label     a name that the source gives to a piece of code (include/hotpath.h);
 *             a function may be such a piece: then `label` says so
 *   row       a node of a block's calling-context tree: (parent row, function)
 *   group     64 counters of a histogram: one octave
 *   heap      what one thread counts of allocations; taken over as blocks are
 *   step      a node of a heap's tree of call paths: (caller's step, code address)
 *   site      a call path at which something was allocated: counts and bytes
 *   lock      what threads wait for: a mutex, a condition variable, ...; or several of
 *             them that were made at one place
 *   waiter    what one thread writes of locks; taken over as blocks are
 *   use       a lock as a waiter uses it: acquisitions, waits, holds
 *   held      a lock that a thread has now
 *   order     a lock was taken while another one was held
 *   contest   waits of a waiter for a lock at one place while another place had it
 *   ticker    what the CPU timer of a thread writes: a ring of samples; taken over as
 *             blocks are
 *   channel   what one place in the program made to pass messages by: pipes, socket
 *             pairs, queues; one way of them
 *   lane      one way of one of these objects; taken over by a later one of its channel
 *   probe     a message on its way whose time is taken
 *   chunk     a piece of the segment that one block (or the header's lists) fills
 *
 * "Offset" is a byte offset from the start of the segment, 0 = none.  Every
 * record starts at a multiple of HP_LINE.  A list is a chain of `next` offsets
 * that only grows at its head; the head is stored after the record is complete.
 * Times are ticks of hp_header.clock_kind; `clock` holds what turns them into ns.
 */
#ifndef HP_SEGMENT_LAYOUT_H
#define HP_SEGMENT_LAYOUT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HP_MAGIC UINT64_C(0x3148544150544f48) /* "HOTPATH1", little endian */
#define HP_FORMAT 1 /* readers refuse another number */
#define HP_LINE 64 /* words of different writers do not share a line */
#define HP_PAGE 4096
#define HP_SIZE_DEFAULT (UINT64_C(1) << 30)
#define HP_SIZE_LEAST (UINT64_C(1) << 20)
#define HP_SIZE_MOST (UINT64_C(1) << 36)
#define HP_CHUNK_FIRST 32768 /* a block's first chunk */
#define HP_CHUNK_NEXT 65536 /* and its later ones */
#define HP_CHUNK_ROWS \
	8192 /* the first one of its rows; each later one is twice as large, up to HP_CHUNK_NEXT */

/* Costs and means are kept in ticks / 1024, "fine ticks": a call may cost few ticks. */
#define HP_FINE_BITS 10

/* Sub-buckets of an octave: a value is told back within 1/128. */
#define HP_GROUP_BITS 6
#define HP_GROUP_SIZE (1 << HP_GROUP_BITS)
/* A counter that reaches HP_CARRY gives it away to the same place in `carries`. */
#define HP_CARRY (UINT32_C(1) << 31)
#define HP_GROUPS 59 /* group 0: 0..63 exactly; group g: octave g + 5 */
/* Of the calls of a hot, short function, on average one in so many is timed. */
#define HP_DRAWN 32

#define HP_DELTA_NONE INT32_MIN
#define HP_SLOWEST 8
#define HP_LOGS_MOST 4096

enum hp_clock_kind {
	HP_CLOCK_TSC = 1, /* rdtsc, invariant */
	HP_CLOCK_CNTVCT = 2, /* arm64 virtual counter */
	HP_CLOCK_MONOTONIC_RAW = 3, /* clock_gettime: a tick is a ns */
};

enum hp_timing { HP_TIMING_ADAPTIVE = 0, HP_TIMING_EXACT = 1 };

/* A moment in both time bases. */
struct hp_moment {
	uint64_t ticks;
	uint64_t ns; /* CLOCK_MONOTONIC_RAW */
};

/* Session-wide asks and answers, futex words among them. */
enum hp_end_word { HP_END_RUNNING = 0, HP_END_ASKED = 1 };
enum hp_report_word {
	HP_REPORT_NONE = 0,
	HP_REPORT_STARTED = 1,
	HP_REPORT_DONE = 2,
	HP_REPORT_FAILED = 3
};

struct hp_header {
	/* -- line 0: how to read the rest; written once by the creator -- */
	_Atomic uint64_t magic; /* creator, stored last: 0 = not yet readable */
	uint32_t format; /* creator: HP_FORMAT */
	uint32_t header_size; /* creator: fields beyond it are absent */
	uint64_t size; /* creator: bytes mapped; an offset is below it */
	uint32_t clock_kind; /* creator: enum hp_clock_kind */
	uint32_t timing; /* creator: enum hp_timing */
	uint64_t clock_grain; /* creator: least difference of two readings, ticks */
	uint32_t logs_limit; /* creator: last calls kept for each function */
	uint32_t creator_pid; /* creator */
	int64_t created_unix_ns; /* creator: CLOCK_REALTIME at start.ns */
	uint16_t careful; /* creator: 1 = a page may be refused: have it before it is written */
	uint16_t defaults; /* creator: offset / HP_LINE of a hp_text, the root's HOTPATH_DEFAULTS; 0 = none */
	uint32_t shut_down; /* sampler: 1 = it ended the program, for HOTPATH_SHUTDOWN_MS */

	/* -- line 1: growing words, many writers, atomic -- */
	_Atomic uint64_t used; /* any thread, fetch_add: bytes given out; may pass size */
	_Atomic uint64_t refused; /* any thread: chunks asked for when full */
	_Atomic uint64_t processes; /* any process: head of the list of hp_process */
	_Atomic uint64_t objects; /* any process: head of the list of hp_object */
	_Atomic uint64_t lost_calls; /* any thread: calls of threads without a block */
	_Atomic uint64_t lost_threads; /* any thread: threads that got no block */
	_Atomic uint64_t joined; /* any process: images that joined the session */
	_Atomic uint64_t threads_seen; /* any thread: threads that got a block */

	/* -- line 2: time -- */
	struct hp_moment start; /* creator */
	struct hp_moment last; /* sampler every second, the root at its end */
	_Atomic uint32_t last_seq; /* odd while `last` is being written */
	uint32_t cost_timed; /* first hooked thread, as all cost_: a timed call pair costs its caller this, fine ticks */
	uint32_t cost_inside; /* creator: part of it inside the callee's own time, fine ticks */
	uint32_t cost_counted; /* creator: the same for a pair that is counted only, fine ticks */
	uint32_t cost_clock; /* creator: one reading of the clock, fine ticks */
	uint32_t cost_inside_drawn; /* creator: as cost_inside, of a drawn call */
	uint32_t cost_less; /* creator: cost_inside is this much less around 20 ns of work, fine ticks */
	uint32_t cost_less_drawn; /* creator: the same of cost_inside_drawn */

	/* -- line 3: who is who, and the end -- */
	uint32_t root_pid; /* runner or creator: the session's root process */
	uint32_t runner_pid; /* runner: `hotpath run`, parent of the root; 0 = none */
	_Atomic uint32_t sampler_pid; /* spawner; 0 = none; dead: kernel, HP_SAMPLER_DIED */
	_Atomic uint32_t end_word; /* root: enum hp_end_word; futex, the sampler waits */
	_Atomic uint32_t report_word; /* sampler: enum hp_report_word; futex, root and runner wait */
	_Atomic uint32_t
		status_known; /* runner: 1 = root_status is valid; futex, the sampler waits */
	uint32_t root_status; /* runner: wait status of the root */
	uint32_t peak_rss_kb; /* runner: of the root, from wait4 */
	uint64_t root_cpu_ns; /* runner: user + system of the root, from wait4 */
	_Atomic uint64_t sampler_area; /* sampler: offset of struct hp_watch */
	char token[16]; /* creator: names the session's socket, hex, not terminated */
};

/* The ports that the sampler holds for the server of live figures. */
enum hp_port_kind { HP_PORT_METRICS = 0, HP_PORT_MCP = 1, HP_PORT_PROMETHEUS = 2, HP_PORT_KINDS };

/*
 * Stands behind the header, at HP_PORTS_AT.  A process of the session that
 * cannot bind() one of these ports asks for it: it sets its bit in `asked`, wakes
 * who waits on hp_header.end_word, and waits for `given` to change.
 */
#define HP_PORTS_AT 320

struct hp_ports {
	_Atomic uint16_t at[HP_PORT_KINDS]; /* sampler: 0 = none */
	uint16_t reserved0;
	_Atomic uint32_t asked; /* any process, by fetch_or: 1 << enum hp_port_kind */
	_Atomic uint32_t given; /* sampler: how often it let go of some; futex */
	uint32_t reserved[12];
};

/*
 * Stands behind the ports, at HP_ROOM_AT.  A process that limits its own addresses gives back
 * what it has mapped of the segment beyond this, and nobody is given room there until it and all
 * that it forked are gone (segment/room.c).
 */
#define HP_ROOM_AT 384
#define HP_ROOM_HOLDERS 10

struct hp_room {
	/*
	 * Any process makes it less, the sampler the size of the segment again: end of what is
	 * given out, a multiple of HP_PAGE, plus how often it was stored, modulo HP_PAGE; 0 = size.
	 */
	_Atomic uint64_t room;
	_Atomic uint64_t refusals; /* any thread: memory or an answer that the kernel refused us */
	uint32_t pid_namespace; /* sampler: inode of its own; 0 = not known */
	_Atomic uint32_t for_ever; /* any process: 1 = who needs `room` cannot be seen */
	_Atomic uint32_t holders[HP_ROOM_HOLDERS]; /* who needs it: its pid; sampler: 0 = free */
};

/*
 * Stands behind the room, at HP_MEETING_AT.  Two processes that use an inherited pipe
 * first at the same moment agree by it who makes the lane.
 */
#define HP_MEETING_AT 448

struct hp_meeting {
	/* any process, by compare-exchange: how many were made << 32 | offset / HP_LINE of one being made, or 0 */
	_Atomic uint64_t word;
	uint64_t reserved[7];
};

/*
 * Process and block states.  FREE: a later process of the same executable, or a
 * later thread of the process, may take it.  MOVING: a process took it and does
 * not say yet which; nobody else writes it.
 */
enum hp_state { HP_FREE = 0, HP_TAKEN = 1, HP_MOVING = 2 };

/* How a process ended, as far as it knew itself. */
enum hp_ending {
	HP_ENDING_NONE = 0, /* still runs, or was killed */
	HP_ENDING_EXIT = 1, /* exit() or return from main */
	HP_ENDING_QUICK = 2, /* _exit, quick_exit */
	HP_ENDING_EXEC = 3, /* became another image */
};

struct hp_process {
	uint64_t next; /* set once */
	_Atomic uint32_t
		state; /* enum hp_state: MOVING by compare-exchange, then TAKEN; freed by its process or the sampler */
	uint32_t pid; /* its process; as seen in its own PID namespace */
	uint32_t parent_pid; /* its process */
	uint32_t folded; /* its process: earlier, ended processes counted in here too */
	uint64_t object; /* set once: offset of the executable's hp_object */
	_Atomic uint64_t blocks; /* its threads: head of the list of hp_block */
	_Atomic uint64_t modules; /* its threads: head of the list of hp_module */
	uint64_t start_ticks; /* its process */
	uint64_t end_ticks; /* its process at its end, or the sampler; 0 = runs */
	_Atomic uint32_t ending; /* its process: enum hp_ending */
	int32_t exit_code; /* its process, with HP_ENDING_EXIT and _QUICK */
	uint64_t cpu_ns; /* its process at its end: user + system; folded ones included */
	uint64_t peak_rss_kb; /* its process at its end: largest, of waited children too */
	_Atomic uint32_t generation; /* its threads: bumped with each object that goes */
	char comm[20]; /* its process: name, 0-terminated */
	uint64_t folded_cpu_ns; /* its process, when taken over: cpu_ns of the folded ones */
	uint64_t folded_ticks; /* its process, when taken over: lifetime of the folded ones */
	uint64_t command; /* set once: offset of a hp_text, the arguments joined by spaces */
	uint64_t starttime; /* its process: field 22 of /proc/PID/stat, 0 = unknown; tells a reused pid */
	_Atomic uint64_t heaps; /* its threads: head of the list of hp_heap */
	_Atomic int64_t heap_peak; /* its threads: most bytes that were allocated at once, so far */
	uint64_t allocator_file; /* its process: offset of a hp_text, whose malloc it is; 0 = not known */
	int64_t folded_heap_peak; /* its process, when taken over: sum of the earlier ones' peaks */
	_Atomic uint32_t heap_epoch; /* its threads: number of the last peak */
	uint32_t allocator; /* its process: enum hp_allocator_kind, perhaps with HP_ALLOCATOR_NEW */
	_Atomic uint64_t lockset; /* its threads, once: offset of hp_lockset; 0 = none */
};

/* Who provides malloc, as far as it is known. */
enum hp_allocator_kind {
	HP_ALLOCATOR_UNKNOWN = 0,
	HP_ALLOCATOR_GLIBC = 1,
	HP_ALLOCATOR_OTHER = 2, /* a shared library's */
	HP_ALLOCATOR_INSIDE = 3, /* the program's own, not seen by us */
	HP_ALLOCATOR_BEFORE = 4, /* a library's that comes before ours, not seen either */
};

/* Of earlier libraries: it has an operator new of its own, and those blocks were not seen. */
#define HP_ALLOCATOR_NEW (UINT32_C(1) << 8)

/* A text, 0-terminated, padded to HP_LINE as every record. */
struct hp_text {
	uint32_t length; /* set once: bytes without the 0 */
	char bytes[];
};

enum hp_object_kind {
	HP_OBJECT_ELF = 1,
	HP_OBJECT_VDSO = 2,
	HP_OBJECT_ANONYMOUS = 3, /* made at run time; `path` may have its names */
	HP_OBJECT_KERNEL = 4,
};

struct hp_object {
	uint64_t next; /* set once, as everything here */
	uint32_t kind; /* enum hp_object_kind */
	uint32_t build_id_size; /* 0 = none */
	uint8_t build_id[32];
	uint64_t path; /* offset of a hp_text */
	uint64_t device;
	uint64_t inode;
	_Atomic uint64_t labels; /* any thread: head of the list of hp_label */
	uint64_t reserved[6];
};

/*
 * What the source says of a place, with include/hotpath.h.  Blocks of equal
 * labels in one object are one record, that of the first that was seen.
 */
enum hp_label_kind {
	HP_LABEL_BLOCK = 1, /* a piece of code, counted as a function with this label */
	HP_LABEL_NAME = 2, /* what a function that the compiler instruments is to be called */
};

struct hp_label {
	uint64_t next; /* set once, as everything here */
	uint64_t module; /* offset of the hp_module that holds its descriptor; 0 = none does */
	uint64_t address; /* ELF address of the descriptor; without a module this record's offset */
	uint64_t text; /* offset of a hp_text */
	uint64_t file; /* offset of a hp_text; 0 = unknown */
	uint64_t function; /* NAME: offset of a hp_text, the function around it; 0 = unknown */
	uint32_t line;
	uint32_t kind; /* enum hp_label_kind */
	uint64_t reserved;
};

struct hp_module {
	uint64_t next; /* set once, as everything but `to` */
	uint64_t object; /* offset of hp_object */
	uint64_t bias; /* address in the process = ELF address + bias */
	uint64_t begin; /* lowest and end of its addresses */
	uint64_t end;
	uint32_t from; /* generation when first seen */
	_Atomic uint32_t to; /* its process: generation when it went; 0 = there, or there again */
	uint64_t reserved[2];
};

struct hp_block {
	uint64_t next; /* set once */
	uint64_t process; /* set once: offset of hp_process */
	_Atomic uint32_t state; /* enum hp_state: taken by compare-exchange, freed by its thread */
	uint32_t tid; /* its thread (present or last) */
	uint32_t pid; /* its thread: process that took it */
	uint32_t threads; /* its thread: how many used this block so far */
	_Atomic uint64_t functions; /* its thread: head of the list of hp_function */
	_Atomic uint64_t rows; /* its thread: head of the list of hp_row */
	uint64_t start_ticks; /* its thread */
	uint64_t end_ticks; /* its thread; 0 = runs */

	uint64_t row_count; /* its thread */
	uint64_t unwound; /* its thread: calls left by longjmp, exception or the thread's end */
	uint64_t unpaired; /* its thread: exits without their entry */
	uint64_t untimed_signal; /* its thread: calls of signal handlers inside our slow path: counted, not timed */
	uint64_t folded_rows; /* its thread: calls charged to a flat row because the tree was full */
	uint64_t folded_functions; /* its thread: calls charged to `<other>` because the segment was full */
	uint64_t stacks; /* its thread: stacks seen beside its own (coroutines, sigaltstack) */
	uint64_t overhead; /* its thread: what our hooks cost it, fine ticks */

	uint64_t root; /* set once: offset of the row without function, parent of all */
	uint64_t base; /* its thread: where the segment is mapped in `pid`; addresses in frames count from there */
	_Atomic uint64_t parts; /* its thread: head of the list of hp_part */
	uint64_t cpu_ns; /* its thread, when it ends: of the ended ones */
	uint64_t arena; /* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end; /* its thread: and its end */
	uint64_t row_arena; /* its thread: the same of the newest chunk of rows */
	uint64_t row_arena_end;
};

/*
 * A call that has begun and not ended, in the shadow stack of its thread.  A
 * reader tells the live frames of a part from left-overs above them by
 * hp_function.active: from the second frame up, each takes one from the count
 * of its function, and the first that finds it used up is not live.
 */
struct hp_frame {
	uint64_t row; /* owner: address of its hp_row in the owner's process */
	uint64_t cfa; /* owner: stack pointer before the call of the entry hook; odd = tagged or no call */
	uint64_t child; /* owner: time in callees so far, fine ticks, measured or estimated */
	uint64_t weight; /* owner: 0 = counted only, 1 = timed, else sampled; with HP_WEIGHT_RESULT, _TALLY */
	uint64_t start; /* owner: ticks - (hp_block.overhead >> HP_FINE_BITS) at the entry, if weight != 0 */
	uint64_t reserved[1];
	uint64_t tally; /* owner: with HP_WEIGHT_TALLY: address of its hp_tally in the owner's process */
	uint64_t result; /* owner: with HP_WEIGHT_RESULT: number of its hp_result */
};

/* In hp_frame.weight: the call has a result.  So its end takes the long way, which knows of them. */
#define HP_WEIGHT_RESULT (UINT64_C(1) << 63)

/* The same: it allocated, or a callee did. */
#define HP_WEIGHT_TALLY (UINT64_C(1) << 62)
#define HP_WEIGHT_FLAGS (HP_WEIGHT_RESULT | HP_WEIGHT_TALLY)

/* What a call that goes on has allocated so far. */
struct hp_tally {
	uint64_t bytes; /* owner: callees apart */
	uint64_t count; /* owner: blocks */
	uint64_t below_bytes; /* owner: by callees that have ended */
	uint64_t below_count; /* owner */
	int64_t live; /* owner: bytes that the thread had at the call's start, less what it freed */
	int64_t live_most; /* owner: the most since */
	int64_t blocks; /* owner: the same in blocks */
	int64_t blocks_most; /* owner */
};

/* Of what calls allocated; the last two with HOTPATH_ALLOC_METRIC=bytes-max or count-max only. */
enum hp_charge_kind {
	HP_CHARGE_ALONE_BYTES = 0, /* of calls whose callees allocated nothing */
	HP_CHARGE_ALONE_COUNT, /* but those of one block: hp_charge.ones */
	HP_CHARGE_BYTES, /* of the others: callees apart */
	HP_CHARGE_COUNT,
	HP_CHARGE_WHOLE_BYTES, /* of the others: callees included */
	HP_CHARGE_WHOLE_COUNT,
	HP_CHARGE_MOST_BYTES, /* highest net of the thread since entry; calls above 0 */
	HP_CHARGE_MOST_COUNT,
	HP_CHARGE_KINDS
};

/* A histogram of them, without the calls that have 0. */
struct hp_charge_spread {
	uint32_t groups
		[HP_GROUPS]; /* owner: offset / HP_LINE of each group of 64 uint64_t, 0 = no such value yet */
	uint32_t reserved;
	uint64_t least; /* owner */
	uint64_t most; /* owner */
};

/* What the ended calls of a function allocated. */
struct hp_charge {
	uint64_t ones; /* owner: calls that allocated one block, and their callees nothing */
	uint64_t whole_bytes; /* owner: outermost calls, callees included */
	uint64_t whole_count; /* owner: blocks */
	uint64_t sums[HP_CHARGE_KINDS]; /* owner: over all calls, nested ones too */
	uint64_t most_bytes; /* owner: highest net of a call */
	uint64_t most_count; /* owner */
	uint32_t spreads[HP_CHARGE_KINDS]; /* owner: offset / HP_LINE of hp_charge_spread; 0 = none */
	uint32_t logs; /* owner: offset / HP_LINE of logs_limit hp_spent, a ring; 0 = none */
	uint32_t log_next; /* owner */
	uint32_t has_most; /* owner: 1 = the net was followed */
	uint32_t reserved0;
	uint64_t reserved[5];
};

/* A call that allocated. */
struct hp_spent {
	uint64_t at; /* ticks at the clock's last reading by its thread; 0 = unused */
	uint64_t bytes;
	uint64_t whole_bytes;
	uint32_t count; /* UINT32_MAX = that or more */
	uint32_t whole_count;
	uint32_t tid;
	uint32_t reserved[3];
};

/*
 * Shadow stacks grow by parts.  The lowest frame of a part is no call.  It
 * stands for what is below it: its row is the parent of the calls, its cfa the
 * end of the stack or of the call below, plus 1.
 */
struct hp_part {
	uint64_t next; /* set once: list of the block */
	uint64_t below; /* owner: address of the part below; 0 = lowest of its stack */
	uint64_t above; /* owner: address of the part above, kept for the next time; 0 = none yet */
	uint64_t resume; /* owner: address of the frame after the last one of the part below */
	uint32_t capacity; /* set once: frames */
	uint32_t user; /* owner: hp_block.threads + 1 when the process that uses it took the block */
	uint32_t reserved[6];
	struct hp_frame frames[];
};

/* One of the last or slowest calls.  `ticks` 0 = never used. */
struct hp_call {
	uint64_t start; /* ticks */
	uint64_t ticks; /* duration, our own cost subtracted, at least 1 */
	uint32_t tid;
	uint32_t result; /* number of its hp_result in the function's ring; 0 = none */
};

/*
 * What calls of a function said of their result (HOTPATH_RESULT).  A ring: the
 * text with the number n is at place n % capacity, until a later one is; then
 * `number` is another.
 */
#define HP_RESULT_MOST 120

struct hp_result {
	uint32_t number; /* owner: from 1 on; 0 = unused, or being written */
	uint32_t length; /* owner */
	char bytes[HP_RESULT_MOST]; /* owner: not terminated */
};

struct hp_results {
	uint32_t capacity; /* set once */
	uint32_t last; /* owner: the highest number so far */
	uint64_t reserved[7];
	struct hp_result ring[];
};

/*
 * What a counted call needs of its function: small, so that those of many lie
 * in few lines.  With `draws`, one call in draws * HP_DRAWN is timed, at random,
 * and then stands for as many in the histogram.
 */
struct hp_gist {
	uint32_t active; /* owner: calls of the function on the thread's stacks now */
	uint32_t draws; /* owner: 0 = every call is timed; else one of draws * HP_DRAWN is drawn */
	int32_t mean_self; /* owner: mean own time of a sampled call, fine ticks */
	int32_t exit_delta; /* owner: stack pointer at the exit hook - at the entry hook, last seen */
};

/* A function of a block. */
struct hp_function {
	uint32_t gist; /* set once: offset / 16 of its hp_gist */
	uint32_t logs; /* set once: offset / HP_LINE of hp_call[hp_header.logs_limit], 0 = none */
	uint32_t recursive; /* owner: not 0 = was entered while active; above 1: 1 + draws of its nested calls */
	uint32_t log_next; /* owner: next place in the ring of last calls */
	uint64_t usual_most; /* owner: from `least` up to here, calls only add to counters that exist */
	uint64_t timed; /* owner: calls timed while each was */
	int64_t timed_self; /* owner: their own time, fine ticks; callees may be estimated */
	uint64_t least; /* owner: shortest measured duration, ticks */
	uint64_t reserved[2];

	uint64_t next; /* set once */
	uint64_t module; /* set once: offset of hp_module; 0 = none contains it */
	uint64_t address; /* set once: ELF address in the module's object; with module 0 the plain address */
	uint64_t fn; /* owner: address in the process that owns the block now */
	uint64_t most; /* owner: longest measured duration, ticks; 0 = none, and `least` says nothing */
	int32_t exit_delta_other; /* owner: another exit_delta; HP_DELTA_NONE = not seen */
	int32_t outer_mean; /* owner: if recursive, running mean of its outermost calls' duration, ticks */
	uint64_t carries; /* owner: offset of uint32_t[HP_GROUP_SIZE]: as `groups`, of what the counters carried, in units of HP_CARRY; 0 = none */
	uint64_t slow_floor; /* owner: calls up to this length are not among the slowest */

	uint32_t groups
		[HP_GROUPS]; /* owner: offset / HP_LINE of each group of 64 uint32_t, 0 = no such value yet */
	uint32_t label; /* owner: offset / HP_LINE of its hp_label; 0 = none */
	uint32_t results; /* owner: offset / HP_LINE of its hp_results; 0 = none */
	uint32_t charge; /* owner: offset / HP_LINE of its hp_charge; 0 = none */
	uint32_t reserved2[2];
	struct hp_call slowest[HP_SLOWEST]; /* owner: unordered */
};

/*
 * A row of the tree.  "Outer" calls are those during which the function is not
 * on the stack already; only they add to inclusive time.  Calls come in three
 * kinds: timed (every call of it was, then); sampled (drawn at random among
 * the rest); and the others, counted only.
 *
 *   own time       = self_timed
 *                    + (calls - timed - nested) * self_sampled / (sampled - tail_count)
 *   inclusive time = outer_timed + below
 *                    + (calls - timed - nested) * self_sampled / (sampled - tail_count)
 *
 * Durations are ticks with the cost of our own hooks subtracted.  Besides the
 * function's hp_gist, the first line is all that a usual call touches.
 */
struct hp_row {
	uint64_t calls; /* owner */
	uint64_t fn; /* owner's process: code address of the function in it; an address that no code has = gone */
	uint64_t above; /* owner: address of `parent` in its process */
	uint64_t gist_at; /* owner: address of the function's hp_gist there */
	int64_t below; /* owner: time in callees, of the outer calls that are not `timed`, fine ticks */
	uint64_t timed; /* owner: calls timed when all were */
	int64_t self_timed; /* owner: own time of the timed and the nested ones, fine ticks; may be estimated */
	int64_t outer_timed; /* owner: inclusive time of those timed that were outer */

	uint32_t function; /* set once: offset / HP_LINE of hp_function; 0 = the root row */
	uint32_t parent; /* set once: offset / HP_LINE of hp_row; 0 = none */
	uint32_t next; /* set once: offset / HP_LINE; list of the block */
	uint32_t tail_count; /* owner: sampled calls far above the mean, modulo 2^32: kept apart, */
	uint64_t tail_ticks; /* owner: since one seen stall must not be multiplied */
	uint64_t nested; /* owner: calls during which the function was active, not timed */
	uint64_t sampled; /* owner: outer calls timed by sampling */
	int64_t self_sampled; /* owner: their own time, tail excluded, fine ticks */
	double square_sampled; /* owner: sum of squares of the same, ticks squared */
	uint64_t tail_carry; /* owner: times that tail_count came to 2^32 */
};

/* Drawn blocks, one in some 256 at random, by powers of two: class n is above 2^(n-1), up to 2^n. */
#define HP_SIZE_CLASSES 32 /* bytes; the last: all above */
#define HP_LIFE_CLASSES 24 /* 1024 ticks, rounded down; the last: all above */

/*
 * What one thread counts of allocations, requested bytes.  The newest block is
 * `pending` as long as its thread neither allocates nor frees it: it is in no
 * site yet.  If it is freed then, it was temporary, and adds to nothing else.
 */
struct hp_heap {
	uint64_t next; /* set once */
	uint64_t process; /* set once: offset of hp_process */
	_Atomic uint32_t state; /* enum hp_state: as hp_block.state */
	uint32_t tid; /* its thread (present or last) */
	uint32_t pid; /* its thread: process that took it */
	uint32_t threads; /* its thread: how many used this heap so far */
	uint64_t first_bytes; /* its thread: bytes + temporary_bytes when it took the heap */
	int64_t first_live; /* its thread: `live` when it took the heap */
	int64_t folded_live; /* its process, when taken over: `live` then */
	uint64_t maps; /* its thread: offset of its process's hp_maps; 0 = it mapped nothing */

	int64_t live; /* its thread: bytes it allocated less bytes it freed, pending apart; may be < 0 */
	uint64_t pending; /* its thread: offset of the pending block's hp_site, 0 = none */
	uint64_t pending_bytes; /* its thread */
	uint64_t bytes; /* its thread: of its sites */
	uint64_t temporary_bytes; /* its thread: of its sites */
	_Atomic uint64_t sites; /* its thread: head of the list of hp_site */
	_Atomic uint64_t steps; /* its thread: head of the list of hp_steps */
	uint64_t site_count; /* its thread */

	uint64_t walks; /* its thread: allocations whose path was walked; the others' came from the cache */
	uint64_t incomplete; /* its thread: of them, ended before the outermost frame */
	uint64_t cut; /* its thread: of them, deeper than HOTPATH_ALLOC_DEPTH */
	uint64_t unproven; /* its thread: of them, not fit for the cache */
	uint64_t proofs; /* its thread: answers of the cache that were walked again */
	uint64_t mismatches; /* its thread: and were wrong */
	uint64_t strange_frees; /* its thread: of blocks that nobody here allocated */
	uint64_t folded_sites; /* its thread: allocations without a site of their own */

	uint64_t arena; /* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end; /* its thread: and its end */
	uint64_t other; /* set once: the site that takes what gets none of its own */
	uint64_t lives[HP_LIFE_CLASSES]; /* its thread: drawn blocks it freed, by age */
	uint64_t sizes[HP_SIZE_CLASSES]; /* its thread: drawn blocks, by size */
	_Atomic uint64_t map_sites; /* its thread: head of a list of hp_site, of direct maps */
	uint64_t drawn_lost; /* its thread: drawn blocks whose age has no room */
	uint32_t leak_state; /* its thread, the last of its process: enum hp_leak_state */
	uint32_t leak_scans; /* the same: processes that were told what is lost */
	uint64_t reserved[2];
};

/* What a process could say at its end of which blocks nothing points to. */
enum hp_leak_state {
	HP_LEAKS_UNKNOWN = 0, /* it did not ask, or ended otherwise than by exit */
	HP_LEAKS_TOLD = 1, /* hp_site.lost has them */
	HP_LEAKS_THREADS = 2, /* other threads were there still */
	HP_LEAKS_ALLOCATOR = 3, /* another allocator than glibc's */
	HP_LEAKS_REFUSED = 4, /* no memory, no /proc, or too much to look through */
};

/* Steps lie in order, callers before what they call; ids count 16 bytes from the segment's start. */
struct hp_step {
	uint32_t caller; /* set once: id of the step below; 0 = none */
	uint32_t object; /* set once: offset / HP_LINE of hp_object; HP_STEP_PLAIN | high half of a plain address */
	uint32_t address; /* set once: return address: ELF address, or low half; object 0: enum hp_step_mark */
	uint32_t site; /* owner: offset / HP_LINE of its hp_site; 0 = none */
};

#define HP_STEP_PLAIN (UINT32_C(1) << 31)

/* Steps that are no code; outermost. */
enum hp_step_mark {
	HP_STEP_OTHER = 1, /* no path: the segment was full, or a signal handler came between */
	HP_STEP_CUT = 2, /* deeper than HOTPATH_ALLOC_DEPTH: the outer frames are not known */
	HP_STEP_LOST = 3, /* the walk ended before the outermost frame */
};

struct hp_steps {
	uint64_t next; /* set once: list of the heap */
	uint32_t capacity; /* set once */
	_Atomic uint32_t count; /* owner */
	uint64_t reserved[6];
	struct hp_step at[];
};

/*
 * All of a site's blocks: allocs + temporary.  On the heap are allocs - frees -
 * far_frees.  What it held at the process's peak: at_peak if `epoch` is the
 * process's, else what it holds (nothing changed since).
 */
struct hp_site {
	uint64_t allocs; /* owner: blocks that outlived the thread's next allocation */
	uint64_t bytes; /* owner: of these */
	uint64_t frees; /* owner: of these, by the same thread */
	uint64_t freed; /* owner: bytes */
	uint64_t temporary; /* owner: the others */
	uint64_t temporary_bytes; /* owner */
	int64_t at_peak; /* owner, or who frees: bytes held at peak number `epoch`, but for `base` */
	_Atomic uint32_t epoch; /* owner, or who frees */
	uint32_t heap; /* set once: offset / HP_LINE of its hp_heap */

	_Atomic uint64_t far_frees; /* other threads of the process, atomic add */
	_Atomic uint64_t far_freed; /* the same: bytes */
	int64_t base; /* its process, when taken over: bytes that earlier processes left */
	int64_t folded_peak; /* its process, when taken over: sum of at_peak of the earlier ones */
	uint64_t next; /* set once: list of the heap */
	uint32_t step; /* set once: id of the innermost step */
	uint32_t map_site; /* owner: offset / HP_LINE of the site of direct maps on this path; 0 = none */
	union {
		uint32_t kinds; /* of direct maps, who holds hp_maps: bits of enum hp_map_kind */
		uint32_t lost; /* of blocks, its process at its end: that nothing points to */
	};
	uint32_t spread; /* owner: offset / HP_LINE of its hp_spread_of_blocks; 0 = none */
	union {
		uint64_t splits; /* of direct maps, the same: times that a map fell into two */
		uint64_t lost_bytes; /* of blocks: bytes of those that are lost */
	};
};

/* The drawn blocks of one site that has many. */
struct hp_spread_of_blocks {
	uint32_t sizes[HP_SIZE_CLASSES]; /* owner; UINT32_MAX = that or more, */
	_Atomic uint32_t lives[HP_LIFE_CLASSES]; /* who frees, atomic add: and here */
	uint32_t reserved[8];
};

/*
 * What a process mapped by itself, not through the allocator: mmap, mremap, brk.
 * Each range of it belongs to a hp_site of its own kind, in hp_heap.map_sites:
 * `allocs` and `bytes` of what was mapped, `frees` of ranges that are gone,
 * `freed` of bytes; ranges that are left: allocs + splits - frees.  All of it is
 * written by who has the process's lock of maps.
 */
struct hp_maps {
	int64_t live; /* bytes mapped now */
	int64_t peak; /* most, as far as noted */
	uint32_t epoch; /* number of the last peak */
	uint32_t fault; /* enum hp_maps_fault */
	int64_t folded_live; /* its process, when taken over: `live` then */
	int64_t folded_peak; /* its process, when taken over: sum of the earlier ones' peaks */
	_Atomic uint64_t lost; /* its threads: calls that were not recorded */
	uint64_t other; /* set once: offset of the site that takes what has no path */
	uint64_t inner; /* set once: the same of the allocator's own */
};

enum hp_map_kind {
	HP_MAP_MEMORY = 1, /* private, of zeroes */
	HP_MAP_SHARED = 2,
	HP_MAP_FILE = 4,
	HP_MAP_RESERVED = 8, /* no access at first */
	HP_MAP_BREAK = 16, /* brk, sbrk */
	HP_MAP_MOVED = 32, /* mremap */
	HP_MAP_INNER = 64, /* by an allocator, for what it gives out */
};

/* Why the figures end before the process did. */
enum hp_maps_fault {
	HP_MAPS_FINE = 0,
	HP_MAPS_LEFT = 1, /* a thread left the middle of our code: longjmp, cancellation */
	HP_MAPS_NO_MEMORY = 2,
};

/* What a process has of locks. */
struct hp_lockset {
	_Atomic uint64_t locks; /* its threads: head of the list of hp_lock */
	_Atomic uint64_t waiters; /* its threads: head of the list of hp_waiter */
	_Atomic uint64_t lost; /* its threads: acquisitions that found no room for a record */
	_Atomic uint64_t channels; /* its threads: head of the list of hp_channel */
	_Atomic uint64_t lost_channels; /* its threads: objects that found no room for a record */
	_Atomic uint64_t threads; /* its threads: head of the list of hp_thread */
	_Atomic uint64_t thread_count; /* its threads: that were made, also beyond HP_THREADS_MOST */
	_Atomic uint64_t names; /* its threads: head of the list of hp_thread_name */
};

#define HP_THREADS_MOST 4096 /* records of a process and those that take its place */

/* A thread that was made by the C library: who made it. */
struct hp_thread {
	uint64_t next; /* set once */
	uint32_t pid; /* its maker */
	_Atomic uint32_t tid; /* itself, last; 0 = it did not begin */
	uint64_t routine; /* its maker: address of its function in the process */
	uint64_t argument; /* its maker, for itself; with `end`: ns of CPU that it took */
	uint64_t at; /* its maker: return address of the call that made it */
	uint64_t start; /* its maker: ticks when it was asked for */
	uint32_t path; /* its maker: id of the hp_step, our functions included; 0 = unknown */
	uint32_t maker; /* its maker: its tid */
	uint64_t end; /* itself: ticks when its destructors began to run; 0 = it goes on, or nobody knows */
};

/* What a thread with a record was called at its end, if it was not called as its process is. */
struct hp_thread_name {
	uint64_t next; /* set once, as everything here */
	uint32_t pid;
	uint32_t tid;
	uint64_t end; /* ticks, as in its hp_thread; tells a reused tid */
	char name[20]; /* 0-terminated */
	uint32_t reserved[5];
};

enum hp_lock_kind {
	HP_LOCK_MUTEX = 1,
	HP_LOCK_RWLOCK = 2,
	HP_LOCK_SPIN = 3,
	HP_LOCK_COND = 4,
	HP_LOCK_SEM = 5,
	HP_LOCK_BARRIER = 6,
	HP_LOCK_ONCE = 7,
	HP_LOCK_THREAD = 8, /* pthread_join and its kin */
	HP_LOCK_FILE = 9, /* flock, lockf, fcntl: waits and counts, no holds */
	HP_LOCK_STREAM = 10, /* flockfile */
	HP_LOCK_GMUTEX = 11, /* GLib's; their sides are as of those above */
	HP_LOCK_GRECMUTEX = 12,
	HP_LOCK_GRWLOCK = 13,
	HP_LOCK_GCOND = 14,
	HP_LOCK_CHANNEL =
		15, /* waits for a message, or for room: `address` is the offset of a hp_channel */
	HP_LOCK_KINDS
};

/*
 * A lock is known by its own address where that lies in an object (a static
 * one), else by its label, else by its site, the place that made it or used it
 * first, and a number.
 */
struct hp_lock {
	uint64_t next; /* set once */
	uint32_t kind; /* set once: enum hp_lock_kind */
	uint32_t number; /* set once: of those of its site, from 0; or HP_LOCK_MORE, HP_LOCK_STATIC */
	uint64_t module; /* set once: offset of the hp_module that `address` is in; 0 = none */
	uint64_t address; /* set once: ELF address with a module; else where the first of them was, for people */
	uint64_t site_module; /* set once: the same of the code that made it or used it first; 0 = none */
	uint64_t site_address; /* set once: a return address */
	uint32_t is_made; /* set once: 0 = the site used it first; else HP_LOCK_MADE, HP_LOCK_ALLOCATED */
	uint32_t owner; /* any thread of the process that took it last: hp_process.folded then, plus 1 */
	_Atomic uint64_t objects; /* any thread: how many objects this is */

	_Atomic uint64_t signalled; /* any thread: ticks of the last signal to somebody */
	_Atomic uint64_t waiting; /* any thread: how many wait now; conditions, semaphores */
	uint64_t label; /* set once: offset of a hp_text; what the program calls it, a file's path; 0 = none */
	_Atomic uint64_t
		answer; /* who had it and was asked; who gets it takes it: see preload/lock/path.c */
	uint32_t inside; /* set once: with HP_LOCK_ALLOCATED its bytes from the block's begin, plus 1; 0 = not known */
	uint32_t reserved[7];
};

#define HP_LOCK_INSIDE_MOST 2047 /* bytes from the block's begin; of others `inside` is 0 */

#define HP_LOCK_MADE 1 /* the site made it */
#define HP_LOCK_ALLOCATED 2 /* it allocated the block of memory that it is in */

#define HP_LOCK_MORE UINT32_MAX /* all further ones of its site */
#define HP_LOCK_STATIC (UINT32_MAX - 1) /* the one at `address` in `module` */
#define HP_LOCK_LABEL (UINT32_MAX - 2) /* all that have its `label` */
#define HP_LOCK_OF_CHANNEL (UINT32_MAX - 3) /* one way of a channel */

/* What a thread does with a lock; each side is a use of its own. */
enum hp_lock_side {
	HP_SIDE_ONLY = 0, /* locks it, waits for it */
	HP_SIDE_READ = 1, /* of a rwlock, a file; receives from a channel that is empty */
	HP_SIDE_WRITE = 2, /* sends into a channel that is full */
	HP_SIDE_POST = 3, /* signals a condition, posts a semaphore: `count` only */
	HP_SIDES
};

/* A lock that the thread has.  With start = 0 nothing behind it is to be read. */
struct hp_held {
	_Atomic uint64_t address; /* owner: of the lock, in its process; 0 = none, nor above */
	uint64_t use; /* owner: address of the hp_use there */
	uint64_t at; /* owner: return address of the call that got it */
	uint32_t depth; /* owner: how often it was locked again, recursively */
	uint32_t asked; /* a waiter: 1 = say by which path it is released; the owner takes it back */
	uint64_t start; /* owner: ticks when it was got; 0 = this hold is not timed */
	uint64_t waited; /* owner: ticks that it took; 0 = it was free */
	uint64_t contest; /* owner: address of the hp_contest; 0 = none */
	uint32_t weight; /* owner: a timed hold stands for so many */
	uint32_t reserved;
};

#define HP_HELD_MOST 32

/* What a thread waited for, as sums. */
enum hp_wait_class {
	HP_WAIT_LOCK = 0, /* what somebody has: mutexes, rwlocks, ... */
	HP_WAIT_SIGNAL = 1, /* conditions, semaphores, barriers */
	HP_WAIT_THREAD = 2, /* the end of a thread */
	HP_WAIT_FILE = 3, /* locks on files */
	HP_WAIT_CLASSES
};

struct hp_waiter {
	uint64_t next; /* set once */
	uint64_t process; /* set once: offset of hp_process */
	_Atomic uint32_t state; /* enum hp_state: as hp_block.state */
	uint32_t tid; /* its thread (present or last) */
	uint32_t pid; /* its thread: process that took it */
	uint32_t threads; /* its thread: how many used it so far */
	_Atomic uint64_t uses; /* its thread: head of the list of hp_use */
	_Atomic uint64_t contests; /* its thread: head of the list of hp_contest */
	uint64_t arena; /* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end; /* its thread: and its end */

	/* The present wait: all of it is written before `since`. */
	_Atomic uint64_t since; /* its thread: ticks; 0 = it does not wait */
	uint64_t lock; /* its thread: offset of the hp_lock */
	uint64_t at; /* its thread: return address of the call that waits */
	uint64_t base; /* its thread: where the segment is mapped in `pid` */
	uint64_t address; /* its thread: of the lock, in its process */
	uint32_t holder; /* its thread: tid of the thread that had the lock; 0 = unknown */
	uint32_t side; /* its thread: enum hp_lock_side */
	_Atomic uint64_t orders; /* its thread: head of the list of hp_order */
	uint32_t untold; /* its thread: acquisitions of which no hold is known: more than HP_HELD_MOST at once; UINT32_MAX = that or more */
	uint32_t path; /* its thread: of the present wait: id of the hp_step, our functions included; 0 = unknown */

	uint64_t waited[HP_WAIT_CLASSES]; /* its thread: ticks, of waits that have ended */
	uint64_t waited_before[HP_WAIT_CLASSES]; /* its thread: the same when it took the waiter */

	struct hp_held held[HP_HELD_MOST]; /* its thread: in the order in which it got them */
};

/*
 * Holds are of two kinds: each was timed, or one of HP_LOCK_DRAWN at random:
 *
 *   time held = timed_ticks + (count - timed) * drawn_ticks / drawn
 *
 * After HP_LOCK_OFTEN acquisitions one of HP_LOCK_RARE is drawn, and counts as
 * HP_LOCK_RARE / HP_LOCK_DRAWN draws, also its time.  How many did says
 * hp_spread.rare.
 *
 * What cannot be held has no holds.  Of a condition, `timed` and what belongs to
 * it are from a signal to the return of a wait, and `failed` are returns without
 * a signal.
 */
struct hp_use {
	uint64_t count; /* owner: acquisitions */
	uint64_t next_timed; /* owner: the hold of the acquisition with this number is timed */
	uint64_t contended; /* owner: acquisitions that found it taken, and have ended */
	uint64_t wait_ticks; /* owner: their time */
	uint64_t wait_most; /* owner: the longest of them */
	uint64_t timed; /* owner: holds timed while each was, or after a wait */
	uint64_t timed_ticks; /* owner */
	uint64_t drawn; /* owner: holds drawn at random, a rare one as several */

	uint64_t drawn_ticks; /* owner */
	uint64_t hold_most; /* owner: the longest timed */
	uint64_t failed; /* owner: tries that found it taken */
	uint32_t timeouts; /* owner; UINT32_MAX = that or more */
	uint32_t is_drawn; /* owner: 1 = holds are timed at random now */
	uint32_t waits; /* owner: offset / HP_LINE of hp_spread of the waits; 0 = none */
	uint32_t holds; /* owner: the same of the holds */
	uint32_t side; /* set once: enum hp_lock_side */
	uint32_t mean; /* owner: running mean of timed holds, ticks */
	uint64_t next; /* set once */
	uint64_t lock; /* set once: offset of hp_lock */
};

#define HP_LOCK_DRAWN 16
#define HP_LOCK_RARE 64
#define HP_LOCK_OFTEN 65536

/* One lock was taken while another one was held, not only tried: the first time it was. */
struct hp_order {
	uint64_t next; /* set once, as everything here */
	uint64_t held; /* offset of the hp_use of the one that was held */
	uint64_t taken; /* and of the other one */
	uint64_t held_module; /* of the return address by which it had been got; 0 = none */
	uint64_t held_address;
	uint64_t taken_module; /* the same of the call that took the other one */
	uint64_t taken_address;
	uint64_t reserved;
};

/* A histogram with counters that need no carries. */
struct hp_spread {
	uint32_t groups
		[HP_GROUPS]; /* owner: offset / HP_LINE of each group of 64 uint64_t, 0 = no such value yet */
	uint32_t rare; /* owner: of holds: draws that stand for HP_LOCK_RARE each, modulo 2^32 */
	uint32_t rare_carry; /* owner: times that it came to 2^32 */
	uint32_t reserved[3];
};

struct hp_contest {
	uint64_t next; /* set once */
	uint64_t use; /* set once: offset of hp_use of the waiter */
	uint64_t at_module; /* set once: of the waiter's return address; 0 = none */
	uint64_t at_address; /* set once */
	uint64_t row; /* set once: offset of the waiter's hp_row; 0 = no instrumented function */
	uint64_t holder_module; /* set once: of the return address of the call by which the holder got it; 0 = none */
	uint64_t holder_address; /* set once; with holder_module 0: 0 = unknown */
	uint32_t holder; /* set once: offset / HP_LINE of the holder's hp_waiter; 0 = unknown */
	uint32_t path; /* set once: id of the waiter's hp_step, our functions included; 0 = unknown */

	uint64_t count; /* owner */
	uint64_t ticks; /* owner */
	uint64_t most; /* owner */
	uint64_t most_start; /* owner: ticks when the longest began */
	uint32_t from; /* owner: id of the hp_step by which it was released in the longest that knows; 0 = unknown */
	uint32_t from_waiter; /* owner: offset / HP_LINE of the hp_waiter that released it then */
	uint64_t from_ticks; /* owner: how long that wait was */
	uint64_t reserved[2];
};

/* --- channels --- */

enum hp_channel_kind {
	HP_CHANNEL_PIPE = 1,
	HP_CHANNEL_FIFO = 2,
	HP_CHANNEL_STREAM = 3, /* socketpair(AF_UNIX, SOCK_STREAM) */
	HP_CHANNEL_PACKET = 4, /* SOCK_SEQPACKET */
	HP_CHANNEL_DATAGRAM = 5, /* SOCK_DGRAM */
	HP_CHANNEL_EVENT = 6, /* eventfd */
	HP_CHANNEL_MQ = 7, /* POSIX message queue */
	HP_CHANNEL_SYSV = 8, /* System V message queue */
	HP_CHANNEL_QUEUE = 9, /* GAsyncQueue */
	HP_CHANNEL_THREAD = 10, /* a thread's result: pthread_create -> pthread_join */
	HP_CHANNEL_CUSTOM = 11, /* HOTPATH_CHANNEL of include/hotpath.h */
	HP_CHANNEL_KINDS
};

/* How a channel became known. */
enum hp_channel_origin {
	HP_CHANNEL_MADE = 0, /* the site made it */
	HP_CHANNEL_FOUND = 1, /* a descriptor that was there already; `number` is the descriptor */
	HP_CHANNEL_FIRST = 2, /* the site used it first */
};

struct hp_channel {
	uint64_t next; /* set once */
	uint32_t kind; /* set once: enum hp_channel_kind */
	uint32_t way; /* set once: of a pair: 0 = from the first to the second, 1 = back; 2 = by name */
	uint64_t site_module; /* set once: offset of the hp_module of the code that made it; 0 = none */
	uint64_t site_address; /* set once: a return address */
	uint32_t number; /* set once: of those of its site, from 0; FOUND: the descriptor */
	uint32_t origin; /* set once: enum hp_channel_origin */
	_Atomic uint64_t label; /* any thread: offset of a hp_text; 0 = none */
	_Atomic uint64_t lanes; /* any thread: head of the list of hp_lane */
	_Atomic uint32_t instances; /* any thread: objects made; UINT32_MAX = that or more, and */
	_Atomic uint32_t closed; /* any thread: of them, closed at one end: no more */
};

/*
 * Who sends, or who receives.  The first thread that does has plain counters of
 * its own; all others share the other two.
 */
struct hp_lane_side {
	_Atomic uint64_t owner; /* key of the thread that writes the next two, or HP_OWNER_NONE */
	uint64_t units; /* owner: what went through, in the lane's unit */
	uint64_t others; /* owner: messages, where the unit is bytes; else bytes */
	_Atomic uint64_t more_units; /* other threads */
	_Atomic uint64_t more_others;
	uint64_t last_ticks; /* senders: when the last timed one was sent */
	int64_t credit; /* senders: ticks that timing may still take */
	uint32_t countdown; /* senders: messages until one is timed */
	uint32_t reserved;
};

#define HP_OWNER_NONE 1

struct hp_lane_wait {
	_Atomic uint64_t count;
	_Atomic uint64_t ticks;
	_Atomic uint64_t most;
};

enum hp_lane_state {
	HP_LANE_FREE = 0,
	HP_LANE_TAKEN = 1,
	HP_LANE_MADE = 2, /* taken, and no descriptor has it yet */
};

/* What its queue is counted in. */
enum hp_lane_unit {
	HP_LANE_BYTES = 0,
	HP_LANE_MESSAGES = 1,
	HP_LANE_TOKENS = 2, /* a message may be several: the value added to an eventfd */
};

/*
 * In its unit the queue is
 *
 *   depth = sent - received - abandoned
 *
 * where what is received may be told before what is sent.  One that is taken over
 * goes on counting; what was left in the queue is abandoned.
 */
struct hp_lane {
	uint64_t next; /* set once */
	uint64_t channel; /* set once: offset of hp_channel */
	_Atomic uint32_t state; /* enum hp_lane_state */
	uint32_t unit; /* who took it: enum hp_lane_unit */
	uint64_t capacity; /* any thread: in its unit; 0 = unbounded or unknown */
	uint64_t safe; /* any thread: up to so many in it nobody has to wait */
	uint64_t device; /* who took it: of the inodes below; 0 = it has none */
	uint64_t out_inode; /* of the end that sends */
	uint64_t in_inode; /* of the end that receives */

	struct hp_lane_side sends;
	struct hp_lane_side receives;

	_Atomic uint64_t most; /* any thread: most that was in it */
	_Atomic uint64_t abandoned; /* any thread */
	_Atomic uint64_t head; /* senders: number of the next probe */
	uint64_t tail; /* who has `popping`: of the oldest one */
	_Atomic uint64_t calm; /* any thread: up to so many in it nothing is to be noted */
	_Atomic uint32_t popping; /* receivers: 1 = one of them looks at probes */
	uint32_t probes; /* once: offset / HP_LINE of hp_lane_log; 0 = none yet */
	_Atomic uint64_t ends; /* descriptors, as far as known: that send; << 32: that receive */
	_Atomic uint32_t shared; /* any thread: 1 = another process may have it, too */
	_Atomic uint32_t closed; /* any thread: 1 = one end is closed for good */

	struct hp_lane_wait blocked; /* senders that found it full */
	struct hp_lane_wait starved; /* receivers that found it empty */
	_Atomic uint64_t refused; /* sends that would have had to wait */
	_Atomic uint64_t empty; /* receives that would have had to wait */

	uint64_t timed; /* who has `popping`, as the next ones: messages whose way was timed */
	uint64_t delay_ticks; /* their sum, from before the send to after the receive */
	uint64_t delay_most;
	uint64_t first_ticks; /* a sender: when the first message was sent */
	uint64_t idle; /* a receiver: end of the last wait by poll that counts in `starved` */
	uint32_t delays; /* offset / HP_LINE of hp_spread; 0 = none */
	uint32_t maker; /* who took it: its pid */
	_Atomic uint32_t veiled; /* any thread: HP_VEILED_* */
	uint32_t priority; /* a sender to a queue with priorities: 1 + that of the first message */
	uint32_t texts; /* once: offset / HP_LINE of hp_lane_texts; 0 = none are kept */
	uint16_t extra; /* who took it: bytes that the kernel adds to a message at most; 0 = unknown */
	_Atomic uint16_t crowd; /* any thread: messages since `safe` or less was in it */
};

/* Something may go through it that is not seen: a stream of stdio has it, or an eventfd was given away. */
#define HP_VEILED_SENDS 1
#define HP_VEILED_RECEIVES 2
#define HP_LANE_MIXED 4 /* not first in, first out */

struct hp_probe {
	_Atomic uint64_t end; /* a sender: what was sent with it, all before included; 0 = unused */
	uint64_t since; /* a sender: ticks before the send; 0 = it was not sent */
	uint64_t number; /* a sender: of the message, from 1 */
	uint64_t entry; /* a sender: number of its hp_message */
};

#define HP_PROBES_MOST 256
#define HP_MESSAGES 64

/* A message that was timed, in a ring: number n at n % HP_MESSAGES. */
struct hp_message {
	uint64_t ticks; /* when; 0 = never used */
	uint64_t delay; /* sent: until it was received, 0 = it was not */
	uint64_t number; /* of the message, from 1 */
	uint32_t size; /* bytes */
	uint32_t tid;
};

struct hp_lane_log {
	_Atomic uint64_t sent_count; /* senders: entries so far */
	uint64_t received_count; /* who has `popping` */
	uint64_t reserved[6];
	struct hp_probe probes[HP_PROBES_MOST];
	struct hp_message sent[HP_MESSAGES];
	struct hp_message received[HP_MESSAGES];
};

/* With HOTPATH_LOG_PAYLOAD, what was sent: number n of the log at n % HP_MESSAGES. */
struct hp_lane_texts {
	uint32_t room; /* set once: bytes of each, behind its hp_lane_text */
	uint32_t reserved[15];
};

struct hp_lane_text {
	uint64_t number; /* a sender: of the message; 0 = never used */
	uint32_t length; /* a sender: bytes that are kept */
	uint32_t reserved;
};

/*
 * What the sampler saw of threads.  Written by the sampler only; a row of an
 * ended thread folds into the row of its name once there are many.
 */
struct hp_watch {
	uint64_t next; /* sampler: further hp_watch, 0 = none */
	uint32_t interval_ms; /* sampler: time between looks now */
	uint32_t count; /* sampler: rows in use below */
	uint32_t capacity; /* set once */
	uint32_t sizes; /* sampler: offset / HP_LINE of hp_size_line; 0 = none */
	uint64_t looks; /* sampler: number of looks so far */
	uint64_t rss_kb; /* sampler: resident size of all live members, last look */
	uint64_t rss_peak_kb; /* sampler: VmHWM of the root, last look */
	uint64_t root_cpu_ns; /* sampler: CPU of the root process, last look */
	uint64_t sampling; /* sampler: offset of hp_sampling; 0 = nobody asked for it */
};

/* How large all processes of the session were together, over time. */
struct hp_size_point {
	uint64_t ns; /* CLOCK_MONOTONIC_RAW */
	uint64_t rss_kb;
};

/* When it is full, every second point goes, and `every` doubles. */
struct hp_size_line {
	uint32_t capacity; /* set once */
	uint32_t count; /* sampler: points in use */
	uint32_t every; /* sampler: looks for one point */
	uint32_t looks; /* sampler: so far */
	uint64_t live; /* sampler: offset of `capacity` u64 beside `points`: bytes of blocks; 0 = none */
	uint64_t reserved[5];
	struct hp_size_point
		points[]; /* sampler: in the order of time; one that is not later is to be skipped */
};

struct hp_watch_row { /* follows struct hp_watch */
	uint32_t tid; /* sampler */
	uint32_t pid; /* sampler */
	char name[20]; /* sampler: 0-terminated */
	char state; /* sampler: letter of /proc/PID/stat; 'x' = exited */
	char reserved0[3];
	uint64_t first_ns; /* sampler: CLOCK_MONOTONIC_RAW when it began, or was first seen if that was before us */
	uint64_t seen_ns; /* sampler: when last seen */
	uint64_t cpu_ns; /* sampler: on a CPU, at seen_ns (schedstat where there is one) */
	uint64_t first_cpu_ns; /* sampler: the same at first_ns */
	uint64_t wait_ns; /* sampler: runnable without a CPU, at seen_ns */
	uint32_t percent_last; /* sampler: of one core between the last two looks, tenths */
	uint32_t percent_max; /* sampler: highest of these, tenths; UINT32_MAX = never known */
	uint32_t folded; /* sampler: further ended threads of this name summed up in here */
	uint32_t is_member; /* sampler: 0 = process without our library */
	uint64_t start_time; /* sampler: field 22 of stat; tells a reused tid */
	uint64_t reserved[4];
};

/*
 * Samples that the profiled processes take of themselves, where the kernel's
 * counters are not to be had (preload/wait/cpu_timer.h).  At HP_TICKING_AT, directly
 * behind the header.
 */
#define HP_TICKING_AT 256

struct hp_ticking {
	_Atomic uint64_t tickers; /* any thread: head of the list of hp_ticker */
	_Atomic uint32_t is_on; /* the root: 1 = threads of the session have timers */
	uint32_t interval_ns; /* the root, before that: user time between two samples */
	_Atomic uint64_t refused; /* any thread: threads that got no timer or no ticker */
	uint64_t profile; /* sampler: offset of a hp_text, the path of samply's profile; 0 = none */
	uint64_t trouble; /* sampler: the same, why samply gave no samples */
	_Atomic uint64_t aways; /* any thread: head of the list of hp_away */
	_Atomic uint32_t away_least; /* sampler: calls of so many ticks are noted; 0 = none are */
	_Atomic uint32_t away_count; /* any thread: in the list, or refused for want of room */
	uint32_t low_hz; /* sampler: so seldom were threads sampled while they switched often; 0 = never */
	uint32_t reserved;
};

/*
 * A ring of samples, words that are numbered for ever: number n is at
 * words[n % HP_TICKER_WORDS].  The thread stores `head` after the words before
 * it, the sampler `tail` after it has read those.
 */
#define HP_TICKER_WORDS 8192

struct hp_ticker {
	uint64_t next; /* set once */
	_Atomic uint32_t
		state; /* enum hp_state; freed by its thread, or by the sampler after its process */
	uint32_t pid; /* owner: present or last */
	uint32_t tid; /* owner: present or last */
	uint32_t reserved0;
	_Atomic uint64_t head; /* owner: number of the next word */
	_Atomic uint64_t lost; /* owner: samples that had no room */
	_Atomic uint64_t lost_ns; /* owner: what they stand for */
	uint64_t process; /* owner: offset of its hp_process, */
	uint64_t image; /* and hp_process.start_ticks: if that is another one, the ticker is nobody's */

	_Atomic uint64_t tail; /* sampler: number of the first word that was not read */
	uint64_t reserved2[7];
	uint64_t words[HP_TICKER_WORDS];
};

/* A sample: these words, and behind them return addresses from the inside out. */
enum hp_tick_word {
	HP_TICK_SIZE = 0, /* all its words, HP_TICK_FLAGS above */
	HP_TICK_TIME, /* ns, CLOCK_MONOTONIC_RAW */
	HP_TICK_SPAN, /* ns of CPU that it stands for */
	HP_TICK_THREAD, /* pid, tid << 32 */
	HP_TICK_PARENT, /* pid of its parent, offset / HP_LINE of the executable's hp_object << 32 */
	HP_TICK_IMAGE, /* hp_process.start_ticks: another one after exec */
	HP_TICK_WORDS,
};

#define HP_TICK_COMPLETE (UINT64_C(1) << 32) /* it reaches the thread's first function */
#define HP_TICK_CUT (UINT64_C(1) << 33) /* it has more frames than were walked */

/*
 * Calls that waited, noted by the thread behind them (preload/wait/offcpu_note.h): the kernel
 * tells when a thread was off the CPU, and to some users not where.  A ring of
 * words as hp_ticker's.
 */
#define HP_AWAY_WORDS 4096

struct hp_away {
	uint64_t next; /* set once */
	_Atomic uint32_t
		state; /* enum hp_state; freed by its thread, or by the sampler after its process */
	uint32_t pid; /* owner: present or last */
	uint32_t tid; /* owner: present or last */
	uint32_t is_busy; /* owner: a record is being written */
	_Atomic uint64_t head; /* owner: number of the next word */
	_Atomic uint64_t lost; /* owner: calls that had no room, or were too many */
	uint64_t process; /* owner: offset of its hp_process, */
	uint64_t image; /* and hp_process.start_ticks: if that is another one, the ring is nobody's */
	uint64_t stack_low; /* owner: plain addresses of its stack that can be read */

	uint64_t stack_high; /* owner: and their end */
	uint64_t window; /* owner: ticks when the present count began */
	uint64_t window_count; /* owner: calls since */
	uint64_t reserved[5];

	_Atomic uint64_t tail; /* sampler: number of the first word that was not read */
	uint64_t reserved2[7];
	uint64_t words[HP_AWAY_WORDS];
};

/* A call: these words, and behind them a copy of the stack from HP_AWAY_SP on. */
enum hp_away_word {
	HP_AWAY_SIZE = 0, /* all its words, enum hp_wait_on << 32 */
	HP_AWAY_END, /* ns, CLOCK_MONOTONIC_RAW */
	HP_AWAY_TICKS, /* that it took */
	HP_AWAY_PC, /* return address into who called, */
	HP_AWAY_SP, /* its stack pointer then, */
	HP_AWAY_FP, /* and frame pointer */
	HP_AWAY_HEAD,
};

/* Where samples of the CPU come from. */
enum hp_sampling_source {
	HP_SAMPLING_NONE = 0,
	HP_SAMPLING_CYCLES = 1, /* perf_event: the processor's cycle counter */
	HP_SAMPLING_CLOCK = 2, /* perf_event: the kernel's clock of CPU time */
	HP_SAMPLING_TIMER = 3, /* a CPU timer for each thread, in the target */
	HP_SAMPLING_SAMPLY = 4, /* samply's profile, beside the segment */
};

/*
 * What a thread waits for, where only its system call is known: stands as an
 * address of the kernel's object, which has no code down there.
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

/* Why there are none. */
enum hp_sampling_fault {
	HP_SAMPLING_FINE = 0,
	HP_SAMPLING_OFF = 1, /* HOTPATH_CPU=off */
	HP_SAMPLING_REFUSED = 2, /* perf_event_open: `error` */
	HP_SAMPLING_NO_RING = 3, /* mmap of a ring: `error` */
	HP_SAMPLING_GONE = 4, /* the target had ended before it could be sampled */
	HP_SAMPLING_NO_TIMER = 5, /* no process of the session made timers */
	HP_SAMPLING_SAMPLY_FAILED = 6, /* samply: see its session */
};

/*
 * What the sampler saw of the CPU.  Samples are summed up in a tree of stacks.
 * Written by the sampler only.
 */
struct hp_sampling {
	uint32_t source; /* enum hp_sampling_source */
	uint32_t fault; /* enum hp_sampling_fault */
	uint32_t error; /* errno of it */
	int32_t paranoid; /* kernel.perf_event_paranoid; INT32_MIN = not known */
	uint32_t frequency; /* samples a second of CPU time, Hz */
	uint32_t has_kernel; /* 1 = time in the kernel is sampled too */
	uint32_t stack_size; /* bytes of the stack that are copied; 0 = frame pointers */
	uint32_t ring_size; /* bytes for each CPU */
	uint64_t samples; /* taken */
	uint64_t cpu_ns; /* that they stand for */
	uint64_t lost; /* records that did not fit into the rings */
	uint64_t folded; /* samples that are counted without their stack: no room for it */

	uint64_t complete; /* samples whose stack reaches the first function of the thread */
	uint64_t cut; /* samples whose stack is longer than what was copied */
	uint64_t nodes; /* offset of the first hp_stack_chunk */
	uint64_t node_count;
	uint64_t events; /* offset of the first hp_event_chunk */
	uint64_t event_count;
	uint64_t event_lost; /* that had no room; they are in the tree all the same */
	uint64_t blocked_ns; /* that threads gave up the CPU for, over all */
};

/*
 * A place in code, called from the place `parent`: a node of the tree of
 * stacks.  Node 0 is the root, which is no place.
 */
struct hp_stack_node {
	uint64_t address; /* set once: ELF address, of a caller the return address - 1; else the plain address */
	uint32_t object; /* set once: offset / HP_LINE of hp_object; 0 = not known */
	uint32_t parent; /* set once: number of a node, lower than its own */
	uint64_t samples; /* sampler: of which this is the innermost place */
	uint64_t cpu_ns; /* sampler: that they stand for */
	uint64_t waits; /* sampler: times that a thread gave up the CPU here */
	uint64_t blocked_ns; /* sampler: until it was back, or so far */
	uint64_t counted_ns; /* sampler: of cpu_ns, what the processor's counters tell the kind of */
	uint64_t memory_ns; /* sampler: of that, spent waiting for memory mostly */
};

/* Nodes are numbered through all chunks. */
struct hp_stack_chunk {
	uint64_t next; /* sampler: once it is full */
	uint32_t capacity; /* set once */
	uint32_t count; /* sampler: nodes in use */
	uint64_t changes; /* set once, of the first chunk: offset of hp_stack_changes; 0 = none */
	uint64_t reserved[5];
	struct hp_stack_node nodes[];
};

/*
 * Which nodes' counters have changed: a ring of their numbers, each stored after the counters.
 * Change n, counted for ever, is at nodes[n % capacity].
 */
struct hp_stack_changes {
	_Atomic uint64_t head; /* sampler: number of the next change */
	uint32_t capacity; /* set once, a power of two */
	uint32_t reserved0;
	uint64_t reserved[6];
	_Atomic uint32_t nodes[];
};

enum hp_event_kind {
	HP_EVENT_CPU = 0, /* a sample; span_ns is what it stands for */
	HP_EVENT_WAIT = 1, /* back on the CPU after span_ns, or the report began then */
};

/* When it was: the same samples and waits, in the order of their times. */
struct hp_event {
	uint64_t ns; /* CLOCK_MONOTONIC_RAW */
	uint64_t span_ns;
	uint32_t node; /* number of the stack node; 0 = the stack is not known */
	uint32_t pid;
	uint32_t tid;
	uint32_t kind; /* enum hp_event_kind */
};

struct hp_event_chunk {
	uint64_t next; /* sampler: once it is full */
	uint32_t capacity; /* set once */
	uint32_t count; /* sampler: events in use */
	uint64_t reserved[6];
	struct hp_event events[];
};

static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a lock cannot be shared this way");
static_assert(sizeof(double) == 8, "format: square_sampled is an IEEE double");
static_assert(sizeof(struct hp_header) == 256, "format: readers rely on it");
static_assert(offsetof(struct hp_header, used) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_header, start) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_header, root_pid) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_ports) == 64, "format: readers rely on it");
static_assert(HP_PORTS_AT + sizeof(struct hp_ports) <= HP_ROOM_AT, "it is behind them");
static_assert(HP_ROOM_AT + sizeof(struct hp_room) <= HP_MEETING_AT, "it is behind it");
static_assert(sizeof(struct hp_room) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_process) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_object) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_label) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_module) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_block) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_frame) == HP_LINE, "an index is a shift");
static_assert(sizeof(struct hp_part) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_call) == 24, "format: readers rely on it");
static_assert(offsetof(struct hp_function, next) == 64, "what timed calls touch is in one line");
static_assert(sizeof(struct hp_result) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_results) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_gist) == 16, "format: readers rely on it");
static_assert(sizeof(struct hp_function) == 576, "format: readers rely on it");
static_assert(sizeof(struct hp_tally) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_charge_spread) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_charge) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_spent) == 48, "format: readers rely on it");
static_assert(sizeof(struct hp_row) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_row, function) == 64, "one line is all a usual call touches");
static_assert(sizeof(struct hp_heap) == 704, "format: readers rely on it");
static_assert(offsetof(struct hp_heap, live) == 64, "one line is all a usual allocation touches");
static_assert(sizeof(struct hp_step) == 16, "format: readers rely on it");
static_assert(sizeof(struct hp_steps) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_site) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_spread_of_blocks) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_maps) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_site, far_frees) == 64, "one line is all its owner touches");
static_assert(offsetof(struct hp_process, lockset) == 184, "format: readers rely on it");
static_assert(sizeof(struct hp_lockset) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_thread) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_thread_name) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_lock) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_held) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_waiter, held) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_use) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_use, drawn_ticks) == 64, "one line is all a usual lock touches");
static_assert(sizeof(struct hp_order) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_spread) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_contest) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_channel) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_side) == 64, "each side has its own line");
static_assert(offsetof(struct hp_lane, sends) == 64, "each side has its own line");
static_assert(offsetof(struct hp_lane, most) == 192, "each side has its own line");
static_assert(sizeof(struct hp_lane) == 384, "format: readers rely on it");
static_assert(sizeof(struct hp_probe) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_message) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_log) % HP_LINE == 0, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_texts) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_text) == 16, "format: readers rely on it");
static_assert(sizeof(struct hp_watch) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_size_line) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_watch_row) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_ticking) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_header) <= HP_TICKING_AT, "it is behind the header");
static_assert(HP_TICKING_AT + sizeof(struct hp_ticking) <= HP_PORTS_AT, "it is behind that");
static_assert(offsetof(struct hp_ticker, words) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_away) == 192 + HP_AWAY_WORDS * 8, "format: readers rely on it");
static_assert(sizeof(struct hp_sampling) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_node) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_chunk) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_stack_changes) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_event) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_event_chunk) == 64, "format: readers rely on it");

#endif
