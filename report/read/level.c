/* SPDX-License-Identifier: MIT */
/*
 * level.c - see level.h.
 */
#include "report/read/level.h"

#include "report/read/reader.h"
#include "segment/layout/process.h"

static const void *page_of(const struct hp_reader *reader, uint64_t begin)
{
	return (const char *)reader->segment.header + begin;
}

/* In a kept run, the words of the headers are sums in the first one. */
static bool is_complete(const struct hp_header *header, uint32_t flags)
{
	if (flags & HP_LEVEL_KEPT)
		return !(flags & HP_LEVEL_LOST);
	return !atomic_load_explicit(&header->refused, memory_order_relaxed) &&
	       !atomic_load_explicit(&header->lost_threads, memory_order_relaxed) &&
	       !atomic_load_explicit(&header->lost_calls, memory_order_relaxed);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* If others follow, the reader's size is theirs. */
static uint64_t own_bytes(const struct hp_reader *reader)
{
	const struct hp_levels *own = page_of(reader, HP_LEVELS_AT);

	return least(own->flags & HP_LEVEL_KEPT ? own->used : reader->header.used,
		     reader->part_count ? reader->parts[0].begin : reader->mapped);
}

static void own_read(struct hp_model_level *level, const struct hp_reader *reader)
{
	const struct hp_levels *own = page_of(reader, HP_LEVELS_AT);

	*level = (struct hp_model_level){
		.has_owner = own->flags & HP_LEVEL_OWNED,
		.user = own->user,
		.group = own->group,
		.is_tainted = own->is_tainted,
		.is_complete = is_complete(page_of(reader, 0), own->flags),
		.bytes = own_bytes(reader),
	};
}

static void part_read(struct hp_model_level *level, const struct hp_reader *reader,
		      const struct hp_reader_part *part)
{
	const struct hp_levels *session = page_of(reader, HP_LEVELS_AT);
	const struct hp_levels *its = page_of(reader, part->begin + HP_LEVELS_AT);
	struct hp_level_place place = { .begin = 0 };

	for (uint32_t i = 0; i < HP_LEVELS_MAX && place.begin != part->begin; i++)
		if (session->at[i].begin == part->begin)
			place = session->at[i];
	*level = (struct hp_model_level){
		.has_owner = place.flags & HP_LEVEL_OWNED,
		.user = place.user,
		.group = place.group,
		.is_tainted = its->is_tainted,
		.is_complete = is_complete(page_of(reader, part->begin), place.flags),
		.bytes = part->end - part->begin,
	};
}

void hp_levels_read(struct hp_model_levels *levels, const struct hp_reader *reader)
{
	const struct hp_levels *own = hp_segment_levels(&reader->segment);

	*levels = (struct hp_model_levels){ .count = 1 };
	/* A damaged one may end before its first page does. */
	if (!own || reader->mapped < HP_PAGE)
		return;
	levels->count += reader->part_count;
	levels->refused = own->refused;
	levels->are_missing = own->count > reader->part_count;
	own_read(&levels->at[0], reader);
	for (uint32_t i = 0; i < reader->part_count; i++)
		part_read(&levels->at[1 + i], reader, &reader->parts[i]);
}

static void pid_add(struct hp_model_level *level, uint32_t pid)
{
	for (uint32_t i = 0; i < level->pid_count; i++)
		if (level->pids[i] == pid)
			return;
	if (level->pid_count < HP_LEVEL_PIDS)
		level->pids[level->pid_count++] = pid;
}

void hp_levels_add(struct hp_model_levels *levels, const struct hp_reader *reader, uint64_t at,
		   const struct hp_process *process)
{
	uint32_t part = hp_reader_part_of(reader, at);
	struct hp_model_level *level = &levels->at[part < levels->count ? part : 0];

	level->runs += UINT64_C(1) + process->folded;
	if (process->ending != HP_ENDING_DROP)
		pid_add(level, process->pid);
}

bool hp_levels_are_special(const struct hp_model_levels *levels)
{
	return levels->count > 1 || levels->refused || levels->at[0].is_tainted;
}
