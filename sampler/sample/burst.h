/* SPDX-License-Identifier: MIT */
/*
 * burst.h - waits of threads that switch all the time, recorded in short bursts.
 *
 * A record of each switch costs as much as the switch itself.  So above some rate the
 * kernel's records are enabled for only a few milliseconds, at a random moment of each slot
 * (HP_BURST_SLOT_NS).  A wait that begins in the first part of a burst, the take, counts
 * slot / take times.  The second part is HP_BURST_LONG_NS long, so a short wait that began in the
 * take ends while it is recorded.
 *
 * Long waits are rare and would make such a sum useless, so they are counted once each: threads
 * note each long call (preload/wait/offcpu_note.h), which replaces the bursts' part of it; and a
 * thread that had no time slice between two bursts is still in the same wait. A long wait in a call
 * without a note counts like a short one, or once if it outlasts a slot.
 *
 * Recording slows threads down, so there are fewer switches in a burst than elsewhere. The share of
 * waiting time is about the same; the number of waits is corrected by the kernel's count of time
 * slices.
 *
 * Each burst is one sample: the spread of the bursts' contributions to a node gives
 * the error.
 */
#ifndef HP_SAMPLER_SAMPLE_BURST_H
#define HP_SAMPLER_SAMPLE_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/sample/tree.h"
#include "sampler/sample/wait.h"

#define HP_BURST_SLOT_NS UINT64_C(100000000)
#define HP_BURST_LONG_NS UINT64_C(1000000)

struct hp_samples;

/* A wait that began in a take, or was already tracked; in_ns 0 = ongoing. */
struct hp_burst_wait {
	uint64_t out_ns;
	uint64_t in_ns;
	uint64_t slices;	/* of the thread, when it was last seen waiting, */
	uint64_t seen_ns;	/* which was then; 0 = not yet, or its end was recorded */
	uint32_t tid;
	uint32_t pid;
	uint32_t node;
	bool is_once;	/* not sampled: its start was recorded regardless of bursts */
};

struct hp_burst_node {
	struct hp_guess *guess;	/* NULL = none yet */
	uint64_t added_ns;	/* by the present burst */
	struct hp_guess before;	/* the guess when the present period began */
};

struct hp_bursting {
	struct hp_bursts *record;	/* NULL = there were never any bursts */
	bool is_on;
	bool is_running;	/* a burst is */
	uint64_t on_ns;	/* since when is_on: the present period, */
	struct hp_bursts before;	/* and the record then */
	uint64_t earlier_ns;	/* for how long it was before */
	uint64_t from_ns;	/* of the newest burst: its start, 0 = none, or it has no result, */
	uint64_t take_ns;	/* the end of the take */
	uint32_t weight;
	uint32_t slots;	/* that it stands for */
	uint32_t missed;	/* slots of bursts without a result: those of the next one, too */
	uint64_t lost;	/* records, when it began */
	bool has_dropped;	/* a wait was dropped: no room */
	uint32_t all_outs;	/* the same, including preempted threads */
	uint32_t outs;	/* switches away in the take */
	struct hp_burst_wait *waits;
	uint32_t wait_count;
	struct hp_burst_node *nodes;	/* by number */
	uint32_t node_room;
	uint32_t *touched;	/* nodes of the present burst */
	struct hp_guess_chunk *newest;
};

/* From now on waits are recorded in bursts. False = no memory. */
bool hp_burst_on(struct hp_samples *samples, uint64_t now_ns);
/* All switches are recorded again. */
void hp_burst_off(struct hp_samples *samples, uint64_t now_ns);
/*
 * The session has ended, or may go on without its root. The period's bursts stand for all of it: also
 * for slots without a burst, while the helper had no CPU, and no longer than until now.
 */
void hp_burst_finish(struct hp_samples *samples, uint64_t now_ns);
void hp_burst_release(struct hp_bursting *burst);

/*
 * A burst's records begin now; those of the previous one were read, and so were notes. The take is
 * one part in `parts` of a slot, and the burst stands for the given number of slots.
 */
void hp_burst_begin(struct hp_samples *samples, uint64_t now_ns, uint32_t parts, uint32_t slots);
/* They have ended, and were read.  False = some were lost, so the burst is discarded. */
bool hp_burst_end(struct hp_samples *samples);

/* A thread's wait ends or begins: for hp_samples, with the records of switches. */
void hp_burst_switch(struct hp_bursting *burst, uint64_t now_ns);
void hp_burst_out(struct hp_samples *samples, struct hp_wait_thread *thread);
void hp_burst_in(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t now_ns);

/* Checks threads with an ongoing wait. */
void hp_burst_follow(struct hp_samples *samples, uint64_t now_ns);

/* A call that a thread noted. */
struct hp_burst_note {
	uint64_t begin_ns;	/* or a bit earlier */
	uint64_t end_ns;
	uint64_t took_ns;
	uint64_t off_ns;	/* the longest time that the thread was off the CPU, */
	uint64_t switches;	/* and the most often that it gave it up */
	uint32_t pid;
	uint32_t tid;
	uint32_t node;	/* where the call was made */
};

void hp_burst_note(struct hp_samples *samples, const struct hp_burst_note *note);

/* Adds the bursts so far to the sums. */
void hp_burst_settle(struct hp_samples *samples);

#endif
