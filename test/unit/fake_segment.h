/* SPDX-License-Identifier: MIT */
/*
 * fake_segment.h - segments made by hand, whose correct results are known.
 *
 * The records are those of segment/layout/, laid out as a target would; the clock
 * runs at FAKE_NS_PER_TICK.  fake_segment() makes the input of hp_model_init.
 */
#ifndef HP_TEST_FAKE_SEGMENT_H
#define HP_TEST_FAKE_SEGMENT_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "segment/histogram.h"
#include "segment/layout/process.h"
#include "segment/layout/call.h"
#include "segment/layout/heap.h"
#include "segment/layout/lock.h"
#include "segment/layout/watch.h"
#include "segment/segment.h"

#define FAKE_NS_PER_TICK 2
#define FAKE_START 1000000	/* ticks */
#define FAKE_TICKS 500000000	/* of the root's life: 1 s */
#define FAKE_PID 4242

struct fake {
	char *base;
	uint64_t size;
};

static inline struct hp_header *fake_header(const struct fake *fake)
{
	return (struct hp_header *)fake->base;
}

static inline void fake_init(struct fake *fake, uint64_t size)
{
	struct hp_header *header;

	fake->base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fake->base == MAP_FAILED)
		abort();
	fake->size = size;
	header = fake_header(fake);
	header->magic = HP_MAGIC;
	header->format = HP_FORMAT;
	header->header_size = sizeof(*header);
	header->size = size;
	header->clock_kind = HP_CLOCK_MONOTONIC_RAW;
	header->clock_grain = 5;
	header->logs_limit = 4;
	header->created_unix_ns = INT64_C(1700000000000000000);
	header->used = HP_PAGE;
	header->start = (struct hp_moment){ FAKE_START, 77 };
	header->last = (struct hp_moment){ FAKE_START + FAKE_TICKS,
					   77 + (uint64_t)FAKE_TICKS * FAKE_NS_PER_TICK };
	header->root_pid = FAKE_PID;
}

static inline void *fake_take(struct fake *fake, uint64_t size)
{
	uint64_t at = fake_header(fake)->used;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	if (at + size > fake->size)
		abort();
	fake_header(fake)->used = at + size;
	return fake->base + at;
}

static inline uint64_t fake_at(const struct fake *fake, const void *record)
{
	return record ? (uint64_t)((const char *)record - fake->base) : 0;
}

static inline uint64_t fake_text(struct fake *fake, const char *text)
{
	struct hp_text *record = fake_take(fake, sizeof(*record) + strlen(text) + 1);

	record->length = (uint32_t)strlen(text);
	memcpy(record->bytes, text, strlen(text) + 1);
	return fake_at(fake, record);
}

/* A histogram of `count` times of `ticks` ticks: its hp_spread, as offset / HP_LINE. */
static inline uint32_t fake_times(struct fake *fake, uint64_t ticks, uint64_t count)
{
	struct hp_spread *record = fake_take(fake, sizeof(*record));
	unsigned group = hp_bucket_group(ticks);
	uint64_t *counters = fake_take(fake, HP_GROUP_SIZE * 8);

	record->groups[group] = (uint32_t)(fake_at(fake, counters) / HP_LINE);
	counters[hp_bucket_place(ticks, group)] = count;
	return (uint32_t)(fake_at(fake, record) / HP_LINE);
}

static inline struct hp_object *fake_object(struct fake *fake, const char *path)
{
	struct hp_object *object = fake_take(fake, sizeof(*object));

	object->kind = HP_OBJECT_ELF;
	object->build_id_size = 4;
	object->build_id[0] = 0xab;
	object->path = fake_text(fake, path);
	object->next = fake_header(fake)->objects;
	fake_header(fake)->objects = fake_at(fake, object);
	return object;
}

static inline struct hp_process *fake_process(struct fake *fake, uint32_t pid,
					      const struct hp_object *object)
{
	struct hp_process *process = fake_take(fake, sizeof(*process));

	process->state = HP_TAKEN;
	process->pid = pid;
	process->object = fake_at(fake, object);
	process->start_ticks = FAKE_START;
	process->end_ticks = FAKE_START + FAKE_TICKS;
	process->ending = HP_ENDING_EXIT;
	process->cpu_ns = 600000000;
	process->peak_rss_kb = 2048;
	memcpy(process->comm, "fake", 5);
	process->command = fake_text(fake, "./fake --fast");
	process->next = fake_header(fake)->processes;
	fake_header(fake)->processes = fake_at(fake, process);
	return process;
}

/* The session and its newest process took this many ticks. */
static inline void fake_life(const struct fake *fake, uint64_t ticks)
{
	struct hp_header *header = fake_header(fake);

	header->last = (struct hp_moment){ FAKE_START + ticks, 77 + ticks * FAKE_NS_PER_TICK };
	((struct hp_process *)(fake->base + header->processes))->end_ticks = FAKE_START + ticks;
}

static inline struct hp_module *fake_module(struct fake *fake, struct hp_process *process,
					    const struct hp_object *object)
{
	struct hp_module *module = fake_take(fake, sizeof(*module));

	module->object = fake_at(fake, object);
	module->next = process->modules;
	process->modules = fake_at(fake, module);
	return module;
}

static inline struct hp_block *fake_block(struct fake *fake, struct hp_process *process)
{
	struct hp_block *block = fake_take(fake, sizeof(*block));
	struct hp_row *root = fake_take(fake, sizeof(*root));

	block->process = fake_at(fake, process);
	block->state = HP_TAKEN;
	block->pid = process->pid;
	block->root = fake_at(fake, root);
	block->rows = fake_at(fake, root);
	block->next = process->blocks;
	process->blocks = fake_at(fake, block);
	return block;
}

static inline struct hp_function *fake_function(struct fake *fake, struct hp_block *block,
						const struct hp_module *module, uint64_t address)
{
	struct hp_function *function = fake_take(fake, sizeof(*function));

	function->gist = (uint32_t)(fake_at(fake, fake_take(fake, sizeof(struct hp_gist))) / 16);
	function->module = fake_at(fake, module);
	function->address = address;
	function->least = UINT64_MAX;
	function->next = block->functions;
	block->functions = fake_at(fake, function);
	return function;
}

static inline struct hp_gist *fake_gist(struct fake *fake, const struct hp_function *function)
{
	return (struct hp_gist *)(fake->base + (uint64_t)function->gist * 16);
}

/* Makes `function` a block, or one with that name. */
static inline struct hp_label *fake_label(struct fake *fake, struct hp_function *function,
					  enum hp_label_kind kind, const char *text)
{
	struct hp_label *label = fake_take(fake, sizeof(*label));

	label->module = function->module;
	label->address = function->address;
	label->text = fake_text(fake, text);
	label->file = fake_text(fake, "some.c");
	label->line = 17;
	label->kind = kind;
	function->label = (uint32_t)(fake_at(fake, label) / HP_LINE);
	return label;
}

/* Results of `function`, a ring of `capacity`. */
static inline struct hp_results *fake_results(struct fake *fake, struct hp_function *function,
					      uint32_t capacity)
{
	struct hp_results *results =
		fake_take(fake, sizeof(*results) + capacity * sizeof(struct hp_result));

	results->capacity = capacity;
	function->results = (uint32_t)(fake_at(fake, results) / HP_LINE);
	return results;
}

static inline void fake_result(struct hp_results *results, uint32_t number, const char *text)
{
	struct hp_result *result = &results->ring[number % results->capacity];

	result->number = number;
	result->length = (uint32_t)strlen(text);
	memcpy(result->bytes, text, strlen(text));
}

/* `parent` NULL = the block's root. */
static inline struct hp_row *fake_row(struct fake *fake, struct hp_block *block,
				      const struct hp_row *parent,
				      const struct hp_function *function)
{
	struct hp_row *row = fake_take(fake, sizeof(*row));

	row->parent = (uint32_t)((parent ? fake_at(fake, parent) : block->root) / HP_LINE);
	row->function = (uint32_t)(fake_at(fake, function) / HP_LINE);
	row->next = (uint32_t)(block->rows / HP_LINE);
	block->rows = fake_at(fake, row);
	return row;
}

/* The counters of a group, made when missing. */
static inline uint32_t *fake_group(struct fake *fake, uint32_t *offset)
{
	if (!*offset)
		*offset = (uint32_t)(fake_at(fake, fake_take(fake, HP_GROUP_SIZE * 4)) / HP_LINE);
	return (uint32_t *)(fake->base + (uint64_t)*offset * HP_LINE);
}

/* Counts a duration as the hooks would, `weight` times. */
static inline void fake_duration(struct fake *fake, struct hp_function *function, uint64_t ticks,
				 uint32_t weight)
{
	unsigned group = hp_bucket_group(ticks);

	fake_group(fake, &function->groups[group])[hp_bucket_place(ticks, group)] += weight;
	if (ticks < function->least)
		function->least = ticks;
	if (ticks > function->most)
		function->most = ticks;
}

/* A call that was timed because all were: outermost, with `child` ticks in callees. */
static inline void fake_call(struct fake *fake, struct hp_function *function, struct hp_row *row,
			     uint64_t ticks, uint64_t child)
{
	row->calls++;
	row->timed++;
	row->outer_timed += ticks;
	row->self_timed += (int64_t)(ticks - child) << HP_FINE_BITS;
	function->timed++;
	fake_duration(fake, function, ticks, 1);
}

/* One of `weight` calls that was sampled: all own time. */
static inline void fake_sampled(struct fake *fake, struct hp_function *function, struct hp_row *row,
				uint64_t ticks, uint32_t weight)
{
	row->calls += weight;
	row->sampled++;
	row->self_sampled += (int64_t)ticks << HP_FINE_BITS;
	row->square_sampled += (double)ticks * (double)ticks;
	fake_duration(fake, function, ticks, weight);
}

/* A heap with a chunk of room for 15 steps. */
static inline struct hp_heap *fake_heap(struct fake *fake, struct hp_process *process)
{
	struct hp_heap *heap = fake_take(fake, sizeof(*heap));
	struct hp_steps *steps = fake_take(fake, sizeof(*steps) + 15 * sizeof(struct hp_step));

	heap->process = fake_at(fake, process);
	heap->state = HP_TAKEN;
	heap->pid = process->pid;
	heap->next = process->heaps;
	process->heaps = fake_at(fake, heap);
	steps->capacity = 15;
	heap->steps = fake_at(fake, steps);
	return heap;
}

/* The id of a new step; `caller` 0 = none. */
static inline uint32_t fake_step(struct fake *fake, struct hp_heap *heap, uint32_t caller,
				 const struct hp_object *object, uint32_t address)
{
	struct hp_steps *steps = (struct hp_steps *)(fake->base + heap->steps);
	struct hp_step *step = &steps->at[steps->count++];

	step->caller = caller;
	step->object = object ? (uint32_t)(fake_at(fake, object) / HP_LINE) : 0;
	step->address = address;
	return (uint32_t)((uint64_t)((char *)step - fake->base) / sizeof(*step));
}

/* `count` blocks of `size` bytes, half of them left. */
static inline struct hp_site *fake_site(struct fake *fake, struct hp_heap *heap, uint32_t step,
					uint64_t count, uint64_t size)
{
	struct hp_site *site = fake_take(fake, sizeof(*site));

	site->allocs = count;
	site->bytes = count * size;
	site->frees = count / 2;
	site->freed = count / 2 * size;
	site->heap = (uint32_t)(fake_at(fake, heap) / HP_LINE);
	site->step = step;
	site->next = heap->sites;
	heap->sites = fake_at(fake, site);
	heap->bytes += site->bytes;
	heap->live += (int64_t)(site->bytes - site->freed);
	return site;
}

static inline void fake_spread(struct fake *fake, uint32_t *place, uint64_t value, uint64_t count)
{
	struct hp_charge_spread *spread = fake_take(fake, sizeof(*spread));
	uint64_t *counters = fake_take(fake, HP_GROUP_SIZE * sizeof(*counters));
	unsigned group = hp_bucket_group(value);

	*place = (uint32_t)(fake_at(fake, spread) / HP_LINE);
	spread->groups[group] = (uint32_t)(fake_at(fake, counters) / HP_LINE);
	spread->least = spread->most = value;
	counters[hp_bucket_place(value, group)] = count;
}

/* `count` calls of the function took two blocks of `size` bytes in all, and callees nothing; without a histogram of the blocks. */
static inline struct hp_charge *fake_charge(struct fake *fake, struct hp_function *function,
					    uint64_t count, uint64_t size)
{
	struct hp_charge *charge = fake_take(fake, sizeof(*charge));

	function->charge = (uint32_t)(fake_at(fake, charge) / HP_LINE);
	charge->whole_bytes = charge->sums[HP_CHARGE_ALONE_BYTES] = count * size;
	charge->whole_count = charge->sums[HP_CHARGE_ALONE_COUNT] = count * 2;
	fake_spread(fake, &charge->spreads[HP_CHARGE_ALONE_BYTES], size, count);
	return charge;
}

/* A part with `count` frames, of rows whose functions have an active call each; `base` is 0. */
static inline struct hp_part *fake_part(struct fake *fake, struct hp_block *block,
					struct hp_row *const *rows, uint32_t count)
{
	struct hp_part *part =
		fake_take(fake, sizeof(*part) + (count + 2) * sizeof(struct hp_frame));

	part->capacity = count + 2;
	part->next = block->parts;
	block->parts = fake_at(fake, part);
	for (uint32_t i = 0; i < count; i++) {
		struct hp_tally *tally = fake_take(fake, sizeof(*tally));
		struct hp_frame *frame = &part->frames[i + 1];

		tally->bytes = 100;
		tally->count = 1;
		frame->row = fake_at(fake, rows[i]);
		frame->weight = HP_WEIGHT_TALLY;
		frame->tally = fake_at(fake, tally);
	}
	return part;
}

static inline struct hp_watch_row *fake_watch(struct fake *fake, uint32_t count)
{
	struct hp_watch *watch =
		fake_take(fake, sizeof(*watch) + count * sizeof(struct hp_watch_row));

	watch->count = watch->capacity = count;
	watch->interval_ms = 250;
	fake_header(fake)->sampler_area = fake_at(fake, watch);
	return (struct hp_watch_row *)(watch + 1);
}

static inline struct hp_segment fake_segment(const struct fake *fake)
{
	return (struct hp_segment){ .header = fake_header(fake), .size = fake->size, .fd = -1 };
}

#endif
