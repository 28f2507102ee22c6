/* SPDX-License-Identifier: MIT */
/*
 * model.h - a segment's content as plain structs: the input of every view.
 *
 * A function here is the sum over all threads and processes, by object and
 * address.  The rows of all blocks become one calling-context tree: nodes of
 * equal paths are one node.  Times are ns.  The model does not depend on names,
 * settings and output.
 *
 * Folder: report/read - a segment as plain structs: processes, functions, the
 *   calling-context tree, samples, and common parts of locks and channels
 * May use: report/base segment segment/layout util
 */
#ifndef HP_REPORT_READ_MODEL_H
#define HP_REPORT_READ_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/account.h"
#include "report/read/histogram.h"
#include "report/read/sampling.h"
#include "report/read/label.h"
#include "report/read/level.h"
#include "report/read/reader.h"
#include "segment/layout/call.h"
#include "segment/layout/watch.h"

#define HP_NONE UINT32_MAX	/* no place in an array */
#define HP_LAST_MAX 50	/* last calls of a function that a report shows */

struct hp_model_object {
	char *path;	/* never NULL, perhaps "" */
	uint32_t kind;	/* enum hp_object_kind */
	uint32_t build_id_size;
	uint8_t build_id[32];
	uint64_t device;
	uint64_t inode;
	bool is_program;	/* the executable of a process of the session */
	bool is_profiler;	/* our library, which is in the program */
	uint8_t owner;	/* kept for report/section/answer/owner.c; 0 = nothing yet */
	struct hp_user user;	/* its file is opened with the rights of this user */
};

struct hp_model_process {
	char comm[20];
	char *command;	/* may be NULL */
	uint32_t pid;
	uint32_t parent_pid;
	uint64_t started;	/* field 22 of /proc/PID/stat; 0 = unknown */
	uint32_t folded;
	uint32_t object;	/* place in objects, or HP_NONE */
	bool is_root;
	bool is_running;
	uint32_t ending;	/* enum hp_ending */
	int32_t exit_code;
	uint64_t began_ns;	/* since the session's start, of its exec or fork if known: the loader comes first */
	uint64_t start_ns;	/* the same, of its record */
	uint64_t end_ns;	/* the same, of its end or the last known moment */
	uint64_t life_ns;	/* of everything folded in here */
	uint64_t cpu_ns;
	uint64_t peak_rss_kb;
	uint64_t calls;	/* instrumented calls of its threads */
};

struct hp_model_call {
	uint64_t start_ns;	/* since the session's start */
	uint64_t ns;
	uint32_t tid;
	char *result;	/* text of its result, freed by the caller; NULL = none */
};

/*
 * Data on single calls: the histogram is summed up on first use, and updated at
 * a later refresh as far as it has changed (model_calls.c).
 */
struct hp_model_spread {
	uint32_t look;	/* model->look at that time; 0 = never */
	bool is_recursive;
	uint64_t least_ticks;	/* of timed calls; UINT64_MAX = none */
	uint64_t most_ticks;
	struct hp_histogram histogram;	/* ticks */
	uint64_t totals[HP_GROUPS];	/* of its groups */
	struct hp_histogram settled;	/* sum over records that have not changed for a while */
	uint64_t same;	/* bits: these groups of `histogram` are those of `settled`, */
	uint64_t fresh;	/* changed by this refresh */
};

struct hp_model_function {
	uint64_t address;	/* in the object */
	uint32_t object;	/* place in objects, or HP_NONE */
	uint32_t record;	/* its records: place of the first one + 1 */
	uint32_t last_record;
	struct hp_model_label *label;	/* name from the source; NULL = none */
	struct hp_model_spread *spread;	/* NULL = not requested; see hp_model_histogram */
	uint32_t plan_look;	/* model->look at the last pass over its records, */
	uint32_t unsettled;	/* first record that has changed or is not in `settled`, place + 1, */
	uint32_t plan;	/* and the required update (model_calls.c) */

	/* Sums, recomputed at each refresh. */
	uint32_t running;	/* calls that had not ended */
	uint64_t calls;
	uint64_t measured;	/* calls with a known duration */
	uint64_t sampled;	/* of them: sampled */
	bool is_sampled;	/* times are estimates */
	bool is_recursive;	/* some calls were nested in others */
	double total_ns;	/* outermost calls, callees included */
	double total_low_ns;	/* 95 % interval; equal when nothing was estimated */
	double total_high_ns;
	double self_ns;	/* without instrumented callees */
	double self_error_ns;	/* wider half of its 95 % interval, */
	double self_low_ns;	/* the interval */
	double self_high_ns;

	/* Sums over blocks, for the estimates (tree.c). */
	double body_ticks;	/* own time of sampled calls, tail excluded */
	double body_squares;
	double body_count;
	double timed_ticks;	/* own time of calls made while all were timed, */
	double timed_count;
	double pending_count;	/* calls of rows with others, all unsampled */
	double tail_variance;
	double total_doubt;	/* linear errors, ticks */
	double self_doubt;
	double total_less;	/* further uncertainty below and above, ticks */
	double total_more;
	double self_less;
	double self_more;
};

/* A function in one block. */
struct hp_model_record {
	uint64_t offset;	/* of its hp_function */
	uint64_t gist;	/* of its hp_gist */
	uint64_t stamp;	/* grows with each call that begins, or that ends with a known duration */
	uint64_t read_stamp;	/* its value when the histogram was last read, */
	uint64_t read_block;	/* and its block's */
	uint32_t function;	/* place in functions */
	uint32_t block;
	uint32_t next;	/* of the same function: place + 1; 0 = none */
	uint64_t label_stamp;	/* `stamp` at the last search for its label */
	uint32_t next_unsettled;	/* of the same function, place + 1; 0 = none */
	bool is_read;	/* its histogram was */
	bool is_flushed;	/* no counter is still pending until the thread's next call */
	bool is_apart;	/* its slow calls are those that would be gap events */
	uint32_t gaps;	/* offset / HP_LINE of events below it; 0 = none */
	bool is_settled;	/* its histogram is in `settled` */
};

/* Data of one thread, or of several in turn. */
struct hp_model_block {
	uint64_t functions;	/* known heads of its lists */
	uint64_t rows;
	uint64_t stamp;	/* sum of its records' */
	uint64_t calls;
	uint32_t process;	/* place in processes */
};

struct hp_model_node {
	uint32_t parent;	/* place lower than its own; the root is its own parent */
	uint32_t function;	/* HP_NONE: the root */
	uint64_t calls;
	double self_ns;
	double inclusive_ns;	/* the sum of self_ns below and here */
	double self_error_ns;	/* half of their 95 % intervals */
	double inclusive_error_ns;
};

struct hp_model_thread {
	char name[20];
	char state;	/* letter of /proc/PID/stat, 'x' = ended */
	uint32_t tid;
	uint32_t pid;
	uint32_t folded;	/* number of ended threads folded in here */
	bool is_member;
	double percent_last;	/* < 0: unknown */
	double percent_max;	/* < 0: unknown */
	double percent_average;	/* < 0: unknown */
	uint64_t cpu_ns;
	double user_share;	/* of cpu_ns, in user mode; < 0: unknown */
	uint64_t wait_ns;
	uint64_t life_ns;	/* from the first scan of it to the last */
	uint64_t last_ns;	/* its last scan, since the session's start */
	uint64_t whole_ns;	/* from its start to its end; 0: unknown */
	bool is_cpu_least;	/* its last scan was before its end, which recorded no CPU time */
};

/* A thread's own record of its name at its end. */
struct hp_model_thread_name {
	char name[20];
	uint32_t pid;
	uint32_t tid;
	uint64_t end;	/* ticks */
};

/* A recorded long gap (report/read/gap.c). */
struct hp_model_gap {
	uint64_t start_ns;	/* CLOCK_MONOTONIC_RAW */
	uint64_t end_ns;
	double excess_ns;
	uint32_t tid;
	uint32_t node;	/* of its calls' caller */
};

/* CPU samples in the long gaps below a node that belong to one function. */
struct hp_model_gap_share {
	uint32_t node;
	uint32_t function;	/* HP_NONE: of none that is instrumented */
	double ns;	/* CPU time that they stand for, */
	double squares;	/* and the sum over them of its squares */
};

/* Data missing from the report, and how much. */
struct hp_model_losses {
	uint64_t refused_chunks;
	uint64_t refusals;	/* refused by the kernel: memory outside the segment, system calls */
	uint64_t lost_calls;
	uint64_t lost_threads;
	uint64_t folded_rows;
	uint64_t folded_functions;
	uint64_t unpaired;
	uint64_t unwound;
	uint64_t untimed_signal;
	bool is_damaged;
};

#define HP_PLACE_ROW (UINT32_C(1) << 31)

struct hp_model_build;

struct hp_model {
	struct hp_reader reader;
	struct hp_model_build *build;	/* state for the next refresh (model_build.h) */
	uint32_t look;	/* number of the refresh, from 1 */
	uint32_t plan_look;	/* `look` at the last pass over all records for histograms */
	uint32_t *places;	/* by offset / HP_LINE: record's place + 1, or HP_PLACE_ROW and a row's node */
	size_t place_count;
	struct hp_model_record *records;
	size_t record_count;
	struct hp_model_block *blocks;
	size_t block_count;
	uint64_t elapsed_ns;	/* from the first start to the last end */
	uint64_t root_ns;	/* to the end of the root process */
	double ns_per_tick;
	double grain_ns;
	bool is_clock_guessed;	/* the segment holds one moment only */
	uint32_t root;	/* place of the root process, or HP_NONE */
	uint64_t cpu_ns;	/* of all processes */
	uint64_t blocked_ns;	/* threads neither on a CPU nor waiting for one */
	uint64_t thread_ns;	/* lifetimes of the threads covered by `blocked_ns` */
	uint64_t peak_rss_kb;	/* largest process */
	uint64_t rss_kb;
	uint64_t overhead_ns;	/* the hooks' cost, all threads */
	uint64_t helper_cpu_ns;	/* of the sampler, not part of the program's; 0 = unknown */
	uint32_t interrupt_ns;	/* cost of a sampling interrupt; 0 = not measured */
	uint64_t suspended_ns;	/* of the machine */
	uint32_t cores;	/* CPUs of the machine, when the session began; 0 = unknown */
	double bare_ns;	/* an empty call whose hooks do nothing; 0 = not measured */
	uint32_t threads_interval_ms;
	struct hp_model_losses losses;

	uint32_t recorded;	/* bits of enum hp_recorded_kind */
	struct hp_model_object *objects;
	size_t object_count;
	struct hp_model_process *processes;
	size_t process_count;
	struct hp_model_function *functions;
	size_t function_count;
	struct hp_model_node *nodes;	/* [0] = root; parents before children */
	size_t node_count;
	struct hp_model_thread *threads;
	size_t thread_count;
	struct hp_watch_id *folded;	/* threads that are in rows of others, by pid and tid */
	size_t folded_count;
	bool is_folded_known;	/* that are all of them */
	struct hp_model_run *runs;
	size_t run_count;
	size_t run_room;
	uint64_t children_cpu_ns;	/* children that the root waited for, and theirs; at its end */
	struct hp_model_thread_name *thread_names;	/* sorted by pid, tid, end */
	size_t thread_name_count;
	struct hp_model_sampling sampling;
	struct hp_model_gap *gaps;	/* by tid and start */
	size_t gap_count;
	size_t gap_room;
	struct hp_model_gap_share *gap_shares;	/* not known before functions have names */
	size_t gap_share_count;
	uint64_t end_ticks;	/* the last moment known */
	struct hp_model_levels levels;
};

/* Builds the model of a segment and takes it over.  Never fails: see `losses`. */
void hp_model_init(struct hp_model *model, struct hp_segment *segment);

/*
 * Updates a paused or all-zero model. The result is as if built again, but only
 * new records are searched, and places of objects, functions and nodes stay.
 * The segment must be the same.
 */
void hp_model_look(struct hp_model *model, struct hp_segment *segment);

/* Takes over `shares`, and estimates the times of functions again. */
void hp_model_take_gap_shares(struct hp_model *model, struct hp_model_gap_share *shares,
			      size_t count);

/* Releases the segment until the next refresh. The model cannot be queried meanwhile. */
void hp_model_pause(struct hp_model *model);
void hp_model_release(struct hp_model *model);

/* The place in records of a function's record at an offset, or HP_NONE; and that of the function. */
uint32_t hp_model_record_at(const struct hp_model *model, uint64_t offset);
uint32_t hp_model_place_at(const struct hp_model *model, uint64_t offset);

/*
 * The name of an object: its file's; for a program that ran under another name, such as a link's,
 * that one.  Lives as long as the model.
 */
const char *hp_model_object_name(const struct hp_model *model, uint32_t object);

/* True if a scanned thread is in the row of another; only if is_folded_known. */
bool hp_model_is_folded(const struct hp_model *model, uint32_t pid, uint32_t tid);

/* Of the session's first process; "?" = not known. */
const char *hp_model_root_name(const struct hp_model *model);

/*
 * The name at its end of the first thread `tid` of `pid` that ended at `ticks`
 * or later; NULL = not recorded, or the process's name.
 */
const char *hp_model_thread_name(const struct hp_model *model, uint32_t pid, uint32_t tid,
				 uint64_t ticks);

/* Counters of all its calls with a known duration. */
const struct hp_histogram *hp_model_histogram(const struct hp_model *model,
					      const struct hp_model_function *function);

/* The mean over all calls, ns; < 0: unknown. */
double hp_model_average(const struct hp_model *model, const struct hp_model_function *function);

/*
 * The duration that `percent` of all calls of `function` do not exceed, in ns;
 * < 0 = unknown. 0 and 100 are the shortest and longest timed calls.
 */
double hp_model_percentile(const struct hp_model *model, const struct hp_model_function *function,
			   double percent);

/* Its longest calls, longest first; unused entries have 0 ticks. */
void hp_model_slowest(const struct hp_model *model, const struct hp_model_function *function,
		      struct hp_call slowest[HP_SLOWEST]);

/*
 * Iterates over the rings of its last calls. `record` starts as the function's
 * `record`; 0 at the end. Returns the ring's offset, 0 = this one has none.
 */
uint64_t hp_model_ring(const struct hp_model *model, uint32_t *record, uint64_t *results);

/* Up to `most` of its last timed calls, newest first; returns the number. */
size_t hp_model_last_calls(struct hp_model *model, const struct hp_model_function *function,
			   struct hp_model_call *calls, size_t most);

/* A call's ticks in ns, since the session's start. */
struct hp_model_call hp_model_call(const struct hp_model *model, const struct hp_call *call);

/* Ticks in ns. */
uint64_t hp_model_ns(const struct hp_model *model, uint64_t ticks);

/* Frees the contents of a function's spread. */
void hp_model_spread_free(struct hp_model_spread *spread);

#endif
