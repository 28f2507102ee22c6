/* SPDX-License-Identifier: MIT */
/*
 * lock_view.c - see lock_view.h.
 */
#include "report/section/wait/lock_view.h"

#include <stdlib.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "util/hash.h"

/* --- sums --- */

static bool is_place(const struct hp_lock_place *a, const struct hp_lock_place *b)
{
	return a->object == b->object && a->address == b->address;
}

static bool is_same(const struct hp_lock_contest *a, const struct hp_lock_contest *b)
{
	return a->lock == b->lock && a->side == b->side && a->function == b->function &&
	       a->path == b->path && is_place(&a->at, &b->at) && is_place(&a->holder, &b->holder);
}

static uint64_t hash_of(const struct hp_lock_contest *c)
{
	uint64_t hash = (uint64_t)c->lock << 34 ^ (uint64_t)c->side << 32 ^ c->function;

	hash = hp_hash_add(hash, c->at.address);
	return hp_hash_add(hash, c->holder.address ^ (uint64_t)c->path << 44) | 1;
}

static void wait_add(struct hp_lock_waiting *to, const struct hp_lock_contest *contest)
{
	to->sum.count += contest->count;
	to->sum.ticks += contest->ticks;
	if (contest->from != HP_NONE && contest->from_ticks > to->sum.from_ticks) {
		to->sum.from = contest->from;
		to->sum.from_tid = contest->from_tid;
		to->sum.from_ticks = contest->from_ticks;
	}
	if (contest->most > to->sum.most) {
		to->sum.most = contest->most;
		to->sum.holder_tid = contest->holder_tid;
	}
}

/* Waits at one place for one lock become one row. */
static void sum_waits(struct hp_lock_view *view)
{
	struct hp_map map = HP_MAP_NONE;
	double all = 0;
	bool is_new;

	view->waits = hp_xcalloc(view->locks.contest_count, sizeof(*view->waits));
	for (size_t i = 0; i < view->locks.contest_count; i++) {
		const struct hp_lock_contest *contest = &view->locks.contests[i];
		uint64_t hash = hash_of(contest);
		uint32_t *place = hp_map_at(&map, hash, &is_new);

		while (!is_new && !is_same(&view->waits[*place].sum, contest))
			place = hp_map_at(&map, hash += 2, &is_new);
		if (is_new) {
			*place = (uint32_t)view->wait_count;
			view->waits[view->wait_count++].sum = *contest;
		} else {
			wait_add(&view->waits[*place], contest);
		}
		all += (double)contest->ticks;
	}
	for (size_t i = 0; i < view->wait_count && all > 0; i++)
		view->waits[i].share = 100 * (double)view->waits[i].sum.ticks / all;
	hp_map_release(&map);
}

/* --- the view --- */

static void view_free(void *held)
{
	struct hp_lock_view *view = held;

	for (size_t i = 0; i < view->locks.count; i++)
		free(view->names[i]);
	free(view->names);
	free(view->lines);
	free(view->cycles);
	free(view->waits);
	hp_locks_release(&view->locks);
	free(view);
}

struct hp_lock_view *hp_lock_view(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_lock_view *view = hp_views_get(&report->views, &kind);

	if (view)
		return view;
	view = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*view)));
	hp_locks_init(&view->locks, &report->model);
	view->names = hp_xcalloc(view->locks.count, sizeof(*view->names));
	view->lines = hp_xcalloc(view->locks.count * HP_SIDES, sizeof(*view->lines));
	for (uint32_t i = 0; i < view->locks.count; i++)
		for (uint32_t side = 0; side < HP_SIDES; side++) {
			const struct hp_lock_row *lock = &view->locks.rows[i];
			const struct hp_lock_sum *sum = &lock->sums[side];

			if (sum->count || sum->failed || sum->timeouts)
				view->lines[view->line_count++] =
					(struct hp_lock_line){ lock, sum, side, i + 1 };
		}
	sum_waits(view);
	view->cycles = hp_lock_cycles(&view->locks, &view->cycle_count);
	return view;
}

const struct hp_locks *hp_lock_view_locks(const struct hp_lock_view *view)
{
	return &view->locks;
}

const struct hp_lock_cycle *hp_lock_view_cycles(const struct hp_lock_view *view, size_t *count)
{
	*count = view->cycle_count;
	return view->cycles;
}
