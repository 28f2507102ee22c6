/* SPDX-License-Identifier: MIT */
/*
 * model.h - what a segment says, as plain structs: the input of every view.
 *
 * A function here is the sum over all threads and processes, by object and
 * address.  The rows of all blocks become one calling-context tree: nodes of
 * equal paths are one node.  Times are ns.  The model knows nothing of names,
 * settings and output.
 */
#ifndef HP_REPORT_MODEL_H
#define HP_REPORT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/cpu_model.h"
#include "report/label.h"
#include "report/reader.h"

#define HP_NONE UINT32_MAX	/* no place in an array */
#define HP_LAST_MOST 50	/* last calls of a function that a report shows */

struct hp_model_object {
	char *path;	/* never NULL, perhaps "" */
	uint32_t kind;	/* enum hp_object_kind */
	uint32_t build_id_size;
	uint8_t build_id[32];
	uint64_t device;
	uint64_t inode;
	bool is_program;	/* the executable of a process of the session */
};

struct hp_model_process {
	char comm[20];
	char *command;	/* may be NULL */
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t folded;
	uint32_t object;	/* place in objects, or HP_NONE */
	bool is_root;
	bool is_running;
	uint32_t ending;	/* enum hp_ending */
	int32_t exit_code;
	uint64_t start_ns;	/* since the session's start */
	uint64_t life_ns;	/* of all that is folded in here */
	uint64_t cpu_ns;
	uint64_t peak_rss_kb;
	uint64_t calls;	/* instrumented calls of its threads */
};

/* Counters of all blocks, one array of HP_GROUP_SIZE for each group that has values. */
struct hp_model_histogram {
	uint64_t *groups[HP_GROUPS];
	uint64_t total;	/* their sum */
};

struct hp_model_call {
	uint64_t start_ns;	/* since the session's start */
	uint64_t ns;
	uint32_t tid;
	char *result;	/* what it said of its result, the caller's to free; NULL = nothing */
};

/* Where last calls of a function stand: one for each block that has some. */
struct hp_model_log {
	struct hp_model_log *next;
	uint64_t offset;
	uint64_t results;	/* offset of their results; 0 = none */
};

struct hp_model_function {
	uint64_t address;	/* in the object */
	uint32_t object;	/* place in objects, or HP_NONE */
	struct hp_model_label *label;	/* what the source calls it; NULL = nothing */
	uint32_t running;	/* calls that had not ended */
	uint64_t calls;
	uint64_t measured;	/* calls with a known duration */
	uint64_t drawn;	/* of them: at random among others that are only counted */
	uint64_t least_ticks;	/* of the measured; UINT64_MAX = none */
	uint64_t most_ticks;
	bool is_recursive;
	bool is_sampled;	/* times are estimates */
	double total_ns;	/* outermost calls, callees included */
	double total_low_ns;	/* 95 % interval; equal when nothing was estimated */
	double total_high_ns;
	double self_ns;	/* without instrumented callees */
	double self_error_ns;	/* half of its 95 % interval */
	double average_ns;	/* over all calls; < 0: unknown */
	struct hp_model_histogram histogram;	/* ticks */
	struct hp_call slowest[HP_SLOWEST];	/* ticks; longest first */
	struct hp_model_log *logs;
	uint32_t log_count;

	/* Sums over blocks, for the estimates (tree.c). */
	double body_ticks;	/* own time of sampled calls, tail excluded */
	double body_squares;
	double body_count;
	double tail_variance;
	double doubt;
};

struct hp_model_node {
	uint32_t parent;	/* its place is lower; the root is its own */
	uint32_t function;	/* HP_NONE: the root */
	uint64_t calls;
	double self_ns;
	double inclusive_ns;	/* the sum of self_ns below and here */
};

struct hp_model_thread {
	char name[20];
	char state;	/* letter of /proc/PID/stat, 'x' = ended */
	uint32_t tid;
	uint32_t pid;
	uint32_t folded;	/* further ended threads summed up in here */
	bool is_member;
	double percent_last;	/* < 0: unknown */
	double percent_max;	/* < 0: unknown */
	double percent_average;	/* < 0: unknown */
	uint64_t cpu_ns;
	uint64_t wait_ns;
	uint64_t life_ns;
};

/* What is missing from the report, and how much of it. */
struct hp_model_losses {
	uint64_t refused_chunks;
	uint64_t lost_calls;
	uint64_t lost_threads;
	uint64_t folded_rows;
	uint64_t folded_functions;
	uint64_t unpaired;
	uint64_t unwound;
	uint64_t untimed_signal;
	bool is_damaged;
};

struct hp_model {
	struct hp_reader reader;
	uint32_t *places;	/* by offset / HP_LINE: of a function's record its place in functions, + 1 */
	uint64_t elapsed_ns;
	double ns_per_tick;
	double grain_ns;
	bool is_clock_guessed;	/* the segment holds one moment only */
	uint32_t root;	/* place of the root process, or HP_NONE */
	uint64_t cpu_ns;	/* of all processes */
	uint64_t blocked_ns;	/* threads neither on a CPU nor waiting for one */
	uint64_t thread_ns;	/* lifetimes of the threads `blocked_ns` was measured of */
	uint64_t peak_rss_kb;	/* largest process */
	uint64_t rss_kb;
	uint64_t overhead_ns;	/* what the hooks cost, all threads */
	uint32_t threads_interval_ms;
	struct hp_model_losses losses;

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
	struct hp_model_sampling sampling;
};

/* Builds the model of a segment and takes it over.  Never fails: see `losses`. */
void hp_model_init(struct hp_model *model, struct hp_segment *segment);
void hp_model_release(struct hp_model *model);

/*
 * The duration below which `percent` of all calls of `function` lie, in ns; < 0 = unknown.
 * 0 and 100 are the shortest and longest measured ones.
 */
double hp_model_percentile(const struct hp_model *model, const struct hp_model_function *function,
			   double percent);

/* Up to `most` of its last timed calls, the newest first; returns how many. */
size_t hp_model_last_calls(struct hp_model *model, const struct hp_model_function *function,
			   struct hp_model_call *calls, size_t most);

/* A call's ticks in ns, since the session's start. */
struct hp_model_call hp_model_call(const struct hp_model *model, const struct hp_call *call);

#endif
