/* SPDX-License-Identifier: MIT */
/*
 * open.c - see open.h.
 *
 * A frame holds the start of its call, on the clock that stops while hooks run,
 * and its callees' time so far. The call ends with its process: at its death,
 * at the next image, or at present.
 *
 * An untimed call has no start time. It began before its callee and after its
 * caller's earlier callees, so it is reported to start with its callee.
 *
 * A thread may have several stacks, of coroutines and of signal handlers.  It
 * is unknown which of them runs, so the times of the oldest stack are used,
 * which is the thread's own.
 *
 * A process that is killed is found dead some time later: 2 ms on an idle machine, 8 on a
 * busy one.
 */
#include "report/read/open.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/stack.h"
#include "segment/layout/process.h"

#define FINE ((double)(1 << HP_FINE_BITS))
#define LATE_NS 10e6	/* at most, until a killed process is found dead */

/* A process between two execs. */
struct image {
	uint32_t pid;
	uint64_t start;	/* ticks */
};

struct build {
	struct hp_opens *opens;
	struct hp_model *model;
	uint64_t now;
	uint64_t block;	/* `root` of the block looked at: identified by */
	uint64_t began;	/* start of the stack whose times are used; 0 = none */
	struct image *images;	/* of all processes, by pid and start; NULL = not read yet */
	size_t image_count;
};

static struct hp_open *open_at(struct hp_opens *opens, uint64_t row)
{
	bool is_new;
	uint32_t *place = hp_map_at(&opens->rows, row, &is_new);

	if (is_new) {
		opens->opens =
			hp_xgrow(opens->opens, opens->count, &opens->room, sizeof(*opens->opens));
		opens->opens[opens->count++] = (struct hp_open){ .calls = 0 };
		*place = (uint32_t)opens->count;
	}
	return &opens->opens[*place - 1];
}

const struct hp_open *hp_opens_find(const struct hp_opens *opens, uint64_t row)
{
	const uint32_t *place = opens->count ? hp_map_find(&opens->rows, row) : NULL;

	return place ? &opens->opens[*place - 1] : NULL;
}

static int compare_images(const void *left, const void *right)
{
	const struct image *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void images_read(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	size_t room = 0, most = hp_reader_places(reader);
	struct hp_process process;

	for (uint64_t at = hp_reader_processes(reader);
	     at && b->image_count < most && hp_reader_copy(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		b->images = hp_xgrow(b->images, b->image_count, &room, sizeof(*b->images));
		b->images[b->image_count++] = (struct image){ process.pid, process.start_ticks };
	}
	if (b->image_count)
		qsort(b->images, b->image_count, sizeof(*b->images), compare_images);
}

/* The first image that is not before this one. */
static size_t image_from(const struct build *b, const struct image *wanted)
{
	size_t low = 0, high = b->image_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_images(&b->images[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The end of the image. Another image of the process may follow, by exec. */
static uint64_t end_of(struct build *b, const struct hp_process *process)
{
	uint64_t end = process->end_ticks ? process->end_ticks : b->now;
	const struct image after = { process->pid, process->start_ticks + 1 };
	const struct image *next;

	if (!b->images)
		images_read(b);
	if (!b->image_count)
		return end;
	next = &b->images[image_from(b, &after)];
	if (next < b->images + b->image_count && next->pid == process->pid &&
	    next->start > process->start_ticks && next->start < end)
		end = next->start;
	return end;
}

static bool is_inside(const struct hp_stack *stack, size_t place)
{
	for (size_t i = 0; i < place; i++)
		if (stack->calls[i].function == stack->calls[place].function)
			return true;
	return false;
}

/* Ticks for which the process may have been dead at `end_ticks`. */
static double lateness(const struct build *b, const struct hp_process *process)
{
	bool is_killed = process->end_ticks && process->ending == HP_ENDING_NONE;

	return is_killed ? LATE_NS / b->model->ns_per_tick : 0;
}

static void times_add(struct build *b, const struct hp_stack *stack, double now)
{
	double below = 0, late = lateness(b, stack->process);

	for (size_t i = stack->count; i-- > 0;) {
		const struct hp_stack_call *call = &stack->calls[i];
		struct hp_open *open = open_at(b->opens, call->row);
		bool is_timed = (call->frame.weight & ~HP_WEIGHT_FLAGS) != 0;
		double children = (double)(int64_t)call->frame.child / FINE + below;
		double took = is_timed ? now - (double)call->frame.start : children;

		if (took < children)
			took = children;
		open->self += took - children;
		if (i + 1 == stack->count)
			open->late_self += fmin(late, took - children);
		if (!is_inside(stack, i)) {
			open->outer += took;
			open->late_outer += fmin(late, took);
		}
		below = took;
	}
}

static uint64_t began(const struct hp_stack *stack)
{
	for (size_t i = 0; i < stack->count; i++)
		if ((stack->calls[i].frame.weight & ~HP_WEIGHT_FLAGS) != 0)
			return stack->calls[i].frame.start;
	return UINT64_MAX;
}

static void stack_see(void *context, const struct hp_stack *stack)
{
	struct build *b = context;
	uint64_t start = began(stack), end = end_of(b, stack->process);
	/* The hooks' cost is recorded at the end of timed calls, and never later than this. */
	double now = (double)end - (double)(int64_t)stack->block->overhead / FINE;

	for (size_t i = 0; i < stack->count; i++)
		open_at(b->opens, stack->calls[i].row)->calls++;
	if (stack->block->root != b->block)
		b->began = 0;
	b->block = stack->block->root;
	if (b->began || start == UINT64_MAX || (double)start > now)
		return;
	b->began = start;
	times_add(b, stack, now);
}

void hp_opens_init(struct hp_opens *opens, struct hp_model *model, uint64_t now)
{
	struct build b = { .opens = opens, .model = model, .now = now };

	*opens = (struct hp_opens){ .count = 0 };
	hp_stacks_each(model, stack_see, &b);
	free(b.images);
}

void hp_opens_release(struct hp_opens *opens)
{
	hp_map_release(&opens->rows);
	free(opens->opens);
	*opens = (struct hp_opens){ .count = 0 };
}
