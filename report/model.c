/* SPDX-License-Identifier: MIT */
/*
 * model.c - reads the records of a segment and sums them up.
 *
 * Order: objects, then of each process its blocks, of each
 * block its functions and its rows; then the watched threads.  Records are
 * told apart by their offset, functions of different blocks are put together
 * by object and address.  Everything is linear in the number of records.
 */
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

#include "report/map.h"
#include "report/memory.h"
#include "report/tree.h"
#include "segment/clock.h"
#include "segment/histogram.h"

#define HP_RINGS_MOST 4096

/* What is needed while the model is built. */
struct build {
	struct hp_model *model;
	struct hp_tree tree;
	struct hp_map objects;	/* offset -> place + 1 */
	struct hp_map same_objects;	/* what is in it -> place + 1 */
	struct hp_map modules;	/* offset -> object's place + 1 */
	uint32_t *functions;	/* offset / HP_LINE -> place + 1 */
	struct hp_map same_functions;	/* object and address -> place */
	size_t object_room;
	size_t process_room;
	size_t function_room;
	size_t thread_room;
	uint64_t end_ticks;	/* the last moment known */
	uint64_t root_end;	/* of the last of the root's images, ticks */
	double overhead_ticks;
	uint64_t watched_cpu_ns;
};

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

/* --- time --- */

static bool is_rate_sane(double rate)
{
	return rate > 0.001 && rate <= 1000;
}

static double rate_between(const struct hp_moment *a, const struct hp_moment *b)
{
	if (b->ticks <= a->ticks || b->ns <= a->ns)
		return 0;
	return (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
}

/*
 * The target was killed within its first second: there is no second moment.
 * If the segment is of this boot, now is one.
 */
static double rate_guess(const struct hp_header *header)
{
	struct hp_moment now = hp_clock_moment(header->clock_kind);

	return header->clock_kind == HP_CLOCK_MONOTONIC_RAW ? 1
							    : rate_between(&header->start, &now);
}

/* Of a session that goes on the present moment is later than the one noted last. */
static struct hp_moment later(const struct hp_reader *reader, struct hp_moment last)
{
	struct hp_moment now = reader->segment.now;

	return reader->header.report_word == HP_REPORT_NONE && now.ns > last.ns &&
			       now.ticks > last.ticks
		       ? now
		       : last;
}

static void read_clock(struct build *b)
{
	struct hp_model *model = b->model;
	struct hp_header *header = &model->reader.header;
	struct hp_moment last;

	for (int tries = 0; tries < 1000; tries++) {
		const struct hp_header *shared = model->reader.segment.header;
		uint32_t seq = atomic_load_explicit(&shared->last_seq, memory_order_acquire);

		last = *(const volatile struct hp_moment *)&shared->last;
		atomic_thread_fence(memory_order_acquire);
		/* The writer is the sampler or the root; it made `seq` odd first. */
		if (!(seq & 1) &&
		    atomic_load_explicit(&shared->last_seq, memory_order_relaxed) == seq)
			break;
	}
	last = later(&model->reader, last);
	model->ns_per_tick = rate_between(&header->start, &last);
	if (!is_rate_sane(model->ns_per_tick)) {
		model->ns_per_tick = rate_guess(header);
		model->is_clock_guessed = true;
	}
	if (!is_rate_sane(model->ns_per_tick))
		model->ns_per_tick = 1;
	model->grain_ns = (double)header->clock_grain * model->ns_per_tick;
	b->end_ticks = larger(last.ticks, header->start.ticks);
}

static uint64_t ticks_to_ns(const struct hp_model *model, uint64_t ticks)
{
	double ns = (double)ticks * model->ns_per_tick + 0.5;

	return ns < 1e18 ? (uint64_t)ns : UINT64_C(1000000000000000000);
}

/* --- objects --- */

static bool is_same_object(const struct hp_model_object *a, const struct hp_model_object *b)
{
	return a->kind == b->kind && a->build_id_size == b->build_id_size &&
	       a->device == b->device && a->inode == b->inode &&
	       memcmp(a->build_id, b->build_id, a->build_id_size) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

static uint64_t object_hash(const struct hp_model_object *object)
{
	uint64_t hash = mix(object->device + 1, object->inode);

	for (const char *c = object->path; *c; c++)
		hash = mix(hash, (unsigned char)*c);
	for (uint32_t i = 0; i < object->build_id_size; i++)
		hash = mix(hash, object->build_id[i]);
	return hash | 1;
}

/* The place + 1 of an object like `object`, which is taken over or freed. */
static uint32_t object_place(struct build *b, struct hp_model_object *object)
{
	struct hp_model *model = b->model;
	uint64_t hash = object_hash(object);
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&b->same_objects, hash, &is_new);
		if (is_new)
			break;
		if (!is_same_object(&model->objects[*place - 1], object))
			continue;
		free(object->path);
		return *place;
	}
	model->objects = hp_xgrow(model->objects, model->object_count, &b->object_room,
				  sizeof(*model->objects));
	model->objects[model->object_count++] = *object;
	return *place = (uint32_t)model->object_count;
}

static void read_objects(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_object record;
	uint64_t at = reader->header.objects;
	bool is_new;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next) {
		struct hp_model_object object = {
			.kind = record.kind,
			.device = record.device,
			.inode = record.inode,
			.path = hp_reader_text(reader, record.path),
		};

		if (!object.path)
			object.path = hp_xstrdup("");
		if (record.build_id_size <= sizeof(object.build_id)) {
			object.build_id_size = record.build_id_size;
			memcpy(object.build_id, record.build_id, record.build_id_size);
		}
		*hp_map_at(&b->objects, at, &is_new) = object_place(b, &object);
	}
}

/* Place + 1 behind an offset, 0 = unknown. */
static uint32_t place_at(const struct hp_map *map, uint64_t offset)
{
	const uint32_t *place = hp_map_find(map, offset);

	return place ? *place : 0;
}

/*
 * The object's place of the module at `offset`.  It need not be in the list of
 * its process: what an earlier process recorded may hang in another's record.
 */
static uint32_t module_object(struct build *b, uint64_t offset)
{
	struct hp_module module;
	bool is_new;
	uint32_t *place;

	if (!offset)
		return HP_NONE;
	place = hp_map_at(&b->modules, offset, &is_new);
	if (is_new)
		*place = hp_reader_copy(&b->model->reader, offset, &module, sizeof(module))
				 ? place_at(&b->objects, module.object)
				 : 0;
	return *place - 1;
}

/* --- functions --- */

static struct hp_model_function *function_new(struct build *b, uint32_t object, uint64_t address)
{
	struct hp_model *model = b->model;
	struct hp_model_function *function;

	model->functions = hp_xgrow(model->functions, model->function_count, &b->function_room,
				    sizeof(*model->functions));
	function = &model->functions[model->function_count++];
	memset(function, 0, sizeof(*function));
	function->object = object;
	function->address = address;
	function->least_ticks = UINT64_MAX;
	return function;
}

static uint32_t function_place(struct build *b, uint32_t object, uint64_t address)
{
	struct hp_model *model = b->model;
	uint64_t hash = mix(mix(object, address), address) | 1;
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&b->same_functions, hash, &is_new);
		if (is_new)
			break;
		if (model->functions[*place].object == object &&
		    model->functions[*place].address == address)
			return *place;
	}
	*place = (uint32_t)model->function_count;
	function_new(b, object, address);
	return (uint32_t)model->function_count - 1;
}

/* Adds 64 counters; `high` are their upper halves or NULL. */
static void add_group(struct hp_model_histogram *histogram, unsigned group, const uint32_t *low,
		      const uint32_t *high)
{
	uint64_t *counters = histogram->groups[group], total = 0;
	uint32_t counts[HP_GROUP_SIZE], carries[HP_GROUP_SIZE] = { 0 };

	if (!counters)
		counters = histogram->groups[group] = hp_xcalloc(HP_GROUP_SIZE, sizeof(*counters));
	/* Their threads go on: what is added here and there has to be one value. */
	memcpy(counts, low, sizeof(counts));
	if (high)
		memcpy(carries, high, sizeof(carries));
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
		uint64_t count = counts[i] + (uint64_t)(carries[i] & 0xffffff) * HP_CARRY;

		counters[i] += count;
		total += count;
	}
	histogram->total += total;
}

static void add_histogram(struct build *b, struct hp_model_histogram *histogram,
			  const struct hp_function *record)
{
	struct hp_reader *reader = &b->model->reader;
	const size_t size = HP_GROUP_SIZE * sizeof(uint32_t);
	uint32_t carries[HP_GROUP_SIZE] = { 0 };

	if (record->carries)
		hp_reader_copy(reader, record->carries, carries, sizeof(carries));
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint32_t *low, *high;

		if (!record->groups[group])
			continue;
		low = hp_reader_see(reader, (uint64_t)record->groups[group] * HP_LINE, size);
		high = hp_reader_see(reader, (uint64_t)carries[group] * HP_LINE, size);
		if (low)
			add_group(histogram, group, low, high);
	}
}

/* Keeps the longest, longest first. */
static void add_slowest(struct hp_model_function *function, const struct hp_function *record)
{
	for (int i = 0; i < HP_SLOWEST; i++) {
		struct hp_call call = record->slowest[i];

		if (call.ticks <= function->slowest[HP_SLOWEST - 1].ticks)
			continue;
		for (int j = 0; j < HP_SLOWEST; j++) {
			struct hp_call kept = function->slowest[j];

			if (call.ticks <= kept.ticks)
				continue;
			function->slowest[j] = call;
			call = kept;
		}
	}
}

/* A function that thousands of blocks know shows the last calls of the newest blocks. */
static void add_log(struct hp_model_function *function, const struct hp_function *record)
{
	struct hp_model_log *log;

	if (function->log_count++ >= HP_RINGS_MOST)
		return;
	log = hp_xmalloc(sizeof(*log));
	*log = (struct hp_model_log){ .next = function->logs,
				      .offset = (uint64_t)record->logs * HP_LINE,
				      .results = (uint64_t)record->results * HP_LINE };
	function->logs = log;
}

static void add_function(struct build *b, struct hp_model_function *function,
			 const struct hp_function *record)
{
	if (record->label && !function->label)
		function->label =
			hp_label_new(&b->model->reader, (uint64_t)record->label * HP_LINE);
	function->running += hp_reader_active(&b->model->reader, record);
	function->is_recursive |= record->recursive != 0;
	if (record->most && record->least < function->least_ticks)
		function->least_ticks = record->least;
	function->most_ticks = larger(function->most_ticks, record->most);
	add_histogram(b, &function->histogram, record);
	add_slowest(function, record);
	if (record->logs)
		add_log(function, record);
}

static void read_functions(struct build *b, uint64_t at)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_function record;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next) {
		uint32_t object = module_object(b, record.module);
		uint32_t place = function_place(b, object, record.address);

		b->functions[at / HP_LINE] = place + 1;
		add_function(b, &b->model->functions[place], &record);
	}
}

/* --- blocks and processes --- */

static uint64_t read_blocks(struct build *b, uint64_t at)
{
	struct hp_model_losses *losses = &b->model->losses;
	struct hp_reader *reader = &b->model->reader;
	struct hp_block block;
	uint64_t calls = 0;

	for (; hp_reader_step(reader, at, &block, sizeof(block)); at = block.next) {
		losses->folded_rows += block.folded_rows;
		losses->folded_functions += block.folded_functions;
		losses->unpaired += block.unpaired;
		losses->unwound += block.unwound;
		losses->untimed_signal += block.untimed_signal;
		b->overhead_ticks += (double)block.overhead / (1 << HP_FINE_BITS);
		read_functions(b, block.functions);
		calls += hp_tree_add(&b->tree, block.rows, b->functions);
	}
	return calls;
}

static void process_times(struct build *b, struct hp_model_process *process,
			  const struct hp_process *record)
{
	struct hp_model *model = b->model;
	uint64_t end = record->end_ticks ? record->end_ticks : b->end_ticks;
	uint64_t life = beyond(end, record->start_ticks);

	process->start_ns =
		ticks_to_ns(model, beyond(record->start_ticks, model->reader.header.start.ticks));
	process->life_ns = ticks_to_ns(model, life) + ticks_to_ns(model, record->folded_ticks);
	if (process->is_root)
		b->root_end = larger(b->root_end, end);
}

static void read_process(struct build *b, const struct hp_process *record)
{
	struct hp_model *model = b->model;
	struct hp_model_process *process;

	model->processes = hp_xgrow(model->processes, model->process_count, &b->process_room,
				    sizeof(*model->processes));
	process = &model->processes[model->process_count++];
	*process = (struct hp_model_process){
		.command = hp_reader_text(&model->reader, record->command),
		.pid = record->pid,
		.parent_pid = record->parent_pid,
		.folded = record->folded,
		.object = place_at(&b->objects, record->object) - 1,
		.is_root = record->pid == model->reader.header.root_pid,
		.is_running = record->end_ticks == 0,
		.ending = record->ending,
		.exit_code = record->exit_code,
		.cpu_ns = record->cpu_ns,
		.peak_rss_kb = record->peak_rss_kb,
	};
	memcpy(process->comm, record->comm, sizeof(process->comm));
	process->comm[sizeof(process->comm) - 1] = 0;
	if (process->object != HP_NONE)
		model->objects[process->object].is_program = true;
	process_times(b, process, record);
	process->calls = read_blocks(b, record->blocks);
}

static void read_processes(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_process record;
	uint64_t at = reader->header.processes;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next)
		read_process(b, &record);
}

/* The root process may have been several images: the one with the most to tell. */
static void find_root(struct build *b)
{
	struct hp_model *model = b->model;

	model->root = HP_NONE;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];

		if (!process->is_root)
			continue;
		if (model->root == HP_NONE || process->calls > model->processes[model->root].calls)
			model->root = (uint32_t)i;
	}
	model->elapsed_ns = ticks_to_ns(model, beyond(b->root_end ? b->root_end : b->end_ticks,
						      model->reader.header.start.ticks));
}

/* --- threads --- */

static double percent_of(uint32_t tenths)
{
	return tenths == UINT32_MAX ? -1 : tenths / 10.0;
}

static void read_watch_row(struct build *b, const struct hp_watch_row *row)
{
	struct hp_model *model = b->model;
	struct hp_model_thread *thread;
	uint64_t cpu_ns = beyond(row->cpu_ns, row->first_cpu_ns);

	model->threads = hp_xgrow(model->threads, model->thread_count, &b->thread_room,
				  sizeof(*model->threads));
	thread = &model->threads[model->thread_count++];
	*thread = (struct hp_model_thread){
		.state = row->state,
		.tid = row->tid,
		.pid = row->pid,
		.folded = row->folded,
		.is_member = row->is_member != 0,
		.percent_last = percent_of(row->percent_last),
		.percent_max = percent_of(row->percent_max),
		.percent_average = -1,
		.cpu_ns = row->cpu_ns,
		.wait_ns = row->wait_ns,
		.life_ns = beyond(row->seen_ns, row->first_ns),
	};
	memcpy(thread->name, row->name, sizeof(thread->name));
	thread->name[sizeof(thread->name) - 1] = 0;
	if (thread->life_ns)
		thread->percent_average = 100.0 * (double)cpu_ns / (double)thread->life_ns;
	b->watched_cpu_ns += row->cpu_ns;
	model->thread_ns += thread->life_ns;
	model->blocked_ns += beyond(thread->life_ns, cpu_ns + row->wait_ns);
}

static void read_threads(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_watch watch;
	struct hp_watch_row row;
	uint64_t at = reader->header.sampler_area;

	for (bool is_first = true; hp_reader_step(reader, at, &watch, sizeof(watch));
	     at = watch.next, is_first = false) {
		uint64_t place = at + sizeof(watch);

		for (uint32_t i = 0; i < watch.count; i++, place += sizeof(row)) {
			if (!hp_reader_step(reader, place, &row, sizeof(row)))
				break;
			read_watch_row(b, &row);
		}
		if (!is_first)
			continue;
		b->model->threads_interval_ms = watch.interval_ms;
		b->model->rss_kb = watch.rss_kb;
		b->model->peak_rss_kb = watch.rss_peak_kb;
		b->watched_cpu_ns = larger(b->watched_cpu_ns, watch.root_cpu_ns);
		hp_model_sampling_init(&b->model->sampling, reader, watch.sampling, &b->objects);
	}
}

/* --- sums --- */

/* Three sources, none complete: what processes said at their end, the watcher, the runner. */
static void sum_up(struct build *b)
{
	struct hp_model *model = b->model;
	const struct hp_header *header = &model->reader.header;
	uint64_t cpu_ns = 0;
	double overhead_ns;

	for (size_t i = 0; i < model->process_count; i++) {
		cpu_ns += model->processes[i].cpu_ns;
		model->peak_rss_kb = larger(model->peak_rss_kb, model->processes[i].peak_rss_kb);
	}
	model->cpu_ns = larger(larger(cpu_ns, b->watched_cpu_ns), header->root_cpu_ns);
	model->peak_rss_kb = larger(model->peak_rss_kb, header->peak_rss_kb);
	overhead_ns = b->overhead_ticks * model->ns_per_tick;
	model->overhead_ns = overhead_ns < 1e18 ? (uint64_t)overhead_ns : 0;
	if (model->thread_count > 1)
		return;
	/* One thread: what it did before the watcher's first look counts too. */
	model->thread_ns = model->elapsed_ns;
	model->blocked_ns = beyond(model->elapsed_ns, model->cpu_ns);
	if (model->thread_count)
		model->blocked_ns = beyond(model->blocked_ns, model->threads[0].wait_ns);
}

/* Total / Calls where both are of the same calls; else the histogram must do. */
static double average_of(const struct hp_model *model, const struct hp_model_function *f)
{
	double sum = 0;

	if (f->measured == 0)
		return -1;
	if (!f->is_recursive && !f->running)
		return f->total_ns / (double)f->calls;
	for (unsigned group = 0; group < HP_GROUPS; group++)
		for (unsigned i = 0; f->histogram.groups[group] && i < HP_GROUP_SIZE; i++)
			sum += (double)f->histogram.groups[group][i] *
			       (double)hp_bucket_value(group, i);
	return f->histogram.total ? sum / (double)f->histogram.total * model->ns_per_tick : -1;
}

void hp_model_init(struct hp_model *model, struct hp_segment *segment)
{
	struct build b = { .model = model };

	memset(model, 0, sizeof(*model));
	hp_reader_init(&model->reader, segment);
	hp_tree_init(&b.tree, model);
	b.functions = hp_xcalloc(hp_reader_places(&model->reader), sizeof(*b.functions));
	read_clock(&b);
	read_objects(&b);
	read_processes(&b);
	read_threads(&b);
	find_root(&b);
	hp_tree_finish(&b.tree);
	sum_up(&b);
	for (size_t i = 0; i < model->function_count; i++)
		model->functions[i].average_ns = average_of(model, &model->functions[i]);
	model->losses.refused_chunks = model->reader.header.refused;
	model->losses.lost_calls = model->reader.header.lost_calls;
	model->losses.lost_threads = model->reader.header.lost_threads;
	model->losses.is_damaged = model->reader.is_damaged;
	hp_map_release(&b.objects);
	hp_map_release(&b.same_objects);
	hp_map_release(&b.modules);
	model->places = b.functions;
	hp_map_release(&b.same_functions);
}

static void function_release(struct hp_model_function *function)
{
	hp_label_free(function->label);
	for (unsigned group = 0; group < HP_GROUPS; group++)
		free(function->histogram.groups[group]);
	while (function->logs) {
		struct hp_model_log *log = function->logs;

		function->logs = log->next;
		free(log);
	}
}

void hp_model_release(struct hp_model *model)
{
	for (size_t i = 0; i < model->object_count; i++)
		free(model->objects[i].path);
	for (size_t i = 0; i < model->process_count; i++)
		free(model->processes[i].command);
	for (size_t i = 0; i < model->function_count; i++)
		function_release(&model->functions[i]);
	free(model->places);
	free(model->objects);
	free(model->processes);
	free(model->functions);
	free(model->nodes);
	free(model->threads);
	hp_model_sampling_release(&model->sampling);
	hp_reader_release(&model->reader);
}

/* --- questions --- */

/*
 * Inside a bucket the values are taken to lie at equal distances, between what
 * the bucket holds and what was measured at all.
 */
static double bucket_rank(const struct hp_model_function *function, unsigned group, unsigned place,
			  uint64_t rank)
{
	uint64_t count = function->histogram.groups[group][place];
	double low = (double)hp_bucket_least(group, place);
	double high = low + (double)hp_bucket_width(group);

	if (group <= 1)
		return low;
	if (low < (double)function->least_ticks)
		low = (double)function->least_ticks;
	if (high > (double)function->most_ticks + 1)
		high = (double)function->most_ticks + 1;
	return low + (high - low) * ((double)rank - 0.5) / (double)count;
}

/* The value of the call at `rank` (1 = shortest), in ticks. */
static double value_at_rank(const struct hp_model_function *function, uint64_t rank)
{
	uint64_t before = 0;

	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = function->histogram.groups[group];

		for (unsigned i = 0; counters && i < HP_GROUP_SIZE; i++) {
			if (counters[i] >= rank - before)
				return bucket_rank(function, group, i, rank - before);
			before += counters[i];
		}
	}
	return -1;
}

double hp_model_percentile(const struct hp_model *model, const struct hp_model_function *function,
			   double percent)
{
	double exact = percent / 100 * (double)function->histogram.total;
	uint64_t rank = (uint64_t)exact;
	double ticks;

	if (function->histogram.total == 0 || function->most_ticks == 0)
		return -1;
	if (percent <= 0)
		return (double)function->least_ticks * model->ns_per_tick;
	if (percent >= 100)
		return (double)function->most_ticks * model->ns_per_tick;
	rank += exact > (double)rank + 1e-6;
	ticks = value_at_rank(function, rank ? rank : 1);
	if (ticks < (double)function->least_ticks)
		ticks = (double)function->least_ticks;
	if (ticks > (double)function->most_ticks)
		ticks = (double)function->most_ticks;
	return ticks * model->ns_per_tick;
}

struct hp_model_call hp_model_call(const struct hp_model *model, const struct hp_call *call)
{
	return (struct hp_model_call){
		.start_ns =
			ticks_to_ns(model, beyond(call->start, model->reader.header.start.ticks)),
		.ns = ticks_to_ns(model, call->ticks),
		.tid = call->tid,
	};
}

/* A call in a ring, and where the results of that ring stand. */
struct logged {
	struct hp_call call;
	uint64_t results;
};

/* Puts `one` among the newest `most`, the newest first; returns the new count. */
static size_t newest_add(struct logged *newest, size_t count, size_t most, struct logged one)
{
	size_t i = count < most ? count++ : most - 1;

	if (i == most - 1 && count == most && newest[i].call.ticks &&
	    newest[i].call.start >= one.call.start)
		return count;
	for (; i > 0 && newest[i - 1].call.start < one.call.start; i--)
		newest[i] = newest[i - 1];
	newest[i] = one;
	return count;
}

/* A later call's result may have taken the place of this one's: then the number is another. */
static char *result_of(struct hp_reader *reader, const struct logged *one)
{
	struct hp_results results;
	struct hp_result result;
	uint64_t place;
	char *text;

	if (!one->call.result || !hp_reader_copy(reader, one->results, &results, sizeof(results)) ||
	    results.capacity == 0 || results.capacity > HP_LOGS_MOST)
		return NULL;
	place = one->results + sizeof(results) +
		one->call.result % results.capacity * sizeof(result);
	if (!hp_reader_copy(reader, place, &result, sizeof(result)) ||
	    result.number != one->call.result || result.length > sizeof(result.bytes))
		return NULL;
	text = hp_xmalloc(result.length + 1);
	memcpy(text, result.bytes, result.length);
	text[result.length] = 0;
	return text;
}

size_t hp_model_last_calls(struct hp_model *model, const struct hp_model_function *function,
			   struct hp_model_call *calls, size_t most)
{
	struct hp_reader *reader = &model->reader;
	uint32_t limit =
		reader->header.logs_limit < HP_LOGS_MOST ? reader->header.logs_limit : HP_LOGS_MOST;
	struct logged *newest = hp_xcalloc(most, sizeof(*newest));
	size_t count = 0;

	for (const struct hp_model_log *log = function->logs; log && most; log = log->next) {
		struct logged one = { .results = log->results };
		const struct hp_call *ring =
			hp_reader_see(reader, log->offset, limit * sizeof(*ring));

		for (uint32_t i = 0; ring && i < limit; i++) {
			memcpy(&one.call, &ring[i], sizeof(one.call));
			if (one.call.ticks)
				count = newest_add(newest, count, most, one);
		}
	}
	for (size_t i = 0; i < count; i++) {
		calls[i] = hp_model_call(model, &newest[i].call);
		calls[i].result = result_of(reader, &newest[i]);
	}
	free(newest);
	return count;
}
