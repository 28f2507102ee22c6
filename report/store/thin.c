/* SPDX-License-Identifier: MIT */
/*
 * thin.c - see thin.h.
 *
 * A first pass visits all function records: omitted lines and changed records
 * get a mark, and the first record of a function with several is its holder,
 * which gets the sum of the histograms. Changes are made in a copy when a
 * record is written: nobody else may see them.
 */
#include "report/store/thin.h"

#include <stdlib.h>
#include <string.h>

#include "report/read/logged.h"
#include "report/base/memory.h"
#include "segment/layout/process.h"

/* A mark: its kind, and above that the function's place. */
enum mark { MARK_NONE = 0, MARK_DROP, MARK_FUNCTION, MARK_RING };
#define MARK_BITS 2
#define MARK_MASK ((1u << MARK_BITS) - 1)

struct hp_thin_function {
	uint64_t holder;	/* offset of the record that gets the sum; 0 = each keeps its own histogram */
	uint32_t groups[HP_GROUPS];	/* of the holder */
	uint64_t carries;
	uint64_t records;
	uint64_t newest_from;	/* start of the oldest kept call */
	uint64_t slow_least;	/* ticks of the shortest of the slowest calls */
};

/* --- marks --- */

static void mark(struct hp_thin *thin, uint64_t offset, enum mark kind, uint32_t place)
{
	if (offset / HP_LINE < thin->lines && place < UINT32_MAX >> MARK_BITS)
		thin->marks[offset / HP_LINE] = kind | place << MARK_BITS;
}

static void drop(struct hp_thin *thin, uint64_t offset, uint64_t size)
{
	for (uint64_t end = offset + size; offset < end; offset += HP_LINE)
		mark(thin, offset, MARK_DROP, 0);
}

static uint32_t mark_at(const struct hp_thin *thin, uint64_t offset)
{
	return offset / HP_LINE < thin->lines ? thin->marks[offset / HP_LINE] : MARK_NONE;
}

/* --- visiting the records --- */

typedef void (*visit)(struct hp_thin *thin, struct hp_reader *reader, uint64_t at,
		      const struct hp_function *record);

/* The function of a record, or HP_NONE. */
static uint32_t place_of(const struct hp_thin *thin, uint64_t at)
{
	return at / HP_LINE < thin->lines ? hp_model_place_at(thin->model, at) : HP_NONE;
}

/* Number of open calls of the block. */
static uint64_t visit_block(struct hp_thin *thin, struct hp_reader *reader,
			    const struct hp_block *block, visit each)
{
	struct hp_function record;
	uint64_t active = 0;

	for (uint64_t at = block->functions; hp_reader_step(reader, at, &record, sizeof(record));
	     at = record.next) {
		active += hp_reader_active(reader, &record);
		if (place_of(thin, at) != HP_NONE)
			each(thin, reader, at, &record);
	}
	return active;
}

static void drop_frames(struct hp_thin *thin, struct hp_reader *reader,
			const struct hp_block *block)
{
	struct hp_part part;

	for (uint64_t at = block->parts; hp_reader_step(reader, at, &part, sizeof(part));
	     at = part.next) {
		uint64_t size = (uint64_t)part.capacity * sizeof(struct hp_frame);

		if (hp_reader_see(reader, at + sizeof(part), size))
			drop(thin, at + sizeof(part), size);
	}
}

static void visit_all(struct hp_thin *thin, visit each, bool is_last)
{
	struct hp_reader reader = thin->model->reader;	/* not released: the model's */
	struct hp_process process;
	struct hp_block block;

	reader.steps = thin->lines;
	for (uint64_t at = hp_reader_processes(&reader);
	     hp_reader_step(&reader, at, &process, sizeof(process));
	     at = hp_reader_after(&reader, at, process.next))
		for (uint64_t in = process.blocks;
		     hp_reader_step(&reader, in, &block, sizeof(block)); in = block.next)
			if (visit_block(thin, &reader, &block, each) == 0 && is_last)
				drop_frames(thin, &reader, &block);
}

/* --- histograms --- */

/* A new record of `size` bytes: its offset. */
static uint64_t more_take(struct hp_thin *thin, size_t size)
{
	size_t at = thin->more_size;

	while (at + size > thin->more_room)
		thin->more = hp_xgrow(thin->more, thin->more_room, &thin->more_room,
				      sizeof(*thin->more));
	memset(thin->more + at, 0, size);
	thin->more_size += size;
	return thin->end + at;
}

/* Its counters, until the next one is taken. */
static uint32_t *more_at(struct hp_thin *thin, uint64_t offset)
{
	return (uint32_t *)(void *)(thin->more + (offset - thin->end));
}

static void group_write(struct hp_thin *thin, struct hp_thin_function *function, unsigned group,
			const uint64_t *counters)
{
	const size_t size = HP_GROUP_SIZE * sizeof(uint32_t);
	uint64_t low = more_take(thin, size), high;
	bool has_carries = false;

	function->groups[group] = (uint32_t)(low / HP_LINE);
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
		more_at(thin, low)[i] = (uint32_t)(counters[i] % HP_CARRY);
		has_carries |= counters[i] >= HP_CARRY;
	}
	if (!has_carries)
		return;
	if (!function->carries)
		function->carries = more_take(thin, size);
	high = more_take(thin, size);
	more_at(thin, function->carries)[group] = (uint32_t)(high / HP_LINE);
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++)
		more_at(thin, high)[i] = (uint32_t)(counters[i] / HP_CARRY);
}

static void histograms_write(struct hp_thin *thin)
{
	for (size_t i = 0; i < thin->model->function_count; i++) {
		struct hp_thin_function *function = &thin->functions[i];
		const struct hp_histogram *from;

		if (!function->holder)
			continue;
		from = hp_model_histogram(thin->model, &thin->model->functions[i]);
		for (unsigned group = 0; from->groups && group < HP_GROUPS; group++)
			if (from->groups[group])
				group_write(thin, function, group, from->groups[group]);
	}
}

/* --- last calls --- */

/* The `wanted`th largest (from 1) of `count` numbers, which it reorders (Hoare's selection). */
static uint64_t nth_largest(uint64_t *numbers, size_t count, size_t wanted)
{
	size_t left = 0, right = count - 1, nth = wanted - 1;

	while (left < right) {
		uint64_t pivot = numbers[left + (right - left) / 2];
		size_t i = left, j = right;

		for (;;) {
			while (numbers[i] > pivot)
				i++;
			while (numbers[j] < pivot)
				j--;
			if (i >= j)
				break;
			uint64_t swapped = numbers[i];
			numbers[i++] = numbers[j];
			numbers[j--] = swapped;
		}
		/* Values left of j + 1 are not smaller than those right of it. */
		if (numbers[j] < pivot)
			j--;
		if (nth <= j)
			right = j;
		else
			left = j + 1;
	}
	return numbers[nth];
}

static uint32_t ring_size(const struct hp_model *model)
{
	uint32_t limit = model->reader.header.logs_limit;

	return limit < HP_LOGS_MAX ? limit : HP_LOGS_MAX;
}

/* The start of the oldest kept call of a function. */
static uint64_t newest_from(const struct hp_thin *thin, const struct hp_model_function *function,
			    uint64_t **starts, size_t *room)
{
	struct hp_reader reader = thin->model->reader;
	uint32_t limit = ring_size(thin->model);
	size_t wanted = limit > HP_LAST_MAX ? limit : HP_LAST_MAX;
	size_t count = 0;

	for (uint32_t record = function->record; record;) {
		uint64_t results, at = hp_model_ring(thin->model, &record, &results);
		const struct hp_call *ring = hp_reader_see(&reader, at, limit * sizeof(*ring));

		for (uint32_t i = 0; ring && i < limit; i++) {
			struct hp_call call;

			if (!hp_logged_call(&ring[i], &call))
				continue;
			*starts = hp_xgrow(*starts, count, room, sizeof(**starts));
			(*starts)[count++] = call.start;
		}
	}
	return count > wanted ? nth_largest(*starts, count, wanted) : 0;
}

static void calls_choose(struct hp_thin *thin)
{
	uint64_t *starts = NULL;
	size_t room = 0;

	for (size_t i = 0; i < thin->model->function_count; i++) {
		const struct hp_model_function *function = &thin->model->functions[i];
		struct hp_call slowest[HP_SLOWEST];

		if (!thin->functions[i].holder)
			continue;
		thin->functions[i].newest_from = newest_from(thin, function, &starts, &room);
		hp_model_slowest(thin->model, function, slowest);
		thin->functions[i].slow_least = slowest[HP_SLOWEST - 1].ticks;
	}
	free(starts);
}

/* --- the two visits --- */

static void note_record(struct hp_thin *thin, struct hp_reader *reader, uint64_t at,
			const struct hp_function *record)
{
	struct hp_thin_function *function = &thin->functions[place_of(thin, at)];

	(void)reader, (void)record;
	if (function->records++ == 0)
		function->holder = at;
}

static void drop_groups(struct hp_thin *thin, struct hp_reader *reader,
			const struct hp_function *record)
{
	const size_t size = HP_GROUP_SIZE * sizeof(uint32_t);
	uint32_t carries[HP_GROUP_SIZE] = { 0 };

	if (record->carries && hp_reader_copy(reader, record->carries, carries, sizeof(carries)))
		drop(thin, record->carries, size);
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		uint64_t low = (uint64_t)record->groups[group] * HP_LINE;
		uint64_t high = (uint64_t)carries[group] * HP_LINE;

		if (hp_reader_see(reader, low, size))
			drop(thin, low, size);
		if (hp_reader_see(reader, high, size))
			drop(thin, high, size);
	}
}

static void mark_record(struct hp_thin *thin, struct hp_reader *reader, uint64_t at,
			const struct hp_function *record)
{
	uint32_t place = place_of(thin, at);
	uint64_t ring = (uint64_t)record->logs * HP_LINE;

	if (!thin->functions[place].holder)
		return;
	drop_groups(thin, reader, record);
	if (hp_reader_see(reader, ring, ring_size(thin->model) * sizeof(struct hp_call)))
		mark(thin, ring, MARK_RING, place);
	mark(thin, at, MARK_FUNCTION, place);
}

void hp_thin_init(struct hp_thin *thin, const struct hp_model *model)
{
	uint64_t size = model->reader.segment.size & ~(uint64_t)(HP_LINE - 1);

	*thin = (struct hp_thin){ .model = model, .lines = size / HP_LINE, .end = size };
	thin->marks = hp_xcalloc(thin->lines, sizeof(*thin->marks));
	thin->functions = hp_xcalloc(model->function_count, sizeof(*thin->functions));
	visit_all(thin, note_record, false);
	/* A function called by only one thread cannot be reduced. */
	for (size_t i = 0; i < model->function_count; i++)
		if (thin->functions[i].records < 2)
			thin->functions[i].holder = 0;
	calls_choose(thin);
	histograms_write(thin);
	visit_all(thin, mark_record, true);
}

void hp_thin_release(struct hp_thin *thin)
{
	free(thin->marks);
	free(thin->functions);
	free(thin->more);
	*thin = (struct hp_thin){ .model = NULL };
}

/* --- the changes --- */

bool hp_thin_drops(const struct hp_thin *thin, uint64_t offset)
{
	return (mark_at(thin, offset) & MARK_MASK) == MARK_DROP;
}

static size_t function_copy(const struct hp_thin *thin, uint64_t offset, uint32_t place, char *copy)
{
	const struct hp_thin_function *function = &thin->functions[place];
	uint64_t slowest = thin->functions[place].slow_least;
	struct hp_function record;

	memcpy(&record, (const char *)thin->model->reader.segment.header + offset, sizeof(record));
	memset(record.groups, 0, sizeof(record.groups));
	record.carries = 0;
	if (function->holder == offset) {
		memcpy(record.groups, function->groups, sizeof(function->groups));
		record.carries = function->carries;
	}
	for (int i = 0; i < HP_SLOWEST; i++)
		if (record.slowest[i].ticks < slowest)
			memset(&record.slowest[i], 0, sizeof(record.slowest[i]));
	memcpy(copy, &record, sizeof(record));
	return sizeof(record);
}

static size_t ring_copy(const struct hp_thin *thin, uint64_t offset, uint32_t place, char *copy)
{
	size_t size = ring_size(thin->model) * sizeof(struct hp_call);
	size_t whole = (size + HP_LINE - 1) & ~(size_t)(HP_LINE - 1);

	if (whole > thin->end - offset)
		whole = size = thin->end - offset;
	memcpy(copy, (const char *)thin->model->reader.segment.header + offset, whole);
	for (size_t i = 0; i + sizeof(struct hp_call) <= size; i += sizeof(struct hp_call)) {
		struct hp_call call;

		memcpy(&call, copy + i, sizeof(call));
		if (call.start < thin->functions[place].newest_from)
			memset(copy + i, 0, sizeof(call));
	}
	return whole;
}

size_t hp_thin_copy(const struct hp_thin *thin, uint64_t offset, char *copy)
{
	uint32_t value = mark_at(thin, offset);

	switch (value & MARK_MASK) {
	case MARK_FUNCTION:
		return function_copy(thin, offset, value >> MARK_BITS, copy);
	case MARK_RING:
		return ring_copy(thin, offset, value >> MARK_BITS, copy);
	default:
		return 0;
	}
}
