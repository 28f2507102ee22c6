/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the rings that the kernel writes samples to, one for each CPU.
 *
 * Folder: sampler/perf - the kernel's performance events: rings, counters,
 *   descriptors, rates
 * May use: sampler/base segment
 *
 * A ring belongs to an event of our own process that counts nothing and never
 * ends, so events of any number of threads can share it and none of them
 * determines its lifetime. The records of all rings are read in chronological
 * order: a sample is useless before its mapping is known.
 */
#ifndef HP_SAMPLER_PERF_RING_H
#define HP_SAMPLER_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Required in each event, so that records can be sorted and distinguished: SAMPLE
 * begins with the identifier, all others end with tid, time, identifier.
 */
#define HP_PERF_COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define HP_PERF_RECORD_MAX 65536

struct hp_perf_ring {
	int fd;	/* of its event */
	uint32_t cpu;
	struct perf_event_mmap_page *page;
	uint8_t *data;
	size_t size;	/* of the data, a power of two */
	uint64_t head;	/* end of the readable part */
	uint64_t tail;
	bool is_tight;	/* was too full for a large record at the last read */
	uint64_t switches;	/* handled records of switches */
	uint64_t time;	/* of the record at `tail`; UINT64_MAX = none */
};

typedef void (*hp_perf_handler)(void *context, const struct perf_event_header *record);

/*
 * Receives the records of a ring some steps before they are handled, to prefetch the data that
 * they will need: first with HP_PERF_AHEAD, last with 1 step to go. Not called for all of them.
 */
typedef void (*hp_perf_scout)(void *context, const struct perf_event_header *record,
			      unsigned steps);

#define HP_PERF_AHEAD 2u

struct hp_perf_rings {
	struct hp_perf_ring *list;
	/* NULL = no prefetching. */
	hp_perf_scout ahead;
	/* The handler's count of switches; NULL = it has none. */
	const uint64_t *switches;
	uint32_t count;	/* CPUs; */
	uint32_t all;	/* rings: as many, or twice as many, then those for waits or for more threads follow */
	bool has_waits;
	bool is_more_refused;
	bool is_of_waits;	/* the ring of the record being handled */
	uint8_t *copy;	/* HP_PERF_RECORD_MAX bytes for a record that wraps around */
};

/*
 * Rings of up to `size` bytes, a power of two, on all CPUs; smaller ones, of the same size, if
 * the kernel does not permit that much.  With `has_waits` each CPU has another one for waits, if
 * memory that may be locked is not limited: many large records of waits leave no room for others.
 * Returns 0 or -errno.
 */
int hp_perf_rings_init(struct hp_perf_rings *rings, size_t size, bool has_waits);
void hp_perf_rings_release(struct hp_perf_rings *rings);

/* The ring for waits of the CPU of `ring`; itself = there is none. */
const struct hp_perf_ring *hp_perf_rings_waits(const struct hp_perf_rings *rings,
					       const struct hp_perf_ring *ring);

/*
 * A second ring of each CPU, for the events of threads that start no others. When a thread ends that
 * has a copy of its creator's event, the kernel wakes whoever waits for any event of that one's ring
 * (ring_buffer_wakeup), so rings of creators should have few. Not beside rings for waits, nor if less
 * than 128 KiB may still be locked for each. False = there is none.
 */
bool hp_perf_rings_more(struct hp_perf_rings *rings);

/* Records of switches on a CPU, `cpu` < `count`, handled since the last recount. */
uint64_t hp_perf_rings_switches(const struct hp_perf_rings *rings, uint32_t cpu);
void hp_perf_rings_recount(struct hp_perf_rings *rings);

/* Common to all of our events: clock, times, the wakeup threshold. */
void hp_perf_attr_init(struct perf_event_attr *attr, uint32_t type, uint64_t config);

int hp_perf_open(struct perf_event_attr *attr, int pid, int cpu, int group);

/*
 * Passes every record up to `until` (CLOCK_MONOTONIC_RAW) to the handler, in
 * chronological order. Returns how many.
 */
uint64_t hp_perf_rings_read(struct hp_perf_rings *rings, uint64_t until, hp_perf_handler handler,
			    void *context);

/*
 * The same up to the last record, losses included: the kernel reports them
 * before the next record, but there is none after the last one. So if a ring
 * was full, a record of our own is added.
 */
uint64_t hp_perf_rings_settle(struct hp_perf_rings *rings, hp_perf_handler handler, void *context);

#endif
