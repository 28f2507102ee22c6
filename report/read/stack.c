/* SPDX-License-Identifier: MIT */
/*
 * stack.c - see stack.h.
 *
 * Frames above the live ones are stale. A function's record has the number of
 * its open calls, so the first surplus frame is stale.
 */
#include "report/read/stack.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/layout/process.h"

struct walk {
	struct hp_model *model;
	struct hp_map active;	/* offset of a function's record -> open calls not seen yet */
	struct hp_stack stack;
	size_t room;
	hp_stack_see see;
	void *context;
};

/* A stale frame may point anywhere; that is not damage. */
static bool is_row(const struct hp_model *model, uint64_t at)
{
	return at % HP_LINE == 0 && at / HP_LINE < model->place_count &&
	       model->places[at / HP_LINE] & HP_PLACE_ROW;
}

/* False = the frame is stale. */
static bool call_of(struct walk *w, const struct hp_frame *frame, struct hp_stack_call *call)
{
	struct hp_row row;
	uint32_t *left, record;
	bool is_new;

	*call = (struct hp_stack_call){ .row = frame->row - w->stack.block->base, .frame = *frame };
	if (!is_row(w->model, call->row) ||
	    !hp_reader_copy(&w->model->reader, call->row, &row, sizeof(row)))
		return false;
	call->function = (uint64_t)row.function * HP_LINE;
	record = hp_model_record_at(w->model, call->function);
	if (record == HP_NONE)
		return false;
	left = hp_map_at(&w->active, call->function, &is_new);
	if (is_new)
		*left = hp_reader_gist_active(&w->model->reader, w->model->records[record].gist);
	if (!*left)
		return false;
	--*left;
	return true;
}

/* False = the stack ends in this part. */
static bool read_frames(struct walk *w, uint64_t at, uint32_t capacity)
{
	struct hp_stack *stack = &w->stack;
	struct hp_reader *reader = &w->model->reader;

	if (!hp_reader_see(reader, at, (uint64_t)capacity * sizeof(struct hp_frame)))
		return false;
	for (uint32_t i = 1; i < capacity; i++) {
		struct hp_stack_call call;
		struct hp_frame frame;

		/* Damaged lists may lead here many times. */
		if (!hp_reader_step(reader, at + i * sizeof(frame), &frame, sizeof(frame)))
			return false;
		if (!call_of(w, &frame, &call))
			return false;
		stack->calls = hp_xgrow(stack->calls, stack->count, &w->room, sizeof(call));
		stack->calls[stack->count++] = call;
	}
	return true;
}

static void read_stack(struct walk *w, uint64_t at)
{
	struct hp_part part;
	bool goes_on = true;

	w->stack.count = 0;
	while (goes_on && hp_reader_step(&w->model->reader, at, &part, sizeof(part))) {
		goes_on = read_frames(w, at + sizeof(part), part.capacity);
		at = part.above ? part.above - w->stack.block->base : 0;
	}
	if (w->stack.count)
		w->see(w->context, &w->stack);
}

static void read_block(struct walk *w)
{
	struct hp_part part;

	hp_map_clear(&w->active);
	for (uint64_t at = w->stack.block->parts;
	     hp_reader_step(&w->model->reader, at, &part, sizeof(part)); at = part.next)
		if (!part.below)
			read_stack(w, at);
}

void hp_stacks_each(struct hp_model *model, hp_stack_see see, void *context)
{
	struct hp_reader *reader = &model->reader;
	struct walk w = { .model = model, .see = see, .context = context };
	struct hp_process process;
	struct hp_block block;

	w.stack.block = &block;
	w.stack.process = &process;
	/* Parts are visited twice. */
	hp_reader_restart(reader, 3);
	for (uint64_t at = hp_reader_processes(reader);
	     hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next))
		for (uint64_t in = process.blocks;
		     hp_reader_step(reader, in, &block, sizeof(block)); in = block.next)
			read_block(&w);
	free(w.stack.calls);
	hp_map_release(&w.active);
}
