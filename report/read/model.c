/* SPDX-License-Identifier: MIT */
/*
 * model.c - reads the records of a segment and sums them up.
 *
 * Order: objects; then for each process its blocks, and for each block its
 * functions and rows; then the watched threads.  Records are identified by
 * their offset; functions of different blocks are merged by object and address
 * (model_build.c).  Everything is linear in the number of records.
 */
#include "report/read/model.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/read/model_build.h"
#include "report/read/settle.h"
#include "segment/clock.h"
#include "segment/layout/process.h"
#include "segment/layout/lock.h"
#include "segment/layout/watch.h"

#define KILLED_LATE_NS 500000000

/* State while the model is built. */
struct build {
	struct hp_model *model;
	size_t process_room;
	size_t thread_room;
	size_t folded_room;
	size_t name_room;
	uint64_t root_end;	/* end of the root's last image, ticks */
	bool root_goes_on;	/* unrecorded: that image ended, the process did not */
	uint64_t other_end;	/* end of the last of the others that recorded it */
	uint64_t killed_end;	/* the same of those that were killed: when the sampler found it dead */
	double overhead_ticks;
	uint64_t watched_cpu_ns;
	uint64_t root_cpu_ns;	/* of the root, by the watcher */
	uint64_t earlier_cpu_ns;	/* of all, at the previous refresh */
};

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
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
 * The target was killed within its first second, so the second moment is
 * missing. If the segment is from this boot, the present is one.
 */
static double rate_guess(const struct hp_header *header)
{
	struct hp_moment now = hp_clock_moment(header->clock_kind);

	return header->clock_kind == HP_CLOCK_MONOTONIC_RAW ? 1
							    : rate_between(&header->start, &now);
}

/* In a live session the present is later than the last recorded moment. */
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

	/* If its writer was killed half-way, the rate shows whether it is usable. */
	hp_clock_last(model->reader.segment.header, &last);
	last = later(&model->reader, last);
	model->ns_per_tick = rate_between(&header->start, &last);
	if (!is_rate_sane(model->ns_per_tick)) {
		model->ns_per_tick = rate_guess(header);
		model->is_clock_guessed = true;
	}
	if (!is_rate_sane(model->ns_per_tick))
		model->ns_per_tick = 1;
	model->grain_ns = (double)header->clock_grain * model->ns_per_tick;
	model->end_ticks = larger(last.ticks, header->start.ticks);
}

/* --- blocks and processes --- */

/* The place of their process in model->processes, for the calls. */
static void read_blocks(struct build *b, uint64_t at, uint32_t process)
{
	struct hp_model_losses *losses = &b->model->losses;
	struct hp_reader *reader = &b->model->reader;
	struct hp_block block;

	for (; hp_reader_step(reader, at, &block, sizeof(block)); at = block.next) {
		losses->folded_rows += block.folded_rows;
		losses->folded_functions += block.folded_functions;
		losses->unpaired += block.unpaired;
		losses->unwound += block.unwound;
		losses->untimed_signal += block.untimed_signal;
		/* Only below zero if the clock went back in our own code. */
		if ((int64_t)block.overhead > 0)
			b->overhead_ticks += (double)block.overhead / (1 << HP_FINE_BITS);
		hp_model_build_block(b->model, at, &block)->process = process;
	}
}

/*
 * A process continues after an exec or after dropping its rights. If it is still recorded then, a
 * later end follows.
 */
static void root_end_set(struct build *b, uint64_t end, uint32_t ending)
{
	if (end < b->root_end)
		return;
	b->root_end = end;
	b->root_goes_on = ending == HP_ENDING_EXEC || ending == HP_ENDING_DROP;
}

static void process_times(struct build *b, struct hp_model_process *process,
			  const struct hp_process *record)
{
	struct hp_model *model = b->model;
	uint64_t end = record->end_ticks ? record->end_ticks : b->model->end_ticks;
	uint64_t life = beyond(end, record->start_ticks);

	uint64_t start = beyond(record->start_ticks, model->reader.header.start.ticks);

	process->start_ns = hp_model_ns(model, start);
	process->began_ns = hp_model_ns(model, beyond(start, hp_account_lead(model, record)));
	process->end_ns = process->start_ns + hp_model_ns(model, life);
	process->life_ns = hp_model_ns(model, life) + hp_model_ns(model, record->folded_ticks);
	if (process->is_root)
		root_end_set(b, end, record->ending);
	else if (!record->end_ticks || record->ending != HP_ENDING_NONE)
		b->other_end = larger(b->other_end, end);
	else
		b->killed_end = larger(b->killed_end, end);
}

static void read_thread_names(struct build *b, uint64_t lockset)
{
	struct hp_model *model = b->model;
	struct hp_reader *reader = &model->reader;
	struct hp_lockset set;
	struct hp_thread_name record;

	if (!lockset || !hp_reader_copy(reader, lockset, &set, sizeof(set)))
		return;
	for (uint64_t at = set.names; hp_reader_step(reader, at, &record, sizeof(record));
	     at = record.next) {
		struct hp_model_thread_name *name;

		model->thread_names = hp_xgrow(model->thread_names, model->thread_name_count,
					       &b->name_room, sizeof(*model->thread_names));
		name = &model->thread_names[model->thread_name_count++];
		*name = (struct hp_model_thread_name){
			.pid = record.pid,
			.tid = record.tid,
			.end = record.end,
		};
		memcpy(name->name, record.name, sizeof(name->name));
		name->name[sizeof(name->name) - 1] = 0;
	}
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
		.started = record->starttime,
		.folded = record->folded,
		.object = hp_model_build_object_at(model, record->object) - 1,
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
	hp_account_read(model, record, b->model->end_ticks);
	read_blocks(b, record->blocks, (uint32_t)model->process_count - 1);
	read_thread_names(b, record->lockset);
}

static void read_processes(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_process record;
	uint64_t at = hp_reader_processes(reader);

	hp_levels_read(&b->model->levels, reader);
	for (; hp_reader_step(reader, at, &record, sizeof(record));
	     at = hp_reader_after(reader, at, record.next)) {
		hp_levels_add(&b->model->levels, reader, at, &record);
		read_process(b, &record);
	}
}

static bool was_killed(const struct hp_model_process *process)
{
	return !process->is_root && !process->is_running && process->ending == HP_ENDING_NONE;
}

/* A killed process lived until its last scan, at least. */
static uint64_t scanned_ns(const struct hp_model *model)
{
	struct hp_map killed = HP_MAP_NONE;	/* pid + 1 -> place of the last one */
	uint64_t last_ns = 0;
	bool is_new;

	for (size_t i = 0; i < model->process_count; i++)
		if (was_killed(&model->processes[i]))
			*hp_map_at(&killed, model->processes[i].pid + 1ull, &is_new) = (uint32_t)i;
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct hp_model_thread *thread = &model->threads[i];
		const uint32_t *place = hp_map_find(&killed, thread->pid + 1ull);

		if (place && thread->last_ns <= model->processes[*place].end_ns)
			last_ns = larger(last_ns, thread->last_ns);
	}
	hp_map_release(&killed);
	return last_ns;
}

/*
 * The sampler finds a killed process dead up to some hundred ms later, which may be more than the
 * lifetime of a short program. So that counts only if it is much later than all other ends.
 */
static void elapsed_set(struct build *b, uint64_t start, uint64_t root_end)
{
	struct hp_model *model = b->model;
	uint64_t end_ns = hp_model_ns(model, beyond(larger(root_end, b->other_end), start));
	uint64_t killed_ns = hp_model_ns(model, beyond(b->killed_end, start));

	model->elapsed_ns =
		larger(end_ns, killed_ns > end_ns + KILLED_LATE_NS ? killed_ns : scanned_ns(model));
	for (size_t i = 0; i < model->process_count; i++)
		if (was_killed(&model->processes[i]) &&
		    model->processes[i].end_ns > model->elapsed_ns)
			model->processes[i].end_ns = model->elapsed_ns;
}

/* The root process may have been several images: use the one with the most data. */
static void find_root(struct build *b)
{
	struct hp_model *model = b->model;
	uint64_t start, end;

	model->root = HP_NONE;
	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];

		if (!process->is_root)
			continue;
		if (model->root == HP_NONE || process->calls > model->processes[model->root].calls)
			model->root = (uint32_t)i;
	}
	start = model->reader.header.start.ticks;
	end = b->root_end && !b->root_goes_on ? b->root_end : b->model->end_ticks;
	model->root_ns = hp_model_ns(model, beyond(end, start));
	/* A daemon's first process ends at once. */
	elapsed_set(b, start, end);
}

/* A program that is not recorded has only the thread that the sampler watched. */
const char *hp_model_root_name(const struct hp_model *model)
{
	uint32_t pid = model->reader.header.root_pid;

	if (model->root != HP_NONE && model->processes[model->root].comm[0])
		return model->processes[model->root].comm;
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == pid && model->threads[i].name[0])
			return model->threads[i].name;
	return "?";
}

/* --- threads --- */

static int compare_names(const void *left, const void *right)
{
	const struct hp_model_thread_name *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

const char *hp_model_thread_name(const struct hp_model *model, uint32_t pid, uint32_t tid,
				 uint64_t ticks)
{
	const struct hp_model_thread_name wanted = { .pid = pid, .tid = tid, .end = ticks };
	size_t low = 0, high = model->thread_name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_names(&model->thread_names[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == model->thread_name_count || model->thread_names[low].pid != pid ||
	    model->thread_names[low].tid != tid)
		return NULL;
	return model->thread_names[low].name;
}

/*
 * The helper may have seen an ended thread only under an earlier name. It knows
 * a thread's start to one kernel tick, at most 10 ms.
 */
static void thread_name(const struct hp_model *model, struct hp_model_thread *thread,
			uint64_t first_ns)
{
	const struct hp_moment *start = &model->reader.header.start;
	double ticks = (double)beyond(beyond(first_ns, 10000000), start->ns) / model->ns_per_tick;
	const char *name = NULL;

	if (!thread->folded && ticks < 1e18)
		name = hp_model_thread_name(model, thread->pid, thread->tid,
					    start->ticks + (uint64_t)ticks);
	if (name)
		memcpy(thread->name, name, sizeof(thread->name));
}

static double percent_of(uint32_t tenths)
{
	return tenths == UINT32_MAX ? -1 : tenths / 10.0;
}

static double user_share(const struct hp_watch_row *row)
{
	double whole = (double)row->user_ns + (double)row->system_ns;

	return whole > 0 ? (double)row->user_ns / whole : -1;
}

static void read_watch_row(struct build *b, const struct hp_watch_row *row)
{
	struct hp_model *model = b->model;
	struct hp_model_thread *thread;
	uint64_t cpu_ns = beyond(row->cpu_ns, row->first_cpu_ns);
	uint64_t life_ns = beyond(row->seen_ns, row->first_ns);

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
		.user_share = user_share(row),
		.wait_ns = row->wait_ns,
		/* CPU time counts from its start, life from the first scan: it lived as long as it ran, at least. */
		.life_ns = life_ns > row->cpu_ns ? life_ns : row->cpu_ns,
		.last_ns = beyond(row->seen_ns, model->reader.header.start.ns),
	};
	memcpy(thread->name, row->name, sizeof(thread->name));
	thread->name[sizeof(thread->name) - 1] = 0;
	thread_name(model, thread, row->first_ns);
	if (thread->life_ns)
		thread->percent_average = 100.0 * (double)cpu_ns / (double)thread->life_ns;
	b->watched_cpu_ns += row->cpu_ns;
	model->thread_ns += thread->life_ns;
	model->blocked_ns += beyond(thread->life_ns, cpu_ns + row->wait_ns);
}

static void read_watch_rows(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_watch watch;
	struct hp_watch_row row;

	for (uint64_t at = reader->header.sampler_area;
	     hp_reader_step(reader, at, &watch, sizeof(watch)); at = watch.next) {
		uint32_t count = watch.count < watch.capacity ? watch.count : watch.capacity;
		const char *rows =
			hp_reader_take(reader, at + sizeof(watch), (size_t)count * sizeof(row));

		for (uint32_t i = 0; rows && i < count; i++) {
			memcpy(&row, rows + i * sizeof(row), sizeof(row));
			read_watch_row(b, &row);
		}
	}
}

static int compare_ids(const void *left, const void *right)
{
	const struct hp_watch_id *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void read_folded(struct build *b)
{
	struct hp_model *model = b->model;
	struct hp_watch_folded chunk;

	for (uint64_t at = hp_reader_folded(&model->reader);
	     hp_reader_step(&model->reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		uint32_t count = chunk.count < chunk.capacity ? chunk.count : chunk.capacity;
		const struct hp_watch_id *ids = hp_reader_take(&model->reader, at + sizeof(chunk),
							       (size_t)count * sizeof(*ids));

		for (uint32_t i = 0; ids && i < count; i++) {
			model->folded = hp_xgrow(model->folded, model->folded_count,
						 &b->folded_room, sizeof(*model->folded));
			memcpy(&model->folded[model->folded_count++], &ids[i], sizeof(*ids));
		}
	}
	if (model->folded_count)
		qsort(model->folded, model->folded_count, sizeof(*model->folded), compare_ids);
}

bool hp_model_is_folded(const struct hp_model *model, uint32_t pid, uint32_t tid)
{
	const struct hp_watch_id id = { .tid = tid, .pid = pid };

	return model->folded_count &&
	       bsearch(&id, model->folded, model->folded_count, sizeof(id), compare_ids);
}

static void folded_check(struct hp_model *model)
{
	size_t count = 0;

	for (size_t i = 0; i < model->thread_count; i++)
		/* The row `<other>` is not itself a thread's. */
		count += model->threads[i].folded + (size_t)(model->threads[i].tid == 0);
	model->is_folded_known = count == model->folded_count;
}

/*
 * The sampler may be folding a row into another: then all are read again. A
 * member of the session could block that word, so the retries are limited.
 */
static void read_all_rows(struct build *b)
{
	static const struct timespec nap = { 0, 50000 };
	struct hp_model *model = b->model;
	const uint64_t steps = model->reader.steps;

	for (int tries = 0; tries < 20; tries++) {
		uint32_t before = hp_reader_folding(&model->reader);

		model->reader.steps = steps;
		model->thread_count = model->folded_count = 0;
		model->thread_ns = model->blocked_ns = b->watched_cpu_ns = 0;
		read_watch_rows(b);
		read_folded(b);
		if (!(before & 1) && hp_reader_folding(&model->reader) == before)
			return;
		nanosleep(&nap, NULL);
	}
}

/* Some image of that process ended, and none runs. */
static bool has_ended(const struct hp_model *model, uint32_t pid)
{
	bool is_known = false;

	for (size_t i = 0; i < model->process_count; i++) {
		if (model->processes[i].pid != pid)
			continue;
		if (model->processes[i].is_running)
			return false;
		is_known = true;
	}
	return is_known;
}

/* The last scan of a thread was before its process ended: it does not sleep any more. */
static void threads_end(struct hp_model *model)
{
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].state != 'x' && has_ended(model, model->threads[i].pid))
			model->threads[i].state = 'x';
}

static void read_threads(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_watch watch;

	read_all_rows(b);
	folded_check(b->model);
	threads_end(b->model);
	if (hp_reader_step(reader, reader->header.sampler_area, &watch, sizeof(watch))) {
		b->model->threads_interval_ms = watch.interval_ms;
		b->model->rss_kb = watch.rss_kb;
		b->model->peak_rss_kb = watch.rss_peak_kb;
		b->root_cpu_ns = watch.root_cpu_ns;
		b->watched_cpu_ns = larger(b->watched_cpu_ns, watch.root_cpu_ns);
		hp_model_sampling_look(&b->model->sampling, reader, watch.sampling,
				       &b->model->build->objects);
	}
}

/* --- sums --- */

/* The source of a process's usage: itself at its end, or the watcher. */
struct teller {
	uint32_t pid;
	bool is_watcher;
	bool has_next;	/* the process continued in another segment, whose record has its usage */
};

/* By pid; among images of one pid, those with a complete record first, then the running one. */
static int compare_tellers(const void *left, const void *right)
{
	const struct teller *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->has_next != b->has_next)
		return (int)a->has_next - (int)b->has_next;
	return (int)b->is_watcher - (int)a->is_watcher;
}

static const struct teller *teller_of(const struct teller *tellers, size_t count, uint32_t pid)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tellers[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && tellers[low].pid == pid ? &tellers[low] : NULL;
}

/* The thread rows of processes that did not record their usage. */
static uint64_t rows_cpu_ns(const struct build *b, const struct teller *tellers)
{
	const struct hp_model *model = b->model;
	uint32_t root = model->reader.header.root_pid;
	const struct teller *teller = teller_of(tellers, model->process_count, root);
	uint64_t root_ns = 0, rest_ns = 0;
	bool is_root_told = teller && !teller->is_watcher;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct hp_model_thread *row = &model->threads[i];

		teller = teller_of(tellers, model->process_count, row->pid);
		if (row->pid == root)
			root_ns += row->cpu_ns;
		/*
		 * Without one, the next process took over its record and usage;
		 * or it never had one.
		 */
		else if (teller ? teller->is_watcher : !row->is_member)
			rest_ns += row->cpu_ns;
	}
	return rest_ns + (is_root_told ? 0 : larger(root_ns, b->root_cpu_ns));
}

/*
 * CPU of the whole session: the recorded usage of processes that recorded their
 * end, the watcher's last value for all others.
 */
static uint64_t session_cpu_ns(const struct build *b)
{
	const struct hp_model *model = b->model;
	struct teller *tellers = hp_xcalloc(model->process_count, sizeof(*tellers));
	uint64_t cpu_ns = 0;

	for (size_t i = 0; i < model->process_count; i++) {
		const struct hp_model_process *process = &model->processes[i];

		cpu_ns += process->cpu_ns;
		tellers[i] = (struct teller){
			.pid = process->pid,
			.is_watcher = process->is_running || !process->ending ||
				      process->ending == HP_ENDING_DROP,
			.has_next = process->ending == HP_ENDING_DROP,
		};
	}
	if (model->process_count)
		qsort(tellers, model->process_count, sizeof(*tellers), compare_tellers);
	cpu_ns += rows_cpu_ns(b, tellers);
	free(tellers);
	return cpu_ns;
}

/* Three sources, none complete: records of ended processes, the watcher, the runner. */
static void sum_up(struct build *b)
{
	struct hp_model *model = b->model;
	const struct hp_header *header = &model->reader.header;
	double overhead_ns;

	for (size_t i = 0; i < model->process_count; i++)
		model->peak_rss_kb = larger(model->peak_rss_kb, model->processes[i].peak_rss_kb);
	/* A sum of counters: it must never decrease between refreshes, whatever the source. */
	model->cpu_ns = larger(larger(b->earlier_cpu_ns, session_cpu_ns(b)),
			       larger(b->watched_cpu_ns, header->root_cpu_ns));
	model->peak_rss_kb = larger(model->peak_rss_kb, header->peak_rss_kb);
	overhead_ns = b->overhead_ticks * model->ns_per_tick;
	model->overhead_ns = overhead_ns < 1e18 ? (uint64_t)overhead_ns : 0;
	if (model->thread_count > 1)
		return;
	/* One thread: its CPU before the watcher's first sample counts, too. */
	model->thread_ns = model->elapsed_ns;
	model->blocked_ns = beyond(model->elapsed_ns, model->cpu_ns);
	if (model->thread_count)
		model->blocked_ns = beyond(model->blocked_ns, model->threads[0].wait_ns);
}

/* --- functions --- */

/* Sums are recomputed; histograms only on demand, by a new plan. */
static void functions_clear(struct hp_model *model)
{
	model->plan_look = 0;
	for (size_t i = 0; i < model->function_count; i++) {
		struct hp_model_function *f = &model->functions[i];

		*f = (struct hp_model_function){ .address = f->address,
						 .object = f->object,
						 .record = f->record,
						 .last_record = f->last_record,
						 .label = f->label,
						 .is_recursive = f->is_recursive,
						 .spread = f->spread };
	}
	for (size_t i = 0; i < model->record_count; i++)
		model->records[i].stamp = 0;
	for (size_t i = 0; i < model->block_count; i++)
		model->blocks[i].stamp = model->blocks[i].calls = 0;
}

/* Set once in a record: HOTPATH_NAME may name the function at a later call. */
static void record_look(struct hp_model *model, struct hp_model_record *record)
{
	struct hp_model_function *f = &model->functions[record->function];
	uint64_t label;

	record->gaps = hp_reader_word(&model->reader, record->offset, sizeof(struct hp_function),
				      offsetof(struct hp_function, gaps));
	if (!f->is_recursive)
		f->is_recursive =
			hp_reader_word(&model->reader, record->offset, sizeof(struct hp_function),
				       offsetof(struct hp_function, recursive)) != 0;
	if (f->label)
		return;
	label = hp_reader_word(&model->reader, record->offset, sizeof(struct hp_function),
			       offsetof(struct hp_function, label));
	if (label)
		f->label = hp_label_new(&model->reader, label * HP_LINE);
}

/* The previous refresh may have found more processes, if the segment was damaged. */
static void processes_count(struct hp_model *model)
{
	for (size_t i = 0; i < model->block_count; i++)
		if (model->blocks[i].process < model->process_count)
			model->processes[model->blocks[i].process].calls += model->blocks[i].calls;
}

static void functions_count(struct hp_model *model)
{
	for (size_t i = 0; i < model->record_count; i++) {
		struct hp_model_record *record = &model->records[i];
		uint64_t running = hp_reader_gist_active(&model->reader, record->gist);

		model->functions[record->function].running += running;
		/* Events below a caller that has not ended do not change its stamp. The function
		 * that stands for uninstrumented callers has no calls. */
		if (record->stamp != record->label_stamp || running || !record->stamp)
			record_look(model, record);
		record->label_stamp = record->stamp;
	}
}

/* --- refreshes --- */

/* State that each refresh rebuilds. */
static void clear(struct hp_model *model)
{
	for (size_t i = 0; i < model->process_count; i++)
		free(model->processes[i].command);
	free(model->processes);
	free(model->gaps);
	free(model->gap_shares);
	free(model->threads);
	free(model->folded);
	free(model->thread_names);
	free(model->runs);
	hp_model_sampling_pause(&model->sampling);
	model->processes = NULL;
	model->gaps = NULL;
	model->gap_shares = NULL;
	model->gap_count = model->gap_room = model->gap_share_count = 0;
	model->threads = NULL;
	model->folded = NULL;
	model->folded_count = 0;
	model->thread_names = NULL;
	model->runs = NULL;
	model->run_count = model->run_room = 0;
	model->children_cpu_ns = 0;
	model->process_count = model->thread_count = model->thread_name_count = 0;
	model->losses = (struct hp_model_losses){ .is_damaged = false };
	model->is_clock_guessed = false;
	model->cpu_ns = model->blocked_ns = model->thread_ns = 0;
	model->peak_rss_kb = model->rss_kb = model->overhead_ns = 0;
	model->threads_interval_ms = 0;
	for (size_t i = 0; i < model->object_count; i++)
		model->objects[i].is_program = false;
}

void hp_model_look(struct hp_model *model, struct hp_segment *segment)
{
	struct build b = { .model = model };

	if (model->build && model->build->is_broken)
		hp_model_release(model);
	b.earlier_cpu_ns = model->cpu_ns;
	clear(model);
	hp_reader_init(&model->reader, segment);
	model->look++;
	hp_model_build_begin(model);
	functions_clear(model);
	read_clock(&b);
	hp_model_build_objects(model);
	read_processes(&b);
	hp_tree_count(&model->build->tree, model, model->end_ticks);
	processes_count(model);
	functions_count(model);
	if (model->thread_name_count)
		qsort(model->thread_names, model->thread_name_count, sizeof(*model->thread_names),
		      compare_names);
	read_threads(&b);
	find_root(&b);
	hp_settle(&model->build->tree, model);
	sum_up(&b);
	model->recorded = hp_reader_recorded(&model->reader);
	model->helper_cpu_ns = hp_reader_helper_cpu_ns(&model->reader);
	model->interrupt_ns = hp_reader_interrupt_ns(&model->reader);
	model->suspended_ns = hp_reader_suspended_ns(&model->reader);
	model->cores = hp_reader_cores(&model->reader);
	model->bare_ns =
		hp_reader_bare_fine(&model->reader) * model->ns_per_tick / (1 << HP_FINE_BITS);
	model->losses.refused_chunks = model->reader.header.refused;
	model->losses.refusals = hp_reader_refusals(&model->reader);
	model->losses.lost_calls = model->reader.header.lost_calls;
	model->losses.lost_threads = model->reader.header.lost_threads;
	model->losses.is_damaged = model->reader.is_damaged;
}

void hp_model_take_gap_shares(struct hp_model *model, struct hp_model_gap_share *shares,
			      size_t count)
{
	free(model->gap_shares);
	model->gap_shares = shares;
	model->gap_share_count = count;
	functions_clear(model);
	hp_tree_count(&model->build->tree, model, model->end_ticks);
	functions_count(model);
	hp_settle(&model->build->tree, model);
}

void hp_model_init(struct hp_model *model, struct hp_segment *segment)
{
	memset(model, 0, sizeof(*model));
	hp_model_look(model, segment);
}

void hp_model_pause(struct hp_model *model)
{
	hp_reader_release(&model->reader);
}

void hp_model_release(struct hp_model *model)
{
	clear(model);
	hp_model_sampling_release(&model->sampling);
	hp_model_build_release(model);
	for (size_t i = 0; i < model->object_count; i++)
		free(model->objects[i].path);
	for (size_t i = 0; i < model->function_count; i++) {
		hp_label_free(model->functions[i].label);
		hp_model_spread_free(model->functions[i].spread);
	}
	hp_xsparse_free(model->places, model->place_count, sizeof(*model->places));
	free(model->records);
	free(model->blocks);
	free(model->objects);
	free(model->functions);
	free(model->nodes);
	hp_reader_release(&model->reader);
	memset(model, 0, sizeof(*model));
}
