/* SPDX-License-Identifier: MIT */
/*
 * cpu_model.c - see cpu_model.h.
 */
#include "report/cpu_model.h"

#include <stdlib.h>
#include <string.h>

#include "report/memory.h"
#include "report/model.h"

static void stack_add(struct hp_model_sampling *sampling, size_t *room,
		      const struct hp_stack_node *node, const struct hp_map *objects)
{
	const uint32_t *place = hp_map_find(objects, (uint64_t)node->object * HP_LINE);
	size_t number = sampling->stack_count;

	sampling->stacks = hp_xgrow(sampling->stacks, number, room, sizeof(*sampling->stacks));
	sampling->stacks[sampling->stack_count++] = (struct hp_model_stack){
		.address = node->address,
		.object = node->object && place ? *place - 1 : HP_NONE,
		/* A damaged one hangs below the root. */
		.parent = node->parent < number ? node->parent : 0,
		.samples = node->samples,
		.cpu_ns = node->cpu_ns,
		.waits = node->waits,
		.blocked_ns = node->blocked_ns,
		.counted_ns = node->counted_ns,
		.memory_ns = node->memory_ns,
	};
}

static void texts_read(struct hp_model_sampling *sampling, struct hp_reader *reader)
{
	struct hp_ticking ticking;

	memcpy(&ticking, (const char *)reader->segment.header + HP_TICKING_AT, sizeof(ticking));
	if (ticking.profile)
		sampling->profile = hp_reader_text(reader, ticking.profile);
	if (ticking.trouble)
		sampling->trouble = hp_reader_text(reader, ticking.trouble);
}

void hp_model_sampling_init(struct hp_model_sampling *sampling, struct hp_reader *reader,
			    uint64_t offset, const struct hp_map *objects)
{
	struct hp_stack_chunk chunk;
	struct hp_stack_node node;
	size_t room = 0;

	memset(sampling, 0, sizeof(*sampling));
	if (!hp_reader_step(reader, offset, &sampling->record, sizeof(sampling->record)))
		return;
	sampling->is_there = true;
	texts_read(sampling, reader);
	for (uint64_t at = sampling->record.nodes;
	     hp_reader_step(reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		uint64_t place = at + sizeof(chunk);

		for (uint32_t i = 0; i < chunk.count && i < chunk.capacity;
		     i++, place += sizeof(node)) {
			if (!hp_reader_step(reader, place, &node, sizeof(node)))
				break;
			stack_add(sampling, &room, &node, objects);
		}
	}
}

void hp_model_sampling_release(struct hp_model_sampling *sampling)
{
	free(sampling->stacks);
	free(sampling->profile);
	free(sampling->trouble);
	memset(sampling, 0, sizeof(*sampling));
}
