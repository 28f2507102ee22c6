/* SPDX-License-Identifier: MIT */
/*
 * lock_fold.c - locks of one place that cannot all be distinguished become one row.
 */
#include <stdlib.h>

#include "report/section/wait/lock_build.h"
#include "report/base/memory.h"

static void rest_move(struct hp_lock_rest *to, const struct hp_lock_rest *from)
{
	to->count += from->count;
	to->known += from->known;
	to->shorts += from->shorts;
	to->variance += from->variance;
	to->skew += from->skew;
	to->hits += from->hits;
	to->gaps += from->gaps;
	to->more += from->more;
	to->tail += from->tail;
	to->blind += from->blind;
	to->gap = from->gap > to->gap ? from->gap : to->gap;
	to->gap_most = from->gap_most > to->gap_most ? from->gap_most : to->gap_most;
	to->most = from->most > to->most ? from->most : to->most;
	to->open += from->open;
	to->open_most = from->open_most > to->open_most ? from->open_most : to->open_most;
	to->open_untimed += from->open_untimed;
	to->is_unknown |= from->is_unknown;
}

static void sum_move(struct hp_lock_sum *to, struct hp_lock_sum *from)
{
	to->count += from->count;
	to->contended += from->contended;
	to->failed += from->failed;
	to->timeouts += from->timeouts;
	to->timed += from->timed;
	to->sampled += from->sampled;
	to->wait_ticks += from->wait_ticks;
	to->wait_most = hp_lock_larger(to->wait_most, from->wait_most);
	to->hold_ticks += from->hold_ticks;
	to->hold_most = hp_lock_larger(to->hold_most, from->hold_most);
	to->is_estimated |= from->is_estimated;
	if (from->rest && to->rest) {
		rest_move(to->rest, from->rest);
		free(from->rest);
	} else if (from->rest) {
		to->rest = from->rest;
	}
	from->rest = NULL;
	hp_histogram_move(&to->waits, &from->waits);
	hp_histogram_move(&to->holds, &from->holds);
	from->count = from->failed = from->timeouts = 0;
}

/*
 * If a site has too many locks to distinguish all, none is: otherwise the first
 * ones of each process would be separate by chance.
 */
static void fold_sites(struct hp_lock_build *b)
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
		to[i] = hp_lock_build_find(b, &wanted);
		if (to[i] == HP_NONE) {
			to[i] = i;
			continue;
		}
		more = &locks->rows[to[i]];
		more->objects += locks->rows[i].objects;
		more->is_both |= locks->rows[i].is_both;
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
	for (size_t i = 0; i < locks->poster_count; i++)
		locks->posters[i].lock = to[locks->posters[i].lock];
	for (size_t i = 0; i < locks->hold_count; i++)
		locks->holds[i].lock = to[locks->holds[i].lock];
	for (size_t i = 0; i < locks->span_count; i++)
		locks->spans[i].lock = to[locks->spans[i].lock];
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

/* If several threads recorded a pair, one is kept. */
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

/* Locks that share a row allow no conclusion: they may be different ones each time. */
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

/* --- intervals --- */

#define CLOCK_ERROR_NS 3	/* cost of a timed hold beyond the hold itself */
#define CLOCK_ERROR_EXACT_NS 5

/* Only one thread can hold it at a time. */
static bool is_exclusive(const struct hp_lock_row *row, int side)
{
	return hp_lock_is_one(row) && row->objects <= 1 &&
	       (side == HP_SIDE_WRITE ||
		(row->kind != HP_LOCK_RWLOCK && row->kind != HP_LOCK_GRWLOCK));
}

static void finish(struct hp_lock_build *b)
{
	const struct hp_model *model = b->model;
	bool is_exact = model->reader.segment.header->timing == HP_TIMING_EXACT;
	double error = is_exact ? CLOCK_ERROR_EXACT_NS : CLOCK_ERROR_NS;

	for (size_t i = 0; i < b->locks->count; i++)
		for (int side = 0; side < HP_SIDES; side++) {
			struct hp_lock_row *row = &b->locks->rows[i];
			double most = is_exclusive(row, side) ? (double)model->elapsed_ns : 0;

			hp_lock_sum_finish(&row->sums[side], error / model->ns_per_tick,
					   most / model->ns_per_tick);
		}
}

void hp_lock_fold(struct hp_lock_build *b)
{
	fold_sites(b);
	finish(b);
	sort_orders(b->locks);
}
