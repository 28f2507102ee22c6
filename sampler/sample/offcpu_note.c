/* SPDX-License-Identifier: MIT */
/*
 * offcpu_note.c - see offcpu_note.h.
 *
 * A ring is written by the program's own process, so nothing in it is trusted:
 * sizes and offsets are checked before use.
 */
#include "sampler/sample/offcpu_note.h"

#include <string.h>

#include "sampler/sample/orphan.h"
#include "segment/clock.h"
#include "segment/ring.h"

#define LEAST_NS 10000	/* shorter calls are not worth a note */
#define LEAST_TICKS 1000
#define RINGS_MAX 100000	/* a damaged list must not cause an endless loop */
#define FREE_EVERY_NS UINT64_C(1000000000)
#define COST_RATIO 20	/* pauses are so many times longer than readings, */
#define PAUSE_NS UINT64_C(2000000)	/* up to this: a ring holds some ms of a thread */
#define SLACK_NS 1000	/* of a call's start, which is in ticks, */
#define SLACK_PART 1000	/* and this part of its duration */
#define MOST_NS (UINT64_C(1) << 62)	/* of a call that claims to have taken impossibly long */

/* Of the session's clock. */
static double ns_per_tick(const struct hp_offcpu_notes *notes)
{
	const struct hp_header *header = notes->segments->at[0]->header;

	if (header->clock_kind == HP_CLOCK_MONOTONIC_RAW)
		return 1;
	struct hp_moment now = hp_clock_moment(header->clock_kind);
	return now.ticks > header->start.ticks ? (double)(now.ns - header->start.ns) /
							 (double)(now.ticks - header->start.ticks)
					       : 1;
}

/* The other segments of the session get it at the next scan. */
static void least_set(const struct hp_offcpu_notes *notes, uint32_t least)
{
	atomic_store_explicit(&hp_segment_ticking(notes->segments->at[0])->offcpu_least, least,
			      memory_order_relaxed);
}

void hp_offcpu_notes_all(const struct hp_offcpu_notes *notes)
{
	double ticks = LEAST_NS / ns_per_tick(notes);

	least_set(notes, ticks > LEAST_TICKS ? (uint32_t)ticks & ~HP_OFFCPU_LONG : LEAST_TICKS);
}

void hp_offcpu_notes_long(const struct hp_offcpu_notes *notes, uint64_t long_ns)
{
	double ticks = (double)long_ns / HP_OFFCPU_LONG_RATIO / ns_per_tick(notes);

	least_set(notes, (uint32_t)ticks | HP_OFFCPU_LONG);
}

void hp_offcpu_notes_ask(struct hp_offcpu_notes *notes, const struct hp_segments *segments,
			 struct hp_samples *samples)
{
	*notes = (struct hp_offcpu_notes){ .segments = segments, .samples = samples };
	samples->has_notes = true;
	hp_offcpu_notes_all(notes);
}

void hp_offcpu_notes_leave(struct hp_offcpu_notes *notes)
{
	if (notes->segments)
		least_set(notes, 0);
}

/* ---- a note ---- */

/* The kernel reported the process, or it belongs to the session. */
static bool is_admitted(const struct hp_samples *samples, uint32_t pid)
{
	return hp_space_known(&samples->spaces, pid) || !samples->admits ||
	       samples->admits(samples->members, pid);
}

static void note_add(struct hp_offcpu_notes *notes, const struct hp_offcpu_ring *ring,
		     const uint64_t *words, uint32_t size, double tick_ns)
{
	double took = (double)words[HP_OFFCPU_TICKS] * tick_ns;
	uint64_t took_ns = took < (double)MOST_NS ? (uint64_t)took : MOST_NS;
	uint64_t end_ns = words[HP_OFFCPU_END], on = words[HP_OFFCPU_SIZE] >> 32;
	struct hp_wait_stack stack = {
		.pid = ring->pid,
		.pc = words[HP_OFFCPU_PC] - 1,	/* a return address */
		.sp = words[HP_OFFCPU_SP],
		.fp = words[HP_OFFCPU_FP],
		.off_ns = words[HP_OFFCPU_NONE],
		.switches = words[HP_OFFCPU_SWITCHES],
		.copy = (const uint8_t *)(words + HP_OFFCPU_HEAD),
		.size = (size - HP_OFFCPU_HEAD) * sizeof(uint64_t),
	};

	stack.took_ns = took_ns;
	took_ns += SLACK_NS + took_ns / SLACK_PART;
	if (on >= HP_ON_OTHER && on < HP_ON_ONS && took_ns < end_ns &&
	    is_admitted(notes->samples, stack.pid))
		hp_samples_place_waits(notes->samples, ring->tid, end_ns - took_ns, end_ns, &stack,
				       (enum hp_wait_on)on);
}

/*
 * Words that were read are wiped: copies of a stack may contain anything, even a password,
 * and a segment may be a kept file.
 */
static uint32_t ring_read(struct hp_offcpu_notes *notes, struct hp_offcpu_ring *from,
			  uint64_t until_ns, double tick_ns)
{
	static uint64_t words[HP_OFFCPU_WORDS];
	const struct hp_ring ring = HP_RING(from);
	uint64_t tail, head = hp_ring_look(&ring, &tail);
	uint32_t count = 0;

	for (; tail != head; count++) {
		uint32_t size = hp_ring_take(&ring, tail, head, HP_OFFCPU_HEAD, words);

		if (!size) {
			tail = head;
			break;
		}
		if (words[HP_OFFCPU_END] > until_ns)
			break;
		note_add(notes, from, words, size, tick_ns);
		hp_ring_wipe(&ring, tail, size);
		tail += size;
	}
	hp_ring_done(&ring, tail);
	return count;
}

static uint32_t rings_read(struct hp_offcpu_notes *notes, const struct hp_segment *segment,
			   uint64_t until_ns, bool frees)
{
	uint64_t at = atomic_load_explicit(&hp_segment_ticking(segment)->offcpu_rings,
					   memory_order_acquire);
	double tick_ns = ns_per_tick(notes);
	uint32_t count = 0;

	for (int i = 0; at && i < RINGS_MAX; i++) {
		struct hp_offcpu_ring *ring = hp_segment_at(segment, at, sizeof(*ring));

		if (!ring)
			break;
		count += ring_read(notes, ring, until_ns, tick_ns);
		if (frees &&
		    hp_ring_free_orphan(segment, &ring->state, &ring->process, &ring->image))
			atomic_fetch_add_explicit(&hp_segment_vacant(segment)->offcpu_rings, 1,
						  memory_order_relaxed);
		at = ring->next;
	}
	return count;
}

uint32_t hp_offcpu_notes_read(struct hp_offcpu_notes *notes, uint64_t until_ns)
{
	uint64_t now_ns = hp_clock_raw_ns();
	bool frees = now_ns >= notes->free_ns + FREE_EVERY_NS;
	uint32_t count = 0;

	if (!notes->segments)
		return 0;
	/* Ends of processes alone may wake us thousands of times a second. */
	if (now_ns < notes->due_ns && until_ns != UINT64_MAX)
		return notes->last;
	for (uint32_t i = 0; i < notes->segments->count; i++)
		count += rings_read(notes, notes->segments->at[i], until_ns, frees);
	if (frees)
		notes->free_ns = now_ns;
	uint64_t end_ns = hp_clock_raw_ns(), pause_ns = (end_ns - now_ns) * COST_RATIO;
	notes->due_ns = end_ns + (pause_ns < PAUSE_NS ? pause_ns : PAUSE_NS);
	notes->last = count;
	return count;
}
