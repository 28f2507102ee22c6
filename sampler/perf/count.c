/* SPDX-License-Identifier: MIT */
/*
 * count.c - see count.h.
 */
#include "sampler/perf/count.h"

#include <stdlib.h>
#include <unistd.h>

#include "sampler/perf/ring.h"
#include "segment/newer.h"

#define MISS_CYCLES 240
#define STAND_IN_MISSES 10	/* a page fault counts as this many misses */

struct counter {
	uint32_t type;
	uint64_t config;
};

static const struct counter of_processor[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
};
static const struct counter of_kernel[] = {
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
};

static bool is_stand_in(void)
{
	return getenv("HOTPATH_TEST_COUNTS") != NULL;
}

bool hp_counts_wait_for_memory(const struct hp_counts *grown)
{
	return grown->cycles && grown->instructions < grown->cycles &&
	       grown->misses >= grown->cycles / 2 / MISS_CYCLES + 1;
}

bool hp_counts_grow(struct hp_count_slot *slots, uint32_t tid, uint64_t event,
		    const struct hp_counts *now, struct hp_counts *grown)
{
	struct hp_count_slot *slot = &slots[(tid * UINT64_C(31) + event) % HP_COUNT_SLOTS];
	struct hp_counts last = slot->last;
	bool is_known = slot->event == event && slot->tid == tid && last.cycles < now->cycles &&
			last.instructions <= now->instructions && last.misses <= now->misses;

	*slot = (struct hp_count_slot){ event, tid, *now };
	*grown = (struct hp_counts){ now->cycles - last.cycles,
				     now->instructions - last.instructions,
				     now->misses - last.misses };
	if (is_stand_in())
		grown->misses *= STAND_IN_MISSES;
	return is_known;
}

int hp_perf_counts_open(const struct perf_event_attr *sampling, int tid, int cpu, int leader,
			int which)
{
	const struct counter *counter = &(is_stand_in() ? of_kernel : of_processor)[which - 1];
	struct perf_event_attr attr;

	hp_perf_attr_init(&attr, counter->type, counter->config);
	attr.read_format = sampling->read_format;
	attr.inherit = sampling->inherit;
	hp_perf_inherit_threads(&attr, hp_perf_inherits_threads(sampling));
	attr.exclude_kernel = counter->type == PERF_TYPE_HARDWARE && sampling->exclude_kernel;
	return hp_perf_open(&attr, tid, cpu, leader);
}

/* The whole group, on ourselves. */
static bool can_open(const struct perf_event_attr *sampling)
{
	struct perf_event_attr leader = *sampling;
	int fds[HP_COUNTS] = { -1, -1, -1 };
	bool can = true;

	leader.disabled = 1;
	for (int i = 0; i < HP_COUNTS && can; i++) {
		fds[i] = i ? hp_perf_counts_open(&leader, 0, 0, fds[0], i)
			   : hp_perf_open(&leader, 0, 0, -1);
		can = fds[i] >= 0;
	}
	for (int i = 0; i < HP_COUNTS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return can;
}

bool hp_perf_counts_ask(struct perf_event_attr *sampling, bool has_cycles)
{
	const struct perf_event_attr before = *sampling;

	if (!has_cycles && !is_stand_in())
		return false;
	sampling->sample_type |= PERF_SAMPLE_READ;
	sampling->read_format = PERF_FORMAT_GROUP;
	if (can_open(sampling))
		return true;
	*sampling = before;
	return false;
}
