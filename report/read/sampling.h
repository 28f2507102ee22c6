/* SPDX-License-Identifier: MIT */
/*
 * sampling.h - what a segment says of samples, as plain structs.
 */
#ifndef HP_REPORT_READ_SAMPLING_H
#define HP_REPORT_READ_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/base/map.h"
#include "report/read/reader.h"
#include "segment/layout/sample.h"

/* A place in code below the places that lead to it. */
struct hp_model_stack {
	uint64_t address;	/* in the object; the plain one if that is not known */
	uint32_t object;	/* place in the model's objects, or HP_NONE */
	uint32_t above;	/* the place that leads to it, lower than its own; the root's is 0 */
	uint32_t parent;	/* the same, or where the profiler's own frames are hidden the first that is the program's */
	uint64_t samples;	/* of which this is the innermost place */
	uint64_t cpu_ns;
	uint64_t waits;
	uint64_t blocked_ns;
	uint64_t counted_ns;	/* of cpu_ns: the processor's counters tell of what kind */
	uint64_t memory_ns;	/* of counted_ns: it waited for memory */
	uint32_t code;	/* its object as the segment has it */
	bool is_profiler;	/* our library's code, or the kernel's on its behalf; only where that is hidden */
};

/* Where a chunk of nodes lies. */
struct hp_model_stack_chunk {
	uint64_t offset;
	size_t first;	/* number of its first node */
};

struct hp_model_sampling {
	bool is_there;	/* samples were asked for */
	struct hp_sampling record;
	struct hp_model_stack *stacks;	/* [0] = root */
	size_t stack_count;
	size_t stack_room;
	size_t known;	/* of the stacks: they are those of the look before, with other counters */
	uint32_t generation;	/* grows when what stands in `stacks` is not what stood there */
	uint32_t low_hz;	/* for a time, of threads that switched often; 0 = never */
	struct hp_model_stack_chunk *chunks;
	size_t chunk_count;
	size_t chunk_room;
	uint64_t changes;	/* offset of the ring of changes; 0 = none, or all is to be read again */
	uint64_t seen;	/* number of the first change that was not read */
	char *profile;	/* path of samply's; NULL = it took none */
	char *trouble;	/* why there are no samples of samply */
};

/*
 * Reads them into one that is all zeroes, or was paused.  `objects` leads from
 * offsets to places + 1.
 */
void hp_model_sampling_look(struct hp_model_sampling *sampling, struct hp_reader *reader,
			    uint64_t offset, const struct hp_map *objects);

struct hp_model_object;

/*
 * Takes the profiler's frames out of the way between the program and what it calls:
 * of `main, malloc of ours, malloc of the C library` the middle one goes.  Where one
 * is innermost, or only the kernel is below it, it stays, as is_profiler.  To be
 * called after each look.
 */
void hp_model_sampling_hide(struct hp_model_sampling *sampling,
			    const struct hp_model_object *objects);

/* The stacks' counters are no longer what was read: the next look reads all of them. */
void hp_model_sampling_spoil(struct hp_model_sampling *sampling);

/* Until the next look nothing is there; which places are known is kept. */
void hp_model_sampling_pause(struct hp_model_sampling *sampling);
void hp_model_sampling_release(struct hp_model_sampling *sampling);

#endif
