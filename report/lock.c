/* SPDX-License-Identifier: MIT */
/*
 * lock.c - reads the records of locks and sums them up: see lock.h.
 *
 * A wait is told by its thread when it releases the lock; what it has not told
 * yet stands in its `held`, and is added here.
 */
#include "report/lock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/map.h"
#include "report/memory.h"
#include "segment/histogram.h"

struct build {
	struct hp_model *model;
	struct hp_locks *locks;
	struct hp_map rows; /* offset of a hp_lock -> place + 1 */
	struct hp_map same; /* what it is -> place + 1 */
	struct hp_map uses; /* offset of a hp_use -> place of its lock + 1 */
	struct hp_map objects; /* offset of a hp_object -> place in model->objects + 1 */
	size_t room;
	size_t contest_room;
	size_t hold_room;
	size_t wait_room;
	size_t order_room;
	size_t thread_room;
	size_t party_room;
	size_t birth_room;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

/* --- places --- */

static bool is_object(const struct hp_model_object *object, const struct hp_object *record,
		      const char *path)
{
	return object->kind == record->kind && object->build_id_size == record->build_id_size &&
	       record->build_id_size <= sizeof(record->build_id) &&
	       memcmp(object->build_id, record->build_id, record->build_id_size) == 0 &&
	       object->inode == record->inode && strcmp(object->path, path) == 0;
}

static uint32_t find_object(struct build *b, uint64_t offset)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_object record;
	char *path;
	uint32_t i = 0;

	if (!hp_reader_copy(reader, offset, &record, sizeof(record)))
		return 0;
	path = hp_reader_text(reader, record.path);
	while (i < b->model->object_count &&
	       !is_object(&b->model->objects[i], &record, path ? path : ""))
		i++;
	free(path);
	return i < b->model->object_count ? i + 1 : 0;
}

static uint32_t object_place(void *context, uint64_t offset)
{
	struct build *b = context;
	uint32_t *found;
	bool is_new;

	found = hp_map_at(&b->objects, offset, &is_new);
	if (is_new)
		*found = find_object(b, offset);
	return *found - 1;
}

static uint32_t path_of(struct build *b, uint32_t step)
{
	return hp_lock_path_read(&b->locks->paths, b->model, step, object_place, b);
}

static struct hp_lock_place place_of(struct build *b, uint64_t module, uint64_t address)
{
	struct hp_lock_place place = { .object = HP_NONE, .address = address };
	struct hp_module record;

	if (!module || !hp_reader_copy(&b->model->reader, module, &record, sizeof(record)) ||
	    !record.object)
		return place;
	place.object = object_place(b, record.object);
	return place;
}

/* A plain address of a running process, in one of the modules that it has. */
static struct hp_lock_place plain_place(struct build *b, uint64_t modules, uint64_t address)
{
	struct hp_module module;

	for (; hp_reader_step(&b->model->reader, modules, &module, sizeof(module));
	     modules = module.next)
		if (address >= module.begin && address < module.end && !module.to)
			return place_of(b, modules, address - module.bias);
	return (struct hp_lock_place){ .object = HP_NONE, .address = address };
}

/* --- locks --- */

static bool is_same(const struct hp_lock_row *a, const struct hp_lock_row *b)
{
	if (a->number == HP_LOCK_LABEL && b->number == HP_LOCK_LABEL)
		return a->kind == b->kind && strcmp(a->label, b->label) == 0;
	return a->kind == b->kind && a->number == b->number && a->is_made == b->is_made &&
	       a->at.object == b->at.object && a->at.address == b->at.address &&
	       a->site.object == b->site.object && a->site.address == b->site.address;
}

static uint64_t row_hash(const struct hp_lock_row *row)
{
	uint64_t hash = mix(mix(row->at.address, row->at.object), row->kind);

	if (row->number == HP_LOCK_LABEL) {
		for (const char *c = row->label; *c; c++)
			hash = mix(hash, (unsigned char)*c);
		return hash | 1;
	}
	return mix(mix(mix(hash, row->site.address), row->site.object), row->number) | 1;
}

/* Its place, HP_NONE = there is none. */
static uint32_t row_find(const struct build *b, const struct hp_lock_row *row)
{
	for (uint64_t hash = row_hash(row);; hash += 2) {
		const uint32_t *place = hp_map_find(&b->same, hash);

		if (!place)
			return HP_NONE;
		if (is_same(&b->locks->rows[*place - 1], row))
			return *place - 1;
	}
}

static uint32_t row_place(struct build *b, const struct hp_lock_row *row)
{
	struct hp_locks *locks = b->locks;
	uint64_t hash = row_hash(row);
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&b->same, hash, &is_new);
		if (is_new)
			break;
		if (is_same(&locks->rows[*place - 1], row))
			return *place;
	}
	locks->rows = hp_xgrow(locks->rows, locks->count, &b->room, sizeof(*locks->rows));
	locks->rows[locks->count++] = *row;
	return *place = (uint32_t)locks->count;
}

/* One that was used before it got its label has two records. */
static void keep_label(struct hp_lock_row *row, char *label)
{
	if (!row->label)
		row->label = label;
	else if (row->label != label)
		free(label);
}

/* Returns false if its channel is none. */
static bool row_of_channel(struct build *b, const struct hp_lock *record, struct hp_lock_row *row)
{
	struct hp_channel channel;

	if (record->number != HP_LOCK_OF_CHANNEL ||
	    !hp_reader_copy(&b->model->reader, record->address, &channel, sizeof(channel)) ||
	    channel.kind == 0 || channel.kind >= HP_CHANNEL_KINDS)
		return false;
	row->at = (struct hp_lock_place){ .object = HP_NONE, .address = record->address };
	row->site.object = HP_NONE;
	row->channel = record->address;
	row->channel_kind = channel.kind;
	row->is_found = channel.origin == HP_CHANNEL_FOUND;
	return true;
}

static void read_locks(struct build *b, uint64_t at)
{
	struct hp_lock record;
	bool is_new;

	for (; hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		struct hp_lock_row row = { .kind = record.kind, .number = record.number };
		uint32_t place;

		if (record.kind == 0 || record.kind >= HP_LOCK_KINDS)
			continue;
		if (record.kind == HP_LOCK_CHANNEL) {
			if (!row_of_channel(b, &record, &row))
				continue;
		} else if (record.number == HP_LOCK_STATIC) {
			row.at = place_of(b, record.module, record.address);
			row.site.object = HP_NONE;
		} else {
			row.at.object = HP_NONE;
			row.site = place_of(b, record.site_module, record.site_address);
			row.is_made = record.is_made != 0;
		}
		row.label = record.label ? hp_reader_text(&b->model->reader, record.label) : NULL;
		if (row.number == HP_LOCK_LABEL && !row.label)
			row.number = HP_LOCK_MORE;
		place = row_place(b, &row);
		keep_label(&b->locks->rows[place - 1], row.label);
		b->locks->rows[place - 1].objects += record.objects;
		if (record.number == HP_LOCK_STATIC && !b->locks->rows[place - 1].objects)
			b->locks->rows[place - 1].objects = 1;
		*hp_map_at(&b->rows, at, &is_new) = place;
	}
}

/* --- uses --- */

static void add_spread(struct build *b, struct hp_model_histogram *histogram, uint32_t place)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_spread spread;

	if (!place || !hp_reader_copy(reader, (uint64_t)place * HP_LINE, &spread, sizeof(spread)))
		return;
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_reader_see(
			reader, (uint64_t)spread.groups[group] * HP_LINE, HP_GROUP_SIZE * 8);

		if (!counters)
			continue;
		if (!histogram->groups[group])
			histogram->groups[group] = hp_xcalloc(HP_GROUP_SIZE, sizeof(uint64_t));
		for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
			uint64_t count = *(const volatile uint64_t *)&counters[i];

			histogram->groups[group][i] += count;
			histogram->total += count;
		}
	}
}

/* A rare draw counts as several, but was one. */
static uint64_t draws_of(struct build *b, const struct hp_use *use)
{
	const uint64_t too_many = HP_LOCK_RARE / HP_LOCK_DRAWN - 1;
	struct hp_spread spread;

	if (!use->holds || !hp_reader_copy(&b->model->reader, (uint64_t)use->holds * HP_LINE,
					   &spread, sizeof(spread)))
		return use->drawn;
	return use->drawn > spread.rare * too_many ? use->drawn - spread.rare * too_many : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void add_use(struct build *b, struct hp_lock_sum *sum, const struct hp_use *use)
{
	uint64_t others = use->count > use->timed ? use->count - use->timed : 0;

	sum->count += use->count;
	sum->contended += use->contended;
	sum->failed += use->failed;
	sum->timeouts += use->timeouts;
	sum->timed += use->timed;
	sum->drawn += draws_of(b, use);
	sum->wait_ticks += (double)use->wait_ticks;
	sum->wait_most = larger(sum->wait_most, use->wait_most);
	sum->hold_most = larger(sum->hold_most, use->hold_most);
	sum->hold_ticks += (double)use->timed_ticks;
	if (use->drawn) {
		sum->hold_ticks += (double)use->drawn_ticks / (double)use->drawn * (double)others;
		sum->is_estimated = true;
	}
	add_spread(b, &sum->waits, use->waits);
	add_spread(b, &sum->holds, use->holds);
}

static void add_party(struct build *b, const struct hp_waiter *waiter, const struct hp_use *use,
		      uint32_t lock)
{
	struct hp_locks *locks = b->locks;

	if (locks->rows[lock].kind != HP_LOCK_BARRIER)
		return;
	locks->parties = hp_xgrow(locks->parties, locks->party_count, &b->party_room,
				  sizeof(*locks->parties));
	locks->parties[locks->party_count++] =
		(struct hp_lock_party){ lock, waiter->pid, waiter->tid, use->count,
					use->wait_ticks };
}

static void read_uses(struct build *b, const struct hp_waiter *waiter)
{
	uint64_t at = waiter->uses;
	struct hp_use use;
	bool is_new;

	for (; hp_reader_step(&b->model->reader, at, &use, sizeof(use)); at = use.next) {
		const uint32_t *place = hp_map_find(&b->rows, use.lock);

		if (!place || !*place || use.side >= HP_SIDES)
			continue;
		*hp_map_at(&b->uses, at, &is_new) = *place | use.side << 30;
		add_use(b, &b->locks->rows[*place - 1].sums[use.side], &use);
		add_party(b, waiter, &use, *place - 1);
	}
}

/* Place + 1 of the lock of a use, 0 = unknown; and its side. */
static uint32_t lock_of(const struct build *b, uint64_t use, uint32_t *side)
{
	const uint32_t *found = hp_map_find(&b->uses, use);

	*side = found ? *found >> 30 : 0;
	return found ? *found & 0x3fffffff : 0;
}

/* --- waiters --- */

static uint32_t function_of_row(struct build *b, uint64_t offset)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_function function;
	struct hp_lock_place place;
	struct hp_row row;

	if (!offset || !hp_reader_copy(reader, offset, &row, sizeof(row)) || !row.function ||
	    !hp_reader_copy(reader, (uint64_t)row.function * HP_LINE, &function, sizeof(function)))
		return HP_NONE;
	place = place_of(b, function.module, function.address);
	for (uint32_t i = 0; i < b->model->function_count; i++)
		if (b->model->functions[i].object == place.object &&
		    b->model->functions[i].address == place.address)
			return i;
	return HP_NONE;
}

static struct hp_lock_contest *contest_new(struct build *b)
{
	struct hp_locks *locks = b->locks;

	locks->contests = hp_xgrow(locks->contests, locks->contest_count, &b->contest_room,
				   sizeof(*locks->contests));
	return &locks->contests[locks->contest_count++];
}

static void add_contest(struct build *b, const struct hp_contest *record, uint64_t count,
			uint64_t ticks, uint64_t most)
{
	struct hp_lock_contest contest = { .count = count, .ticks = ticks, .most = most };
	uint32_t lock = lock_of(b, record->use, &contest.side);
	struct hp_waiter holder;

	if (!lock || !count)
		return;
	contest.lock = lock - 1;
	contest.function = function_of_row(b, record->row);
	contest.at = place_of(b, record->at_module, record->at_address);
	contest.holder = place_of(b, record->holder_module, record->holder_address);
	if (record->holder && hp_reader_copy(&b->model->reader, (uint64_t)record->holder * HP_LINE,
					     &holder, offsetof(struct hp_waiter, held)))
		contest.holder_tid = holder.tid;
	contest.path = path_of(b, record->path);
	contest.from = path_of(b, record->from);
	contest.from_ticks = record->from_ticks;
	if (record->from_waiter &&
	    hp_reader_copy(&b->model->reader, (uint64_t)record->from_waiter * HP_LINE, &holder,
			   offsetof(struct hp_waiter, held)))
		contest.from_tid = holder.tid;
	*contest_new(b) = contest;
}

static void read_contests(struct build *b, const struct hp_waiter *waiter)
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
	}
}

/* A wait of which the thread has not told yet. */
static void add_pending(struct build *b, const struct hp_waiter *waiter, const struct hp_held *held,
			uint32_t lock, uint32_t side)
{
	struct hp_lock_sum *sum = &b->locks->rows[lock].sums[side];
	struct hp_contest record;
	uint64_t offset = held->contest - waiter->base;

	sum->contended++;
	sum->wait_ticks += (double)held->waited;
	sum->wait_most = larger(sum->wait_most, held->waited);
	if (held->contest && hp_reader_copy(&b->model->reader, offset, &record, sizeof(record)))
		add_contest(b, &record, 1, held->waited, held->waited);
}

static void read_held(struct build *b, const struct hp_waiter *waiter, uint64_t modules)
{
	struct hp_locks *locks = b->locks;

	for (int i = 0; i < HP_HELD_MOST && waiter->held[i].address; i++) {
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
			.at = plain_place(b, modules, held->at),
			.start = held->start,
		};
		if (held->start && held->waited)
			add_pending(b, waiter, held, lock - 1, side);
	}
}

static void read_wait(struct build *b, const struct hp_waiter *waiter, uint64_t modules)
{
	struct hp_locks *locks = b->locks;
	const uint32_t *lock = hp_map_find(&b->rows, waiter->lock);

	if (!waiter->since || !lock || !*lock)
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
		.at = plain_place(b, modules, waiter->at),
		.since = waiter->since,
		.path = path_of(b, waiter->path),
	};
}

static void read_orders(struct build *b, uint64_t at)
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
			.held_at = place_of(b, record.held_module, record.held_address),
			.taken_at = place_of(b, record.taken_module, record.taken_address),
		};
	}
}

static void add_thread(struct build *b, const struct hp_waiter *waiter, size_t first)
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

static void read_births(struct build *b, uint64_t at, uint64_t modules)
{
	struct hp_locks *locks = b->locks;
	struct hp_thread record;

	for (; hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		if (!record.tid)
			continue;
		locks->births = hp_xgrow(locks->births, locks->birth_count, &b->birth_room,
					 sizeof(*locks->births));
		locks->births[locks->birth_count++] = (struct hp_lock_birth){
			.pid = record.pid,
			.tid = record.tid,
			.maker = record.maker,
			.path = path_of(b, record.path),
			.at = plain_place(b, modules, record.at),
			.routine = plain_place(b, modules, record.routine),
			.start = record.start,
			.end = record.end,
			.cpu_ns = record.end ? record.argument : 0,
		};
	}
}

static void read_waiters(struct build *b, uint64_t at, uint64_t modules)
{
	struct hp_waiter waiter;

	for (; hp_reader_step(&b->model->reader, at, &waiter, sizeof(waiter)); at = waiter.next) {
		size_t first = b->locks->contest_count;

		read_uses(b, &waiter);
		read_contests(b, &waiter);
		add_thread(b, &waiter, first);
		read_orders(b, waiter.orders);
		b->locks->untold += waiter.untold;
		read_held(b, &waiter, modules);
		read_wait(b, &waiter, modules);
	}
}

static void read_processes(struct build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_process process;
	struct hp_lockset set;
	uint64_t at = reader->header.processes;

	for (; hp_reader_step(reader, at, &process, sizeof(process)); at = process.next) {
		if (!process.lockset || !hp_reader_copy(reader, process.lockset, &set, sizeof(set)))
			continue;
		b->locks->lost += set.lost;
		read_locks(b, set.locks);
		read_waiters(b, set.waiters, process.modules);
		read_births(b, set.threads, process.modules);
	}
}

/* --- folding --- */

static void histogram_move(struct hp_model_histogram *to, struct hp_model_histogram *from)
{
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		if (!to->groups[group]) {
			to->groups[group] = from->groups[group];
			from->groups[group] = NULL;
			continue;
		}
		for (unsigned i = 0; from->groups[group] && i < HP_GROUP_SIZE; i++)
			to->groups[group][i] += from->groups[group][i];
	}
	to->total += from->total;
	from->total = 0;
}

static void sum_move(struct hp_lock_sum *to, struct hp_lock_sum *from)
{
	to->count += from->count;
	to->contended += from->contended;
	to->failed += from->failed;
	to->timeouts += from->timeouts;
	to->timed += from->timed;
	to->drawn += from->drawn;
	to->wait_ticks += from->wait_ticks;
	to->wait_most = larger(to->wait_most, from->wait_most);
	to->hold_ticks += from->hold_ticks;
	to->hold_most = larger(to->hold_most, from->hold_most);
	to->is_estimated |= from->is_estimated;
	histogram_move(&to->waits, &from->waits);
	histogram_move(&to->holds, &from->holds);
	from->count = from->failed = from->timeouts = 0;
}

/*
 * Where a site has so many locks that they were not all told apart, none is: of
 * each process the first ones would stand alone, by chance.
 */
static void fold_sites(struct build *b)
{
	struct hp_locks *locks = b->locks;
	uint32_t *to = hp_xcalloc(locks->count, sizeof(*to));

	for (uint32_t i = 0; i < locks->count; i++) {
		struct hp_lock_row wanted = locks->rows[i];
		struct hp_lock_row *more;

		to[i] = i;
		if (wanted.number >= HP_LOCK_LABEL)
			continue;
		wanted.number = HP_LOCK_MORE;
		to[i] = row_find(b, &wanted);
		if (to[i] == HP_NONE) {
			to[i] = i;
			continue;
		}
		more = &locks->rows[to[i]];
		more->objects += locks->rows[i].objects;
		for (int side = 0; side < HP_SIDES; side++)
			sum_move(&more->sums[side], &locks->rows[i].sums[side]);
	}
	for (size_t i = 0; i < locks->contest_count; i++)
		locks->contests[i].lock = to[locks->contests[i].lock];
	for (size_t i = 0; i < locks->order_count; i++) {
		locks->orders[i].held = to[locks->orders[i].held];
		locks->orders[i].taken = to[locks->orders[i].taken];
	}
	for (size_t i = 0; i < locks->party_count; i++)
		locks->parties[i].lock = to[locks->parties[i].lock];
	for (size_t i = 0; i < locks->hold_count; i++)
		locks->holds[i].lock = to[locks->holds[i].lock];
	for (size_t i = 0; i < locks->wait_count; i++)
		locks->waits[i].lock = to[locks->waits[i].lock];
	free(to);
}

/* --- orders --- */

static int compare_orders(const void *left, const void *right)
{
	const struct hp_lock_order *a = left, *b = right;

	if (a->held != b->held)
		return a->held < b->held ? -1 : 1;
	return a->taken < b->taken ? -1 : a->taken > b->taken;
}

/* Of a pair that several threads noted one stays. */
static void sort_orders(struct hp_locks *locks)
{
	size_t count = 0;

	if (locks->order_count)
		qsort(locks->orders, locks->order_count, sizeof(*locks->orders), compare_orders);
	for (size_t i = 0; i < locks->order_count; i++)
		if (!count || compare_orders(&locks->orders[count - 1], &locks->orders[i]) != 0)
			locks->orders[count++] = locks->orders[i];
	locks->order_count = count;
}

/* Of locks that are not told apart nothing can be said: they may be others each time. */
bool hp_lock_is_one(const struct hp_lock_row *row)
{
	return row->number != HP_LOCK_MORE && (row->number != HP_LOCK_LABEL || row->objects <= 1);
}

const struct hp_lock_order *hp_locks_contrary(const struct hp_locks *locks, size_t i)
{
	struct hp_lock_order wanted = { .held = locks->orders[i].taken,
					.taken = locks->orders[i].held };

	if (wanted.held == wanted.taken || !hp_lock_is_one(&locks->rows[wanted.held]) ||
	    !hp_lock_is_one(&locks->rows[wanted.taken]))
		return NULL;
	return bsearch(&wanted, locks->orders, locks->order_count, sizeof(wanted), compare_orders);
}

void hp_locks_init(struct hp_locks *locks, struct hp_model *model)
{
	struct build b = { .model = model, .locks = locks };

	memset(locks, 0, sizeof(*locks));
	hp_reader_restart(&model->reader, 2);
	read_processes(&b);
	fold_sites(&b);
	sort_orders(locks);
	locks->end_ticks =
		larger(model->reader.header.last.ticks, model->reader.header.start.ticks);
	hp_map_release(&b.rows);
	hp_map_release(&b.same);
	hp_map_release(&b.uses);
	hp_map_release(&b.objects);
}

void hp_locks_release(struct hp_locks *locks)
{
	for (size_t i = 0; i < locks->count; i++)
		free(locks->rows[i].label);
	for (size_t i = 0; i < locks->count; i++)
		for (int side = 0; side < HP_SIDES; side++)
			for (unsigned group = 0; group < HP_GROUPS; group++) {
				free(locks->rows[i].sums[side].waits.groups[group]);
				free(locks->rows[i].sums[side].holds.groups[group]);
			}
	free(locks->rows);
	free(locks->contests);
	free(locks->holds);
	free(locks->waits);
	free(locks->orders);
	free(locks->threads);
	free(locks->parties);
	free(locks->births);
	hp_lock_paths_release(&locks->paths);
}

struct hp_lock_place hp_lock_place_of(struct hp_model *model, uint64_t module, uint64_t address)
{
	struct build b = { .model = model };
	struct hp_lock_place place = place_of(&b, module, address);

	hp_map_release(&b.objects);
	return place;
}

void hp_lock_spread_add(struct hp_model *model, struct hp_model_histogram *histogram,
			uint32_t place)
{
	struct build b = { .model = model };

	add_spread(&b, histogram, place);
}

/* --- questions --- */

/* The middle of the bucket that holds the value of this rank (from 1). */
static double value_at(const struct hp_model_histogram *histogram, uint64_t rank)
{
	for (unsigned group = 0; group < HP_GROUPS; group++)
		for (unsigned i = 0; histogram->groups[group] && i < HP_GROUP_SIZE; i++) {
			uint64_t count = histogram->groups[group][i];

			if (count >= rank)
				return (double)hp_bucket_value(group, i);
			rank -= count;
		}
	return -1;
}

static uint64_t rank_of(uint64_t total, double percent)
{
	uint64_t rank = (uint64_t)ceil(percent / 100 * (double)total - 1e-6);

	return rank < 1 ? 1 : rank > total ? total : rank;
}

double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent)
{
	uint64_t rank, at_once;
	double ticks;

	if (!sum->count)
		return -1;
	rank = rank_of(sum->count, percent);
	at_once = sum->count > sum->waits.total ? sum->count - sum->waits.total : 0;
	if (rank <= at_once)
		return 0;
	if (percent >= 100)
		return (double)sum->wait_most;
	ticks = value_at(&sum->waits, rank - at_once);
	return ticks < (double)sum->wait_most ? ticks : (double)sum->wait_most;
}

double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent)
{
	double ticks;

	if (!sum->holds.total)
		return -1;
	if (percent >= 100)
		return (double)sum->hold_most;
	ticks = value_at(&sum->holds, rank_of(sum->holds.total, percent));
	return ticks < (double)sum->hold_most ? ticks : (double)sum->hold_most;
}
