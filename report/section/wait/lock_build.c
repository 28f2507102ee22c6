/* SPDX-License-Identifier: MIT */
/*
 * lock_build.c - see lock_build.h: places, rows, and the threads' use of them.
 */
#include "report/section/wait/lock_build.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "segment/layout/process.h"
#include "util/hash.h"

/* --- places --- */

static uint32_t object_place(void *context, uint64_t offset)
{
	struct hp_lock_build *b = context;
	uint32_t *found;
	bool is_new;

	found = hp_map_at(&b->objects, offset, &is_new);
	if (is_new)
		*found = hp_lock_object_find(b->model, offset);
	return *found;
}

uint32_t hp_lock_build_path(struct hp_lock_build *b, uint32_t step)
{
	return hp_lock_path_read(&b->locks->paths, b->model, step, object_place, b);
}

struct hp_lock_place hp_lock_build_place(struct hp_lock_build *b, uint64_t module, uint64_t address)
{
	struct hp_lock_place place = { .object = HP_NONE, .address = address };
	struct hp_module record;

	if (!module || !hp_reader_copy(&b->model->reader, module, &record, sizeof(record)) ||
	    !record.object)
		return place;
	place.object = object_place(b, record.object);
	return place;
}

/*
 * A list is read once, not for each address: thousands of threads would use up the steps after
 * which the reader considers a segment damaged.
 */
static void read_modules(struct hp_lock_build *b, uint64_t at)
{
	struct hp_module record;

	b->modules_at = at;
	b->module_count = 0;
	for (; hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		if (record.to)
			continue;
		b->modules =
			hp_xgrow(b->modules, b->module_count, &b->module_room, sizeof(*b->modules));
		b->modules[b->module_count++] = (struct hp_lock_module){
			.offset = at,
			.begin = record.begin,
			.end = record.end,
			.bias = record.bias,
		};
	}
}

struct hp_lock_place hp_lock_build_plain(struct hp_lock_build *b, uint64_t modules,
					 uint64_t address)
{
	if (modules != b->modules_at)
		read_modules(b, modules);
	for (size_t i = 0; i < b->module_count; i++)
		if (address >= b->modules[i].begin && address < b->modules[i].end)
			return hp_lock_build_place(b, b->modules[i].offset,
						   address - b->modules[i].bias);
	return (struct hp_lock_place){ .object = HP_NONE, .address = address };
}

/* --- locks --- */

static bool is_same(const struct hp_lock_row *a, const struct hp_lock_row *b)
{
	if (a->number == HP_LOCK_LABEL && b->number == HP_LOCK_LABEL)
		return a->kind == b->kind && strcmp(a->label, b->label) == 0;
	return a->kind == b->kind && a->number == b->number && a->is_made == b->is_made &&
	       a->inside == b->inside && a->at.object == b->at.object &&
	       a->at.address == b->at.address && a->site.object == b->site.object &&
	       a->site.address == b->site.address;
}

static uint64_t row_hash(const struct hp_lock_row *row)
{
	uint64_t hash = hp_hash_add(hp_hash_add(row->at.address, row->at.object), row->kind);

	if (row->number == HP_LOCK_LABEL) {
		hash = hp_hash_text(hash, row->label);
		return hash | 1;
	}
	hash = hp_hash_add(hp_hash_add(hash, row->site.address), row->site.object);
	return hp_hash_add(hash, (uint64_t)row->inside << 32 | row->number) | 1;
}

uint32_t hp_lock_build_find(const struct hp_lock_build *b, const struct hp_lock_row *row)
{
	for (uint64_t hash = row_hash(row);; hash += 2) {
		const uint32_t *place = hp_map_find(&b->same, hash);

		if (!place)
			return HP_NONE;
		if (is_same(&b->locks->rows[*place - 1], row))
			return *place - 1;
	}
}

uint32_t hp_lock_build_row(struct hp_lock_build *b, const struct hp_lock_row *row)
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

/* --- uses --- */

#define USUAL_GAP_NS 4e6	/* between two scans, if the duration is unknown */

/* A rare sample counts as several, but was one. */
static uint64_t draws_of(const struct hp_use *use, const struct hp_spread *spread)
{
	const uint64_t too_many = HP_LOCK_RARE / HP_LOCK_SAMPLED - 1;
	uint64_t rare = (uint64_t)spread->rare_carry << 32 | spread->rare;

	if (rare > use->sampled / too_many)
		return 0;
	return use->sampled - rare * too_many;
}

/* The last gaps may have been longer than those that the thread knew when it sampled its last
 * hold. */
static void last_looks(const struct hp_segment *segment, struct hp_hold_sums *sums)
{
	const struct hp_looks *looks = hp_segment_looks(segment);
	uint64_t gap, most;

	if (segment->size < HP_PAGE)
		return;
	gap = atomic_load_explicit(&looks->gap, memory_order_relaxed);
	most = atomic_load_explicit(&looks->gap_most, memory_order_relaxed);
	if (sums->looks && gap > sums->looks_gaps / sums->looks)
		sums->looks_gaps = gap > UINT64_MAX / sums->looks ? UINT64_MAX : gap * sums->looks;
	sums->looks_most = hp_lock_larger(sums->looks_most, most);
}

static void add_holds(struct hp_lock_build *b, struct hp_lock_sum *sum, const struct hp_use *use)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_spread spread = { .sums = 0 };
	struct hp_hold_sums sums;
	bool has_sums;

	if (use->holds)
		hp_reader_copy(reader, (uint64_t)use->holds * HP_LINE, &spread, sizeof(spread));
	has_sums = spread.sums &&
		   hp_reader_copy(reader, (uint64_t)spread.sums * HP_LINE, &sums, sizeof(sums));
	if (has_sums)
		last_looks(&reader->segment, &sums);
	hp_lock_sum_add(sum, use, has_sums ? &sums : NULL, draws_of(use, &spread),
			USUAL_GAP_NS / b->model->ns_per_tick);
	if (use->holds)
		hp_lock_spread_add(b->model, &sum->holds, use->holds);
	else if (!use->sampled)
		hp_lock_few_add(&sum->holds, use->timed, use->timed_ticks, use->hold_most);
}

static void add_use(struct hp_lock_build *b, struct hp_lock_sum *sum, const struct hp_use *use)
{
	sum->count += use->count;
	sum->contended += use->contended;
	sum->failed += use->failed;
	sum->timeouts += use->timeouts;
	sum->wait_ticks += (double)use->wait_ticks;
	sum->wait_most = hp_lock_larger(sum->wait_most, use->wait_most);
	add_holds(b, sum, use);
	if (use->waits)
		hp_lock_spread_add(b->model, &sum->waits, use->waits);
	else
		hp_lock_few_add(&sum->waits, use->contended, use->wait_ticks, use->wait_most);
}

static void party_grow(struct hp_lock_party **list, size_t *count, size_t *room,
		       struct hp_lock_party party)
{
	*list = hp_xgrow(*list, *count, room, sizeof(**list));
	(*list)[(*count)++] = party;
}

static void add_party(struct hp_lock_build *b, const struct hp_waiter *waiter,
		      const struct hp_use *use, uint32_t lock)
{
	struct hp_locks *locks = b->locks;
	struct hp_lock_party party = { lock, waiter->pid, waiter->tid, use->count,
				       use->wait_ticks };

	if (locks->rows[lock].kind == HP_LOCK_BARRIER)
		party_grow(&locks->parties, &locks->party_count, &b->party_room, party);
	else if (use->side == HP_SIDE_POST && use->count)
		party_grow(&locks->posters, &locks->poster_count, &b->poster_room, party);
}

/*
 * A semaphore that one thread posts and another takes passes tokens; if one
 * thread does both, it may be a lock or a count of free slots.
 */
static void add_poster(struct hp_lock_build *b, const struct hp_use *use, struct hp_lock_row *row)
{
	if (row->kind != HP_LOCK_SEM || !use->count)
		return;
	*(use->side == HP_SIDE_POST ? &row->posting : &row->taking) = b->waiter;
	row->is_both |= row->posting == row->taking;
}

void hp_lock_read_uses(struct hp_lock_build *b, const struct hp_waiter *waiter)
{
	uint64_t at = waiter->uses;
	struct hp_use use;
	bool is_new;

	b->waiter++;
	for (; hp_reader_step(&b->model->reader, at, &use, sizeof(use)); at = use.next) {
		const uint32_t *place = hp_map_find(&b->rows, use.lock);

		if (!place || !*place || use.side >= HP_SIDES)
			continue;
		*hp_map_at(&b->uses, at, &is_new) = *place | use.side << 30;
		add_use(b, &b->locks->rows[*place - 1].sums[use.side], &use);
		add_party(b, waiter, &use, *place - 1);
		add_poster(b, &use, &b->locks->rows[*place - 1]);
	}
}
