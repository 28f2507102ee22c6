/* SPDX-License-Identifier: MIT */
/*
 * sampling.c - see model.h.
 */
#include "report/read/sampling.h"

#include <stdlib.h>
#include <math.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/model.h"
#include "segment/layout/process.h"

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
	stack->guess_waits = 0;
	stack->blocked_ns = node->blocked_ns;
	stack->counted_ns = node->counted_ns;
	stack->memory_ns = node->memory_ns;
}

/*
 * The caller of the next node. A damaged one is attached to the root, and so is one below a path
 * longer than any that is recorded: several views follow the path of each node.
 */
static uint32_t above_of(const struct hp_model_sampling *sampling, const struct hp_stack_node *node)
{
	if (node->parent >= sampling->stack_count ||
	    sampling->stacks[node->parent].depth >= HP_PLACES_MAX)
		return 0;
	return node->parent;
}

static void stack_add(struct hp_model_sampling *sampling, const struct hp_stack_node *node,
		      const struct hp_map *objects)
{
	uint32_t above = above_of(sampling, node);
	size_t number = sampling->stack_count;

	sampling->stacks = hp_xgrow(sampling->stacks, number, &sampling->stack_room,
				    sizeof(*sampling->stacks));
	sampling->stacks[number] = (struct hp_model_stack){
		.address = node->address,
		.object = object_of(node->object, objects),
		.above = above,
		.parent = above,
		.code = node->object,
		.depth = number ? (uint16_t)(sampling->stacks[above].depth + 1) : 0,
	};
	/* A later refresh may know the object. */
	if (node->object && sampling->stacks[number].object == HP_NONE)
		hp_model_sampling_spoil(sampling);
	counters_read(&sampling->stacks[number], node);
	sampling->stack_count++;
}

/* True if it is the same place as at the previous refresh. */
static bool is_known(const struct hp_model_sampling *sampling, const struct hp_stack_node *node)
{
	size_t number = sampling->stack_count;
	const struct hp_model_stack *stack;

	if (number >= sampling->known)
		return false;
	stack = &sampling->stacks[number];
	return stack->address == node->address && stack->code == node->object &&
	       stack->above == above_of(sampling, node) &&
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

bool hp_sampling_has_weights(const struct hp_model_sampling *sampling)
{
	return sampling->low_hz || sampling->first_hz;
}

double hp_sampling_period_ns(const struct hp_model_sampling *sampling)
{
	const struct hp_sampling *record = &sampling->record;

	if (hp_sampling_has_weights(sampling) && record->samples)
		return (double)record->cpu_ns / (double)record->samples;
	return record->frequency ? floor(1e9 / record->frequency) : 0;
}

/*
 * Kish's: the squared sum of the weights by the sum of their squares. The latter is not recorded,
 * but no weight w lies outside least and most, so w^2 <= (least + most) w - least most; with two
 * rates that is an equation.
 */
double hp_sampling_effective(const struct hp_model_sampling *sampling, uint64_t samples,
			     uint64_t cpu_ns)
{
	double hz = sampling->record.frequency, n = (double)samples, sum = (double)cpu_ns;

	if (!hp_sampling_has_weights(sampling) || !samples || !cpu_ns || hz <= 0)
		return n;
	double least = 1e9 / (sampling->first_hz ? sampling->first_hz : hz);
	double most = 1e9 / (sampling->low_hz ? sampling->low_hz : hz);
	double squares = (least + most) * sum - least * most * n;

	/* Periods are not exact to the ns: equal weights have the smallest possible squares. */
	return squares > sum * sum / n ? sum * sum / squares : n;
}

static void texts_read(struct hp_model_sampling *sampling, struct hp_reader *reader)
{
	struct hp_ticking ticking;

	memcpy(&ticking, (const char *)reader->segment.header + HP_TICKING_AT, sizeof(ticking));
	sampling->low_hz = ticking.low_hz;
	sampling->first_hz = ticking.first_hz;
	if (ticking.profile)
		sampling->profile = hp_reader_text(reader, ticking.profile);
	if (ticking.trouble)
		sampling->trouble = hp_label_text(reader, ticking.trouble);
}

static void chunk_note(struct hp_model_sampling *sampling, uint64_t offset)
{
	sampling->chunks = hp_xgrow(sampling->chunks, sampling->chunk_count, &sampling->chunk_room,
				    sizeof(*sampling->chunks));
	sampling->chunks[sampling->chunk_count++] =
		(struct hp_model_stack_chunk){ offset, sampling->stack_count };
}

/* Reads from the chunk at `at`, without its first `skipped` nodes. */
static void chunks_read(struct hp_model_sampling *sampling, struct hp_reader *reader,
			const struct hp_map *objects, uint64_t at, uint32_t skipped)
{
	struct hp_stack_chunk chunk;

	for (; hp_reader_step(reader, at, &chunk, sizeof(chunk)); at = chunk.next, skipped = 0) {
		uint32_t count = chunk.count < chunk.capacity ? chunk.count : chunk.capacity;
		uint32_t i = skipped;
		const struct hp_stack_node *nodes =
			hp_reader_see(reader, at + sizeof(chunk), (size_t)count * sizeof(*nodes));

		if (!skipped)
			chunk_note(sampling, at);
		for (; nodes && i < count && reader->steps; i++, reader->steps--)
			node_read(sampling, &nodes[i], objects);
		reader->is_damaged |= i < count;
	}
}

/* --- changes --- */

/* The ring; NULL = none. */
static const struct hp_stack_changes *ring_at(struct hp_reader *reader, uint64_t offset)
{
	const struct hp_stack_changes *ring =
		offset ? hp_reader_see(reader, offset, sizeof(*ring)) : NULL;
	uint32_t capacity = ring ? *(const volatile uint32_t *)&ring->capacity : 0;

	if (!capacity || capacity & (capacity - 1) ||
	    !hp_reader_see(reader, offset,
			   sizeof(*ring) + (size_t)capacity * sizeof(ring->nodes[0])))
		return NULL;
	return ring;
}

/* Call before reading nodes: later changes are in the ring. */
static void ring_begin(struct hp_model_sampling *sampling, struct hp_reader *reader)
{
	const struct hp_stack_changes *ring;
	struct hp_stack_chunk chunk;

	sampling->changes = 0;
	if (!hp_reader_copy(reader, sampling->record.nodes, &chunk, sizeof(chunk)))
		return;
	ring = ring_at(reader, chunk.changes);
	if (!ring)
		return;
	sampling->changes = chunk.changes;
	sampling->seen = atomic_load_explicit(&ring->head, memory_order_acquire);
}

static const struct hp_stack_node *node_at(const struct hp_model_sampling *sampling,
					   struct hp_reader *reader, size_t number)
{
	size_t low = 0, high = sampling->chunk_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (sampling->chunks[middle].first <= number)
			low = middle;
		else
			high = middle;
	}
	return hp_reader_see(reader,
			     sampling->chunks[low].offset + sizeof(struct hp_stack_chunk) +
				     (number - sampling->chunks[low].first) *
					     sizeof(struct hp_stack_node),
			     sizeof(struct hp_stack_node));
}

/* Reads new and changed data.  False = unknown, all must be read. */
static bool stacks_follow(struct hp_model_sampling *sampling, struct hp_reader *reader,
			  const struct hp_map *objects)
{
	const struct hp_stack_changes *ring = ring_at(reader, sampling->changes);
	const struct hp_model_stack_chunk *last;
	uint32_t capacity;
	uint64_t head;

	if (!ring || !sampling->known || !sampling->chunk_count ||
	    sampling->chunks[0].offset != sampling->record.nodes)
		return false;
	head = atomic_load_explicit(&ring->head, memory_order_acquire);
	capacity = ring->capacity;
	if (head - sampling->seen >= capacity)
		return false;
	last = &sampling->chunks[sampling->chunk_count - 1];
	sampling->stack_count = sampling->known;
	chunks_read(sampling, reader, objects, last->offset,
		    (uint32_t)(sampling->known - last->first));
	for (uint64_t i = sampling->seen; i < head; i++) {
		uint32_t number = atomic_load_explicit(&ring->nodes[i & (capacity - 1)],
						       memory_order_relaxed);
		const struct hp_stack_node *node =
			number < sampling->known ? node_at(sampling, reader, number) : NULL;

		if (node)
			counters_read(&sampling->stacks[number], node);
	}
	/* The sampler may have wrapped around: it stores a number after the previous head. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&ring->head, memory_order_relaxed) - sampling->seen >= capacity)
		return false;
	sampling->seen = head;
	return true;
}

/* --- bursts --- */

#define US 1e3

/* Bursts are samples: the sum of n of them has n times the variance of one. */
double hp_sampling_burst_error(const struct hp_bursts *bursts, uint64_t blocked_ns,
			       uint64_t squares)
{
	double n = (double)bursts->count, sum = (double)blocked_ns / US, variance;

	if (!blocked_ns || n < 2)
		return (double)blocked_ns;
	variance = ((double)squares - sum * sum / n) * n / (n - 1);
	/* Student's t, near enough; sums of squares are of whole microseconds. */
	double t = 1.96 * (n > 2 ? 1 + 1.3 / (n - 1.5) : 6.5);
	return variance > 0 ? t * sqrt(variance) * US : 0;
}

#define COUNTED_MIN_NS 200e6

/* Bursts slow the program down: their switches relative to all. */
static double switches_scale(const struct hp_bursts *bursts)
{
	double seen = (double)bursts->outs * (double)bursts->counted_ns;
	double all = (double)bursts->switches * (double)bursts->covered_ns;
	double scale = seen > 0 ? all / seen : 1;

	if ((double)bursts->counted_ns < COUNTED_MIN_NS)
		return 1;
	return scale < 0.25 ? 0.25 : scale > 8 ? 8 : scale;
}

static void guess_read(struct hp_model_sampling *sampling, const struct hp_guess *guess)
{
	struct hp_model_stack *stack;

	if (guess->node >= sampling->stack_count)
		return;
	stack = &sampling->stacks[guess->node];
	stack->guessed_ns = guess->blocked_ns;
	/* Its counters may be those of the last refresh. */
	stack->waits -= (uint64_t)stack->guess_waits;
	stack->guess_waits =
		(int64_t)((double)guess->waits * (switches_scale(&sampling->bursts) - 1));
	if (stack->guess_waits < 0 && (uint64_t)-stack->guess_waits > stack->waits)
		stack->guess_waits = 0;
	stack->waits += (uint64_t)stack->guess_waits;
	stack->guess_error_ns =
		hp_sampling_burst_error(&sampling->bursts, guess->blocked_ns, guess->squares);
}

static void bursts_read(struct hp_model_sampling *sampling, struct hp_reader *reader)
{
	struct hp_stack_chunk first;
	struct hp_guess_chunk chunk;
	struct hp_guess guess;

	if (!hp_reader_copy(reader, sampling->record.nodes, &first, sizeof(first)))
		return;
	sampling->crowd = first.crowd;
	sampling->by_cpu = (uint32_t)first.by_cpu;
	sampling->wait_lost = first.wait_lost;
	if (!first.bursts ||
	    !hp_reader_copy(reader, first.bursts, &sampling->bursts, sizeof(sampling->bursts)))
		return;
	sampling->has_bursts = true;
	for (uint64_t at = sampling->bursts.guesses;
	     hp_reader_step(reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		uint32_t count = chunk.count < chunk.capacity ? chunk.count : chunk.capacity;
		const char *guesses =
			hp_reader_see(reader, at + sizeof(chunk), (size_t)count * sizeof(guess));

		for (uint32_t i = 0; guesses && i < count; i++) {
			memcpy(&guess, guesses + i * sizeof(guess), sizeof(guess));
			guess_read(sampling, &guess);
		}
	}
}

static void stacks_read(struct hp_model_sampling *sampling, struct hp_reader *reader,
			const struct hp_map *objects)
{
	sampling->chunk_count = 0;
	sampling->stack_count = 0;
	ring_begin(sampling, reader);
	chunks_read(sampling, reader, objects, sampling->record.nodes, 0);
}

void hp_model_sampling_look(struct hp_model_sampling *sampling, struct hp_reader *reader,
			    uint64_t offset, const struct hp_map *objects)
{
	size_t before = sampling->known;

	if (hp_reader_step(reader, offset, &sampling->record, sizeof(sampling->record))) {
		sampling->is_there = true;
		texts_read(sampling, reader);
		if (!stacks_follow(sampling, reader, objects))
			stacks_read(sampling, reader, objects);
		bursts_read(sampling, reader);
	}
	if (sampling->known > sampling->stack_count)
		sampling->known = sampling->stack_count;
	sampling->generation += sampling->known < before;
}

static bool is_our_code(const struct hp_model_stack *stack, const struct hp_model_object *objects)
{
	return stack->object != HP_NONE && objects[stack->object].is_profiler;
}

/* A caller has a lower number, so it was handled before. */
void hp_model_sampling_mark(struct hp_model_sampling *sampling,
			    const struct hp_model_object *objects)
{
	struct hp_model_stack *stacks = sampling->stacks;

	for (size_t i = 1; i < sampling->stack_count; i++) {
		uint32_t object = stacks[i].object;
		bool is_system = object != HP_NONE && (objects[object].kind == HP_OBJECT_KERNEL ||
						       objects[object].kind == HP_OBJECT_VDSO);

		stacks[i].is_ours = is_our_code(&stacks[i], objects) ||
				    (is_system && stacks[stacks[i].above].is_ours);
	}
}

void hp_model_sampling_hide(struct hp_model_sampling *sampling,
			    const struct hp_model_object *objects)
{
	struct hp_model_stack *stacks = sampling->stacks;

	for (size_t i = 1; i < sampling->stack_count; i++) {
		struct hp_model_stack *stack = &stacks[i];
		bool is_code = is_our_code(stack, objects);
		uint32_t parent = stack->above;

		stack->is_profiler = stack->is_ours;
		while (stacks[parent].is_profiler && (is_code || !stack->is_profiler))
			parent = stacks[parent].parent;
		stack->parent = parent;
	}
}

struct hp_sampling_sums hp_sampling_sum(const struct hp_model_sampling *sampling)
{
	struct hp_sampling_sums sums = { .program_ns = 0 };

	for (size_t i = 0; i < sampling->stack_count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];

		if (stack->is_ours) {
			sums.our_ns += stack->cpu_ns;
			sums.our_samples += stack->samples;
		} else {
			sums.program_ns += stack->cpu_ns;
		}
	}
	return sums;
}

void hp_model_sampling_spoil(struct hp_model_sampling *sampling)
{
	sampling->changes = 0;
}

void hp_model_sampling_pause(struct hp_model_sampling *sampling)
{
	free(sampling->profile);
	free(sampling->trouble);
	/* If a refresh did not get that far, all are discarded. */
	sampling->generation += sampling->stack_count < sampling->known;
	*sampling = (struct hp_model_sampling){ .stacks = sampling->stacks,
						.stack_room = sampling->stack_room,
						.chunks = sampling->chunks,
						.chunk_count = sampling->chunk_count,
						.chunk_room = sampling->chunk_room,
						.changes = sampling->changes,
						.seen = sampling->seen,
						.generation = sampling->generation,
						.known = sampling->stack_count };
}

void hp_model_sampling_release(struct hp_model_sampling *sampling)
{
	hp_model_sampling_pause(sampling);
	free(sampling->stacks);
	free(sampling->chunks);
	memset(sampling, 0, sizeof(*sampling));
}
