/* SPDX-License-Identifier: MIT */
/*
 * process.h - processes, their objects, modules and threads.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_PROCESS_H
#define HP_SEGMENT_LAYOUT_PROCESS_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/*
 * Process and block states.  FREE: a later process of the same executable, or a
 * later thread of the process, may take it.  MOVING: a process claimed it but
 * has not yet said which; nobody else writes it.
 */
enum hp_state { HP_FREE = 0, HP_TAKEN = 1, HP_MOVING = 2 };

/* How a process ended, as far as it knew itself. */
enum hp_ending {
	HP_ENDING_NONE = 0,	/* still runs, or was killed */
	HP_ENDING_EXIT = 1,	/* exit() or return from main */
	HP_ENDING_QUICK = 2,	/* _exit, quick_exit */
	HP_ENDING_EXEC = 3,	/* became another image */
	HP_ENDING_DROP = 4,	/* dropped rights: it continues in another segment of the session */
};

struct hp_process {
	uint64_t next;	/* set once */
	_Atomic uint32_t
		state;	/* enum hp_state: MOVING by compare-exchange, then TAKEN; freed by its process or the sampler */
	uint32_t pid;	/* its process; as seen in its own PID namespace */
	uint32_t parent_pid;	/* its process */
	uint32_t folded;	/* its process: earlier, ended processes counted in here too */
	uint64_t object;	/* set once: offset of the executable's hp_object */
	_Atomic uint64_t blocks;	/* its threads: head of the list of hp_block */
	_Atomic uint64_t modules;	/* its threads: head of the list of hp_module */
	uint64_t start_ticks;	/* its process */
	uint64_t end_ticks;	/* its process at its end, or the sampler; 0 = runs */
	_Atomic uint32_t ending;	/* its process: enum hp_ending */
	int32_t exit_code;	/* its process, with HP_ENDING_EXIT and _QUICK */
	uint64_t cpu_ns;	/* its process at its end: user + system; folded ones included */
	uint64_t peak_rss_kb;	/* its process at its end: largest, also of waited-for children */
	_Atomic uint32_t generation;	/* its threads: bumped with each object that is unloaded */
	char comm[16];	/* its process: name, 0-terminated */
	uint32_t account;	/* its process: hp_account, as offset / HP_LINE; 0 = none */
	uint64_t folded_cpu_ns;	/* its process, when taken over: cpu_ns of the folded ones */
	uint64_t folded_ticks;	/* its process, when taken over: lifetime of the folded ones */
	uint64_t command;	/* set once: offset of a hp_text, the arguments joined by spaces */
	uint64_t starttime;	/* its process: field 22 of /proc/PID/stat, 0 = unknown; tells a reused pid */
	_Atomic uint64_t heaps;	/* its threads: head of the list of hp_heap */
	_Atomic int64_t heap_peak;	/* its threads: most bytes that were allocated at once, so far */
	uint64_t allocator_file;	/* its process: offset of a hp_text, whose malloc it is; 0 = unknown */
	int64_t folded_heap_peak;	/* its process, when taken over: sum of the earlier ones' peaks */
	_Atomic uint32_t heap_epoch;	/* its threads: number of the last peak */
	uint32_t allocator;	/* its process: enum hp_allocator_kind, perhaps with HP_ALLOCATOR_NEW */
	_Atomic uint64_t lockset;	/* its threads, once: offset of hp_lockset; 0 = none */
};

/* How an image started. */
enum hp_beginning {
	HP_BEGAN_EXEC = 1,
	HP_BEGAN_FORK = 2,
	HP_BEGAN_AGAIN = 3,	/* its process has left a record already, and was counted there */
};

/*
 * Resources used by a process's present image, for the table of processes.  An image is
 * the program between two execs, so the CPU time and page faults that the kernel counts
 * for the process are reduced by their values when the image began (`base_`).
 */
struct hp_account {
	_Atomic uint64_t runs;	/* its process: head of the list of hp_run */
	uint64_t cpu_ns;	/* its process at its end */
	uint64_t minor_faults;	/* its process at its end */
	uint64_t major_faults;	/* its process at its end */
	uint64_t peak_rss_kb;	/* its process at its end: the image's own; 0 = unknown */
	uint64_t base_cpu_ns;	/* its process */
	uint64_t base_minor;	/* its process */
	uint64_t base_major;	/* its process */
	uint64_t base_peak_kb;	/* its process: the kernel's peak at that time */
	uint64_t children_cpu_ns;	/* its process at its end: waited-for children, and theirs */
	uint32_t began;	/* its process: enum hp_beginning */
	uint32_t is_joined;	/* the image that followed by exec: this one counts as a part of that */
	char name[16];	/* its process: of the image when it began, 0-terminated */
	uint32_t is_followed;	/* the image that followed by exec: it is recorded, too */
	_Atomic uint32_t waited;	/* its parent: 1 + its status, as wait() returned it; 0 = unknown */
	uint64_t lead_ticks;	/* its process: of its life, before the record's start: from fork or exec on, if known */
	uint64_t lead_ns;	/* its process: the same where only the CPU time by then is known */
	_Atomic uint64_t loops;	/* its threads: head of the list of hp_loop */
	_Atomic uint64_t streams;	/* its threads: head of the list of hp_stream */
	_Atomic uint64_t values;	/* its threads: head of the list of hp_shown */
	_Atomic uint64_t lost_values;	/* its threads: places without room for a record */
	_Atomic uint64_t lost_streams;	/* its threads: instances without room */
	_Atomic uint64_t futures;	/* its threads: head of the list of hp_future */
	_Atomic uint64_t lost_futures;	/* its threads: calls without room for a record */
	uint32_t start_us;	/* its process: CPU time of our start in it */
	uint32_t switches;	/* its process at its end: context switches, by the kernel's count */
};

/* The images of one name that are folded in a process record. */
struct hp_run {
	uint64_t next;	/* set once */
	uint64_t ticks;	/* its process: lifetimes, */
	uint64_t cpu_ns;	/* its process */
	uint64_t peak_rss_kb;	/* its process: the largest */
	uint64_t minor_faults;	/* its process */
	uint64_t major_faults;	/* its process */
	uint32_t count;	/* its process */
	uint32_t failed;	/* its process: exit code other than 0, or killed */
	uint32_t unknown;	/* its process: those whose ending is unknown */
	int32_t status;	/* its process: of the last one that failed, as from wait() */
	char name[16];	/* set once; "" = an image that ended by exec, and its successor is not recorded */
	uint64_t lead_ns;	/* its process: and this */
	uint32_t unmeasured;	/* its process: without a note of their end, so without CPU time and the like */
	uint32_t dropped;	/* its process: those that continued in another segment */
	uint64_t start_us;	/* its process */
	uint64_t switches;	/* its process */
	uint64_t again;	/* its process: those that had done so; not in `count` */
	uint64_t reserved;
};

/* The provider of malloc, if known. */
enum hp_allocator_kind {
	HP_ALLOCATOR_UNKNOWN = 0,
	HP_ALLOCATOR_GLIBC = 1,
	HP_ALLOCATOR_OTHER = 2,	/* a shared library's */
	HP_ALLOCATOR_INSIDE = 3,	/* the program's own, not seen by us */
	HP_ALLOCATOR_BEFORE = 4,	/* a library's that comes before ours, not seen either */
};

/* Of earlier libraries: it has its own operator new, and those blocks weren't seen. */
#define HP_ALLOCATOR_NEW (UINT32_C(1) << 8)
/* An earlier process of the record had a malloc that we did not see. */
#define HP_ALLOCATOR_EARLIER (UINT32_C(1) << 9)

/* A text, 0-terminated, padded to HP_LINE as every record. */
struct hp_text {
	uint32_t length;	/* set once: bytes without the 0 */
	char bytes[];
};

enum hp_object_kind {
	HP_OBJECT_ELF = 1,
	HP_OBJECT_VDSO = 2,
	HP_OBJECT_ANONYMOUS = 3,	/* made at run time; `path` may have its names */
	HP_OBJECT_KERNEL = 4,
};

struct hp_object {
	uint64_t next;	/* set once, as everything here */
	uint32_t kind;	/* enum hp_object_kind */
	uint32_t build_id_size;	/* 0 = none */
	uint8_t build_id[32];
	uint64_t path;	/* offset of a hp_text */
	uint64_t device;
	uint64_t inode;
	_Atomic uint64_t labels;	/* any thread: head of the list of hp_label */
	_Atomic uint32_t has_user;	/* sampler: 1 = only processes of `user` have it mapped */
	uint32_t user;	/* sampler, before `has_user`: one that may do less than the session */
	uint32_t group;
	uint32_t reserved0;
	uint64_t shape;	/* library: hash of the file's headers, as builds may have one build-id; 0 = unknown */
	uint64_t reserved[3];
};

/*
 * Annotations of a place in the source, with include/hotpath.h.  Blocks of
 * equal labels in one object are one record, that of the first one seen.
 */
enum hp_label_kind {
	HP_LABEL_BLOCK = 1,	/* a piece of code, counted as a function with this label */
	HP_LABEL_NAME = 2,	/* the required name of an instrumented function */
};

struct hp_label {
	uint64_t next;	/* set once, as everything here */
	uint64_t module;	/* offset of the hp_module that holds its descriptor; 0 = none */
	uint64_t address;	/* ELF address of the descriptor; without a module this record's offset */
	uint64_t text;	/* offset of a hp_text */
	uint64_t file;	/* offset of a hp_text; 0 = unknown */
	uint64_t function;	/* NAME: offset of a hp_text, the function around it; 0 = unknown */
	uint32_t line;
	uint32_t kind;	/* enum hp_label_kind */
	uint64_t reserved;
};

struct hp_module {
	uint64_t next;	/* set once, as everything but `to` */
	uint64_t object;	/* offset of hp_object */
	uint64_t bias;	/* address in the process = ELF address + bias */
	uint64_t begin;	/* lowest and end of its addresses */
	uint64_t end;
	uint32_t from;	/* generation when first seen */
	_Atomic uint32_t
		to;	/* its process: generation when it was unloaded; 0 = loaded, or loaded again */
	uint64_t reserved[2];
};

#define HP_THREADS_MAX 4096	/* records of a process and those that take its place */

/* A thread that was created by the C library: its creator. */
struct hp_thread {
	uint64_t next;	/* set once */
	uint32_t pid;	/* its creator */
	_Atomic uint32_t tid;	/* itself, last; 0 = it did not begin */
	uint64_t routine;	/* its creator: address of its function in the process */
	uint64_t cpu_ns;	/* itself, with `end`: its CPU time */
	uint64_t at;	/* its creator: return address of the call that created it */
	uint64_t start;	/* its creator: ticks when it was requested */
	uint32_t path;	/* its creator: id of the hp_step, our functions included; 0 = unknown */
	uint32_t maker;	/* its creator: its tid */
	uint64_t end;	/* itself: ticks when its destructors began to run; 0 = it continues, or nobody knows */
};

/* A recorded thread's name at its end, if it differs from its process's. */
struct hp_thread_name {
	uint64_t next;	/* set once, as everything here */
	uint32_t pid;
	uint32_t tid;
	uint64_t end;	/* ticks, as in its hp_thread; tells a reused tid */
	char name[20];	/* 0-terminated */
	uint32_t reserved[5];
};

static_assert(sizeof(struct hp_process) == 192, "format: readers rely on it");
static_assert(offsetof(struct hp_process, account) == 108, "format: readers rely on it");
static_assert(sizeof(struct hp_account) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_run) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_object) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_label) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_module) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_process, lockset) == 184, "format: readers rely on it");
static_assert(sizeof(struct hp_thread) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_thread_name) == 64, "format: readers rely on it");

#endif
