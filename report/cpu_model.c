/* SPDX-License-Identifier: MIT */
/*
 * cpu_model.c - see cpu_model.h.
 */
#include "report/cpu_model.h"

#include <stdlib.h>
#include <string.h>

#include "report/memory.h"
#include "report/model.h"

static uint32_t object_of(uint32_t code, const struct hp_map *objects)
{
	const uint32_t *place = code ? hp_map_find(objects, (uint64_t)code * HP_LINE) : NULL;

	return place ? *place - 1 : HP_NONE;
}

static void counters_read(struct hp_model_stack *stack, const struct hp_stack_node *node)
{
	stack->samples = node->samples;
	stack->cpu_ns = node->cpu_ns;
	stack->waits = node->waits;
	stack->blocked_ns = node->blocked_ns;
	stack->counted_ns = node->counted_ns;
	stack->memory_ns = node->memory_ns;
}

static void stack_add(struct hp_model_sampling *sampling, const struct hp_stack_node *node,
		      const struct hp_map *objects)
{
	size_t number = sampling->stack_count;

	sampling->stacks = hp_xgrow(sampling->stacks, number, &sampling->stack_room,
				    sizeof(*sampling->stacks));
	sampling->stacks[number] = (struct hp_model_stack){
		.address = node->address,
		.object = object_of(node->object, objects),
		/* A damaged one hangs below the root. */
		.parent = node->parent < number ? node->parent : 0,
		.code = node->object,
	};
	counters_read(&sampling->stacks[number], node);
	sampling->stack_count++;
}

/* True if it is the place that stands there since the look before. */
static bool is_known(const struct hp_model_sampling *sampling, const struct hp_stack_node *node)
{
	size_t number = sampling->stack_count;
	const struct hp_model_stack *stack;

	if (number >= sampling->known)
		return false;
	stack = &sampling->stacks[number];
	return stack->address == node->address && stack->code == node->object &&
	       stack->parent == (node->parent < number ? node->parent : 0) &&
	       (stack->object != HP_NONE || !stack->code);
}

static void node_read(struct hp_model_sampling *sampling, const struct hp_stack_node *there,
		      const struct hp_map *objects)
{
	struct hp_stack_node node;

	memcpy(&node, there, sizeof(node));
	if (is_known(sampling, &node)) {
		counters_read(&sampling->stacks[sampling->stack_count++], &node);
		return;
	}
	if (sampling->known > sampling->stack_count)
		sampling->known = sampling->stack_count;
	stack_add(sampling, &node, objects);
}

static void texts_read(struct hp_model_sampling *sampling, struct hp_reader *reader)
{
	struct hp_ticking ticking;

	memcpy(&ticking, (const char *)reader->segment.header + HP_TICKING_AT, sizeof(ticking));
	sampling->low_hz = ticking.low_hz;
	if (ticking.profile)
		sampling->profile = hp_reader_text(reader, ticking.profile);
	if (ticking.trouble)
		sampling->trouble = hp_reader_text(reader, ticking.trouble);
}

static void stacks_read(struct hp_model_sampling *sampling, struct hp_reader *reader,
			const struct hp_map *objects)
{
	struct hp_stack_chunk chunk;

	for (uint64_t at = sampling->record.nodes;
	     hp_reader_step(reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		uint32_t count = chunk.count < chunk.capacity ? chunk.count : chunk.capacity, i;
		const struct hp_stack_node *nodes =
			hp_reader_see(reader, at + sizeof(chunk), (size_t)count * sizeof(*nodes));

		for (i = 0; nodes && i < count && reader->steps; i++, reader->steps--)
			node_read(sampling, &nodes[i], objects);
		reader->is_damaged |= i < count;
	}
}

void hp_model_sampling_look(struct hp_model_sampling *sampling, struct hp_reader *reader,
			    uint64_t offset, const struct hp_map *objects)
{
	size_t before = sampling->known;

	if (hp_reader_step(reader, offset, &sampling->record, sizeof(sampling->record))) {
		sampling->is_there = true;
		texts_read(sampling, reader);
		stacks_read(sampling, reader, objects);
	}
	if (sampling->known > sampling->stack_count)
		sampling->known = sampling->stack_count;
	sampling->generation += sampling->known < before;
}

void hp_model_sampling_pause(struct hp_model_sampling *sampling)
{
	free(sampling->profile);
	free(sampling->trouble);
	/* Where a look did not come so far, all are gone. */
	sampling->generation += sampling->stack_count < sampling->known;
	*sampling = (struct hp_model_sampling){ .stacks = sampling->stacks,
						.stack_room = sampling->stack_room,
						.generation = sampling->generation,
						.known = sampling->stack_count };
}

void hp_model_sampling_release(struct hp_model_sampling *sampling)
{
	hp_model_sampling_pause(sampling);
	free(sampling->stacks);
	memset(sampling, 0, sizeof(*sampling));
}
