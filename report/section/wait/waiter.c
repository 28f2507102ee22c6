/* SPDX-License-Identifier: MIT */
/*
 * waiter.c - the threads' own records: where they waited and for which thread,
 * their locks, the order in which they took them, their creators.
 *
 * A wait is recorded by its thread when it releases the lock; an unrecorded one
 * is still in its `held`, and is added here.
 */
#include <stddef.h>

#include "report/read/logged.h"
#include "report/section/wait/lock_build.h"
#include "report/base/memory.h"
#include "segment/layout/process.h"
#include "segment/mark.h"

/* Place + 1 of the lock of a use, 0 = unknown; and its side. */
static uint32_t lock_of(const struct hp_lock_build *b, uint64_t use, uint32_t *side)
{
	const uint32_t *found = hp_map_find(&b->uses, use);

	*side = found ? *found >> 30 : 0;
	return found ? *found & 0x3fffffff : 0;
}

static uint32_t function_of_row(struct hp_lock_build *b, uint64_t offset)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_function function;
	struct hp_lock_place place;
	struct hp_row row;

	if (!offset || !hp_reader_copy(reader, offset, &row, sizeof(row)) || !row.function ||
	    !hp_reader_copy(reader, (uint64_t)row.function * HP_LINE, &function, sizeof(function)))
		return HP_NONE;
	place = hp_lock_build_place(b, function.module, function.address);
	for (uint32_t i = 0; i < b->model->function_count; i++)
		if (b->model->functions[i].object == place.object &&
		    b->model->functions[i].address == place.address)
			return i;
	return HP_NONE;
}

static struct hp_lock_contest *contest_new(struct hp_lock_build *b)
{
	struct hp_locks *locks = b->locks;

	locks->contests = hp_xgrow(locks->contests, locks->contest_count, &b->contest_room,
				   sizeof(*locks->contests));
	return &locks->contests[locks->contest_count++];
}

static void add_contest(struct hp_lock_build *b, const struct hp_contest *record, uint64_t count,
			uint64_t ticks, uint64_t most)
{
	struct hp_lock_contest contest = { .count = count, .ticks = ticks, .most = most };
	uint32_t lock = lock_of(b, record->use, &contest.side);
	struct hp_waiter holder;

	if (!lock || !count)
		return;
	contest.lock = lock - 1;
	contest.function = function_of_row(b, record->row);
	contest.at = hp_lock_build_place(b, record->at_module, record->at_address);
	contest.holder = hp_lock_build_place(b, record->holder_module, record->holder_address);
	if (record->holder && hp_reader_copy(&b->model->reader, (uint64_t)record->holder * HP_LINE,
					     &holder, offsetof(struct hp_waiter, held)))
		contest.holder_tid = holder.tid;
	contest.path = hp_lock_build_path(b, record->path);
	contest.from = hp_lock_build_path(b, record->from);
	contest.from_ticks = record->from_ticks;
	if (record->from_waiter &&
	    hp_reader_copy(&b->model->reader, (uint64_t)record->from_waiter * HP_LINE, &holder,
			   offsetof(struct hp_waiter, held)))
		contest.from_tid = holder.tid;
	*contest_new(b) = contest;
}

static void read_contests(struct hp_lock_build *b, const struct hp_waiter *waiter)
{
	struct hp_locks *locks = b->locks;
	struct hp_contest record;

	for (uint64_t at = waiter->contests;
	     hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		size_t before = locks->contest_count;

		add_contest(b, &record, record.count, record.ticks, record.most);
		if (locks->contest_count == before)
			continue;
		locks->contests[before].most_start = record.most_start;
		locks->contests[before].pid = waiter->pid;
		locks->contests[before].tid = waiter->tid;
		locks->contests[before].is_shared = waiter->threads > 1;
	}
}

/* A wait that the thread has not recorded yet. */
static void add_pending(struct hp_lock_build *b, const struct hp_waiter *waiter,
			const struct hp_held *held, uint32_t lock, uint32_t side)
{
	struct hp_lock_sum *sum = &b->locks->rows[lock].sums[side];
	struct hp_contest record;
	uint64_t offset = held->contest - waiter->base;

	sum->contended++;
	sum->wait_ticks += (double)held->waited;
	sum->wait_most = hp_lock_larger(sum->wait_most, held->waited);
	if (held->contest && hp_reader_copy(&b->model->reader, offset, &record, sizeof(record)))
		add_contest(b, &record, 1, held->waited, held->waited);
}

/* The last moment of the process being read that is known. */
static uint64_t process_end(const struct hp_lock_build *b)
{
	return b->process->end_ticks ? b->process->end_ticks : b->model->end_ticks;
}

/*
 * Its threads went on after what this waiter says: the process dropped privileges and continues in
 * another segment, or a later one has the record.
 */
static bool is_left(const struct hp_lock_build *b, const struct hp_waiter *waiter)
{
	return b->process->ending == HP_ENDING_DROP || b->process->pid != waiter->pid;
}

/* A hold that has not ended: since when is it known? 0 = at no time. */
static uint64_t held_since(struct hp_lock_build *b, const struct hp_held *held, uint64_t use,
			   uint64_t mark_at, uint64_t end)
{
	struct hp_mark mark;
	struct hp_use record;
	uint64_t hash;

	if (held->start)
		return held->start;
	if (!hp_reader_copy(&b->model->reader, use, &record, sizeof(record)) ||
	    !hp_reader_copy(&b->model->reader, mark_at, &mark, sizeof(mark)))
		return 0;
	hash = hp_mark_hash(use, record.count);
	if (hp_seen_is_of(mark.seen, hash))
		return mark.seen_at;
	return hp_mark_is_of(mark.since, hash) ? end - hp_mark_until(mark.since, end) : 0;
}

/* `mark_at`: offset of its hp_mark. */
static void add_open(struct hp_lock_build *b, const struct hp_waiter *waiter,
		     const struct hp_held *held, struct hp_lock_sum *sum, uint64_t mark_at)
{
	uint64_t end = process_end(b);
	uint64_t since = held_since(b, held, held->use - waiter->base, mark_at, end);

	hp_lock_sum_open(sum, since && since < end ? (double)(end - since) : 0, held->start != 0);
}

/* `at`: offset of the waiter. */
static void read_held(struct hp_lock_build *b, const struct hp_waiter *waiter, uint64_t at,
		      uint64_t modules)
{
	struct hp_locks *locks = b->locks;

	for (int i = 0; i < HP_HELD_MAX && waiter->held[i].address; i++) {
		const struct hp_held *held = &waiter->held[i];
		uint32_t side, lock = lock_of(b, held->use - waiter->base, &side);

		if (!lock)
			continue;
		locks->holds = hp_xgrow(locks->holds, locks->hold_count, &b->hold_room,
					sizeof(*locks->holds));
		locks->holds[locks->hold_count++] = (struct hp_lock_hold){
			.lock = lock - 1,
			.pid = waiter->pid,
			.tid = waiter->tid,
			.address = held->address,
			.at = hp_lock_build_plain(b, modules, held->at),
			.start = held->start,
			.end = process_end(b),
			.is_left = is_left(b, waiter),
		};
		if (held->start && held->waited)
			add_pending(b, waiter, held, lock - 1, side);
		add_open(b, waiter, held, &locks->rows[lock - 1].sums[side],
			 at + offsetof(struct hp_waiter, marks) +
				 (uint64_t)i * sizeof(struct hp_mark));
	}
}

static void read_wait(struct hp_lock_build *b, const struct hp_waiter *waiter, uint64_t modules)
{
	struct hp_locks *locks = b->locks;
	const uint32_t *lock = hp_map_find(&b->rows, waiter->lock);

	if (!waiter->since || !lock || !*lock || waiter->side >= HP_SIDES || is_left(b, waiter))
		return;
	locks->waits =
		hp_xgrow(locks->waits, locks->wait_count, &b->wait_room, sizeof(*locks->waits));
	locks->waits[locks->wait_count++] = (struct hp_lock_wait){
		.lock = *lock - 1,
		.side = waiter->side,
		.pid = waiter->pid,
		.tid = waiter->tid,
		.holder = waiter->holder,
		.address = waiter->address,
		.at = hp_lock_build_plain(b, modules, waiter->at),
		.since = waiter->since,
		.path = hp_lock_build_path(b, waiter->path),
	};
}

static void read_orders(struct hp_lock_build *b, uint64_t at)
{
	struct hp_locks *locks = b->locks;
	struct hp_order record;

	for (; hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		uint32_t side;
		uint32_t held = lock_of(b, record.held, &side);
		uint32_t taken = lock_of(b, record.taken, &side);

		if (!held || !taken)
			continue;
		locks->orders = hp_xgrow(locks->orders, locks->order_count, &b->order_room,
					 sizeof(*locks->orders));
		locks->orders[locks->order_count++] = (struct hp_lock_order){
			.held = held - 1,
			.taken = taken - 1,
			.held_at = hp_lock_build_place(b, record.held_module, record.held_address),
			.taken_at =
				hp_lock_build_place(b, record.taken_module, record.taken_address),
		};
	}
}

static void add_thread(struct hp_lock_build *b, const struct hp_waiter *waiter, size_t first)
{
	struct hp_locks *locks = b->locks;
	struct hp_lock_thread thread = { .pid = waiter->pid, .tid = waiter->tid };

	for (int i = 0; i < HP_WAIT_CLASSES; i++)
		if (waiter->waited[i] > waiter->waited_before[i])
			thread.waited[i] = waiter->waited[i] - waiter->waited_before[i];
	thread.contest_first = first;
	thread.contest_end = waiter->threads == 1 ? locks->contest_count : first;
	locks->threads = hp_xgrow(locks->threads, locks->thread_count, &b->thread_room,
				  sizeof(*locks->threads));
	locks->threads[locks->thread_count++] = thread;
}

void hp_lock_read_births(struct hp_lock_build *b, uint64_t at, uint64_t modules)
{
	struct hp_locks *locks = b->locks;
	struct hp_thread record;

	/* A process makes no more; a damaged list may be endless. */
	for (int i = 0;
	     i < HP_THREADS_MAX && hp_reader_step(&b->model->reader, at, &record, sizeof(record));
	     i++, at = record.next) {
		if (!record.tid)
			continue;
		locks->births = hp_xgrow(locks->births, locks->birth_count, &b->birth_room,
					 sizeof(*locks->births));
		locks->births[locks->birth_count++] = (struct hp_lock_birth){
			.pid = record.pid,
			.tid = record.tid,
			.maker = record.maker,
			.path = hp_lock_build_path(b, record.path),
			.at = hp_lock_build_plain(b, modules, record.at),
			.routine = hp_lock_build_plain(b, modules, record.routine),
			.start = record.start,
			.end = record.end,
			.cpu_ns = record.end ? record.cpu_ns : 0,
		};
	}
}

void hp_lock_read_waiters(struct hp_lock_build *b, uint64_t at, uint64_t modules)
{
	struct hp_waiter waiter;

	/* The fields after that are missing in segments of earlier versions. */
	const uint64_t size = offsetof(struct hp_waiter, samples);

	for (; hp_reader_step(&b->model->reader, at, &waiter, size); at = waiter.next) {
		const struct hp_waiter *there = hp_reader_see(&b->model->reader, at, size);
		size_t first = b->locks->contest_count;

		hp_logged_wait(there, &waiter);
		hp_lock_read_uses(b, &waiter);
		read_contests(b, &waiter);
		add_thread(b, &waiter, first);
		read_orders(b, waiter.orders);
		b->locks->untold += waiter.untold;
		read_held(b, &waiter, at, modules);
		hp_lock_read_spans(b, &waiter, at, modules);
		read_wait(b, &waiter, modules);
	}
}
