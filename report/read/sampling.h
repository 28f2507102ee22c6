/* SPDX-License-Identifier: MIT */
/*
 * sampling.h - a segment's samples as plain structs.
 */
#ifndef HP_REPORT_READ_SAMPLING_H
#define HP_REPORT_READ_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/map.h"
#include "report/read/reader.h"
#include "segment/layout/sample.h"

/* A place in code and its callers. */
struct hp_model_stack {
	uint64_t address;	/* in the object; the absolute one if that is unknown */
	uint32_t object;	/* place in the model's objects, or HP_NONE */
	uint32_t above;	/* the caller's place, lower than its own; the root's is 0 */
	uint32_t parent;	/* the same; where the profiler's frames are hidden, the first of the program */
	uint64_t samples;	/* with this as the innermost place */
	uint64_t cpu_ns;
	uint64_t waits;
	uint64_t blocked_ns;
	uint64_t counted_ns;	/* of cpu_ns: classified by the processor's counters */
	uint64_t memory_ns;	/* of counted_ns: waited for memory */
	uint64_t guessed_ns;	/* of blocked_ns: from waits that were recorded in bursts */
	int64_t guess_waits;	/* that are in `waits` since bursts slowed the program down */
	double guess_error_ns;	/* half of a 95 % interval of that */
	uint32_t code;	/* its object's offset in the segment */
	bool is_ours;	/* our library's code, or the kernel's on its behalf */
	bool is_profiler;	/* the same, if that is hidden */
	uint16_t depth;	/* places from it to the outermost one; the root has 0 */
};

/* The place of a chunk of nodes. */
struct hp_model_stack_chunk {
	uint64_t offset;
	size_t first;	/* number of its first node */
};

struct hp_model_sampling {
	bool is_there;	/* samples were requested */
	struct hp_sampling record;
	struct hp_model_stack *stacks;	/* [0] = root */
	size_t stack_count;
	size_t stack_room;
	size_t known;	/* the stacks are the same as at the previous refresh, with new counters */
	uint32_t generation;	/* grows when entries of `stacks` are replaced */
	uint32_t low_hz;	/* reduced for some time for threads that switched often; 0 = never */
	uint32_t first_hz;	/* at first, before it was lowered to the record's; 0 = it was not */
	struct hp_model_stack_chunk *chunks;
	size_t chunk_count;
	size_t chunk_room;
	uint64_t changes;	/* offset of the ring of changes; 0 = none, or everything must be reread */
	uint64_t seen;	/* number of the first unread change */
	uint32_t by_cpu;	/* enum hp_sampling_by_cpu */
	uint64_t wait_lost;	/* records of waits, which are not in the record's `lost` */
	uint64_t crowd;	/* the most threads alive while CPUs were sampled instead of them; 0 = never */
	bool has_bursts;	/* waits were recorded in bursts, for a time */
	struct hp_bursts bursts;
	char *profile;	/* path of samply's profile; NULL = none */
	char *trouble;	/* the reason for missing samples of samply */
};

/*
 * Reads them into an all-zero or paused one. `objects` maps offsets to places +
 * 1.
 */
void hp_model_sampling_look(struct hp_model_sampling *sampling, struct hp_reader *reader,
			    uint64_t offset, const struct hp_map *objects);

/* True if samples were taken at more than one rate, so they stand for different times. */
bool hp_sampling_has_weights(const struct hp_model_sampling *sampling);

/*
 * Half of a 95 % interval of the bursts' sum, ns: `squares` is the sum over all of them of
 * (one's contribution, us) squared.
 */
double hp_sampling_burst_error(const struct hp_bursts *bursts, uint64_t blocked_ns,
			       uint64_t squares);

/* CPU time between two samples, ns: on average, where there were several rates; 0 = not known. */
double hp_sampling_period_ns(const struct hp_model_sampling *sampling);

/*
 * The number of samples of equal weight with the same information as these, which stand for
 * `cpu_ns` together: with several rates at most `samples`, and never an overestimate.
 */
double hp_sampling_effective(const struct hp_model_sampling *sampling, uint64_t samples,
			     uint64_t cpu_ns);

/* Samples of the program, and of our code in its threads, hidden or not. */
struct hp_sampling_sums {
	uint64_t program_ns;
	uint64_t our_ns;
	uint64_t our_samples;
};

struct hp_sampling_sums hp_sampling_sum(const struct hp_model_sampling *sampling);

struct hp_model_object;

/* Tells which places are ours. Call it after each refresh. */
void hp_model_sampling_mark(struct hp_model_sampling *sampling,
			    const struct hp_model_object *objects);

/*
 * Hides the profiler's frames between the program and its callees: of `main,
 * our malloc, the C library's malloc` the middle one is hidden. A frame that
 * is innermost, or has only the kernel below it, is kept, as is_profiler. Call it
 * after each hp_model_sampling_mark.
 */
void hp_model_sampling_hide(struct hp_model_sampling *sampling,
			    const struct hp_model_object *objects);

/* The stacks' counters were modified: the next refresh reads all of them. */
void hp_model_sampling_spoil(struct hp_model_sampling *sampling);

/* Empty until the next refresh, but known places are kept. */
void hp_model_sampling_pause(struct hp_model_sampling *sampling);
void hp_model_sampling_release(struct hp_model_sampling *sampling);

#endif
