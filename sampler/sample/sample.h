/* SPDX-License-Identifier: MIT */
/*
 * sample.h - interprets the kernel's records: stacks for the tree, mappings,
 * forks, images, losses.
 *
 * Folder: sampler/sample - from records of samples and switches to stacks,
 *   rows and waits in the segment
 * May use: sampler/base sampler/perf segment segment/layout unwind util
 */
#ifndef HP_SAMPLER_SAMPLE_SAMPLE_H
#define HP_SAMPLER_SAMPLE_SAMPLE_H

#include <linux/perf_event.h>

#include "sampler/base/tids.h"
#include "sampler/perf/count.h"
#include "sampler/sample/burst.h"
#include "sampler/sample/event.h"
#include "sampler/sample/space.h"
#include "sampler/sample/tree.h"
#include "sampler/sample/wait.h"
#include "sampler/sample/walk.h"

/* Registers that samples carry, and their places in them. */
#if defined(__aarch64__)
#define HP_SAMPLE_REGISTERS (UINT64_C(1) << 29 | UINT64_C(1) << 31 | UINT64_C(1) << 32)
#else
#define HP_SAMPLE_REGISTERS (UINT64_C(1) << 6 | UINT64_C(1) << 7 | UINT64_C(1) << 8)
#endif
enum { HP_SAMPLE_FP, HP_SAMPLE_SP, HP_SAMPLE_PC, HP_SAMPLE_REGISTER_COUNT };

struct hp_samples {
	struct hp_sampling *record;
	struct hp_sample_tree tree;
	struct hp_spaces spaces;
	struct hp_sample_walker walker;
	struct hp_trails trails;
	struct hp_sample_events events;
	struct hp_waits waits;
	struct hp_bursting burst;
	uint64_t *wait_ids;	/* of the events at switches: open addressing, 0 = empty */
	uint32_t wait_id_room;	/* a power of two */
	uint32_t wait_id_count;
	uint64_t wait_samples;
	uint64_t cpu_ns;	/* as in the record, where no member can write it */
	uint64_t lost;	/* records, */
	uint64_t wait_lost;	/* and of these, those for rings of waits */
	const bool *is_of_waits;	/* the ring of the current record; NULL = there is none for waits */
	uint32_t started;	/* threads, by their records; may wrap */
	uint32_t ended;	/* threads; may wrap */
	uint64_t walked;	/* stacks, of samples and at switches */
	uint64_t cut;	/* of these: longer than the copied part */
	uint64_t open_ns;	/* time up to which ongoing waits were counted */
	uint64_t open_rest_ns;	/* until the next count, at least */
	uint64_t open_lost;	/* and the losses up to then */
	uint64_t stack_ns;	/* of the newest stack of a wait */
	uint64_t lost_ns;	/* the same when records were lost: older ones may belong to ended waits */
	struct hp_tids *
		born;	/* receives the threads that start with an event from `born_from` on; NULL = none */
	uint64_t born_from;	/* the event's identifier: events opened later have higher ones */
	uint64_t second_from;	/* identifier: CPU samples of later events are second ones of the same threads; 0 = none are */
	bool is_whole;	/* CPUs are sampled, and so threads outside the session */
	bool is_wide;	/* other records come from them, too */
	uint64_t others;	/* records of switches and samples of other processes, without idle CPUs */
	uint32_t helper;	/* our process, which is none of them */
	bool counts_all;	/* switches and stacks of other processes are counted, since they cost as much */
	uint64_t switches;	/* of the session's threads, or of all: records */
	uint32_t outside_at;	/* where the next scan from outside begins; may wrap */
	bool has_notes;	/* threads report later where they waited */
	bool (*admits)(void *members,
		       uint32_t pid);	/* may the process that a note names be read? */
	void *members;
	uint64_t sample_type;	/* of the events that sample */
	uint64_t period_ns;	/* the weight of a sample; 0 = its own period */
	struct hp_count_slot *counts;	/* HP_COUNT_SLOTS; NULL until a sample has some */
	struct hp_place places[HP_PLACES_MAX];
	struct hp_tree_path paths[HP_PLACES_MAX];	/* up to them */
	uint32_t place_count;
	bool is_complete;	/* the last one's stack reached its end */
	bool is_cut;	/* or was longer than the copy */
};

/* Returns false if memory runs out. */
bool hp_samples_init(struct hp_samples *samples, const struct hp_segment *segment,
		     struct hp_sampling *record);
void hp_samples_release(struct hp_samples *samples);

/* Samples of the event with this identifier are taken when a thread leaves the CPU. */
void hp_samples_note_wait_id(struct hp_samples *samples, uint64_t id);
/* These events were closed, and their records were read. */
void hp_samples_forget_wait_ids(struct hp_samples *samples);

/* A sample that a thread took of itself. */
struct hp_tick {
	uint64_t ns;	/* CLOCK_MONOTONIC_RAW */
	uint64_t cpu_ns;	/* that it stands for */
	uint32_t pid;
	uint32_t tid;
	const uint64_t *frames;	/* return addresses, innermost first, including the first one */
	uint32_t count;
	bool is_complete;
	bool is_cut;
};

void hp_samples_add_tick(struct hp_samples *samples, struct hp_space *space,
			 const struct hp_tick *tick);

/* A thread that waits, or waited, in a call. */
struct hp_wait_stack {
	uint32_t pid;
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;	/* 0 = not known */
	const uint8_t *copy;	/* of its stack, from sp on */
	size_t size;
	uint64_t took_ns;	/* of an ended call, as measured; */
	uint64_t off_ns;	/* the longest time in it that the thread was off the CPU, */
	uint64_t switches;	/* and the most often that it gave it up */
};

/* The node of the place where it waits; 0 = no memory. */
uint32_t hp_samples_wait_node(struct hp_samples *samples, const struct hp_wait_stack *stack,
			      enum hp_wait_on on);

/* Attributes the thread's waits within this time that have no place to this one. */
void hp_samples_place_waits(struct hp_samples *samples, uint32_t tid, uint64_t begin_ns,
			    uint64_t end_ns, const struct hp_wait_stack *stack, enum hp_wait_on on);

/* For hp_perf_rings; the context is a struct hp_samples. */
void hp_samples_ahead(void *samples, const struct perf_event_header *record, unsigned steps);
void hp_samples_handle(void *samples, const struct perf_event_header *record);

#endif
