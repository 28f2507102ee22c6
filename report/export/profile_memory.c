/* SPDX-License-Identifier: MIT */
/*
 * profile_memory.c - allocations in a processed profile: bytes by call path, on the
 * first thread.
 *
 * The counts of a path become two blocks: all freed bytes, and all others. So
 * the sums of allocated, freed and retained memory are exact. Their times are
 * unknown, so they are placed at the start and the end.
 */
#include <stdlib.h>

#include "report/section/memory/section.h"
#include "report/name/frame.h"
#include "report/base/memory.h"
#include "report/export/profile.h"
#include "report/read/size.h"

bool hp_profile_has_memory(const struct hp_profile *profile)
{
	const struct hp_alloc *alloc = hp_alloc_of(profile->report);

	return alloc && alloc->all.count;
}

static enum hp_profile_category category_of(uint32_t object)
{
	return object == HP_NONE ? HP_PROFILE_OTHER : HP_PROFILE_USER;
}

/* Functions only: finding the lines of all paths would take long. */
static uint32_t step_stack(struct hp_profile *profile, uint32_t number)
{
	const struct hp_alloc_step *step = &hp_alloc_of(profile->report)->steps[number];
	struct hp_profile_frame frame = { .object = HP_NONE };
	const struct hp_frame_place *place;
	uint64_t start;

	if (!number || profile->steps[number])
		return number ? profile->steps[number] : 0;
	if (step->mark) {
		frame.name = hp_alloc_mark_name(step->mark);
	} else {
		place = hp_frames_at(hp_alloc_frames(profile->report), step->object, step->address);
		start = hp_frames_start(hp_alloc_frames(profile->report), place);
		frame = (struct hp_profile_frame){
			.name = place->name,
			.object = step->object,
			.address = step->address - 1,
			.category = category_of(step->object),
			.start = start == UINT64_MAX ? 0 : start,
			.symbol = place->name,
		};
	}
	return profile->steps[number] = hp_profile_stack(&profile->tables,
							 step_stack(profile, step->caller), &frame);
}

struct blocks {
	struct hp_profile_column stack, weight, address, thread;
	size_t freed;	/* the first freed entry */
};

static void block_add(struct blocks *blocks, uint32_t stack, int64_t bytes, int64_t address,
		      uint32_t tid)
{
	if (!bytes)
		return;
	hp_profile_column_add(&blocks->stack, stack ? (int64_t)stack - 1 : INT64_MIN);
	hp_profile_column_add(&blocks->weight, bytes);
	hp_profile_column_add(&blocks->address, address);
	hp_profile_column_add(&blocks->thread, tid);
}

/* Blocks of a megabyte, 20 ns each, come to 2^63 bytes in two days. */
static int64_t weight_of(uint64_t bytes)
{
	return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static void blocks_make(struct hp_profile *profile, struct blocks *blocks)
{
	const struct hp_alloc *alloc = hp_alloc_of(profile->report);
	uint32_t tid = profile->threads[0].tid;

	for (uint32_t i = 1; i < alloc->count; i++) {
		const struct hp_alloc_sum *own = hp_alloc_own(alloc, i);
		uint32_t stack = own->count ? step_stack(profile, i) : 0;

		block_add(blocks, stack, own->live_bytes > 0 ? own->live_bytes : 0, 2 * i, tid);
		block_add(blocks, stack, weight_of(own->freed_bytes), 2 * i + 1, tid);
	}
	blocks->freed = blocks->weight.count;
	for (uint32_t i = 1; i < alloc->count; i++)
		block_add(blocks, hp_alloc_own(alloc, i)->count ? step_stack(profile, i) : 0,
			  -weight_of(hp_alloc_own(alloc, i)->freed_bytes), 2 * i + 1, tid);
}

void hp_profile_allocations_write(struct hp_profile *profile)
{
	struct blocks blocks = { .freed = 0 };
	gzFile out = profile->out;

	blocks_make(profile, &blocks);
	gzputs(out, "\"nativeAllocations\":{\"time\":[");
	for (size_t i = 0; i < blocks.weight.count; i++)
		gzprintf(out, "%s%.6f", i ? "," : "",
			 i < blocks.freed ? 0.0 : (double)profile->report->model.elapsed_ns / 1e6);
	gzputs(out, "],");
	hp_profile_column_write(out, "weight", &blocks.weight);
	hp_profile_column_write(out, "stack", &blocks.stack);
	hp_profile_column_write(out, "memoryAddress", &blocks.address);
	hp_profile_column_write(out, "threadId", &blocks.thread);
	gzprintf(out, "\"weightType\":\"bytes\",\"length\":%zu},", blocks.weight.count);
	free(blocks.weight.list);
	free(blocks.stack.list);
	free(blocks.address.list);
	free(blocks.thread.list);
}

/* Of all processes together, as sampled by the helper; values are differences. */
static void counter_write(struct hp_profile *profile, const char *what,
			  const struct hp_size_moment *moments, size_t count, bool is_live)
{
	gzFile out = profile->out;
	uint64_t before = 0;

	gzprintf(out,
		 "{%s,\"category\":\"Memory\",\"pid\":\"%u\","
		 "\"mainThreadIndex\":0,\"color\":\"grey\",\"samples\":{\"length\":%zu,"
		 "\"time\":[",
		 what, profile->threads[0].pid, count);
	for (size_t i = 0; i < count; i++)
		gzprintf(out, "%s%.6f", i ? "," : "", (double)moments[i].ns / 1e6);
	gzputs(out, "],\"count\":[");
	for (size_t i = 0; i < count; i++) {
		uint64_t bytes = is_live ? moments[i].live_bytes : moments[i].rss_bytes;

		gzprintf(out, "%s%lld", i ? "," : "", (long long)(bytes - before));
		before = bytes;
	}
	gzputs(out, "]}}");
}

void hp_profile_counters_write(struct hp_profile *profile)
{
	size_t count;
	struct hp_size_moment *moments = hp_sizes_read(&profile->report->model, &count);
	bool has_live = false;

	for (size_t i = 0; i < count; i++)
		has_live |= moments[i].live_bytes != 0;
	gzputs(profile->out, "\"counters\":[");
	if (count)
		counter_write(
			profile,
			"\"name\":\"RSS\",\"description\":\"Resident memory of all processes\"",
			moments, count, false);
	if (has_live) {
		gzputs(profile->out, ",");
		counter_write(
			profile,
			"\"name\":\"malloc\",\"description\":\"Bytes that all processes hold\"",
			moments, count, true);
	}
	gzputs(profile->out, "],");
	free(moments);
}
