/* SPDX-License-Identifier: MIT */
/*
 * lock_cycle.c - see lock_cycle.h.
 *
 * Locks are the nodes of a graph, orders its edges.  From each edge the shortest
 * way back is searched, breadth first. A circle begins with its first lock in
 * the list, so that it is shown once.
 */
#include "report/section/wait/lock_cycle.h"

#include <stdlib.h>

#include "report/base/memory.h"

#define EDGES_MAX 20000	/* with more, circles would take long to find */

struct search {
	const struct hp_locks *locks;
	const struct hp_lock_order **by;	/* of each lock: the edge by which it was reached */
	uint32_t *queue;
	uint32_t *seen;	/* of each lock: the search that saw it last */
	uint32_t *depth;
	uint32_t number;	/* of this search, from 1 */
};

/* The first order in which `held` was held. */
static size_t first_of(const struct hp_locks *locks, uint32_t held)
{
	size_t low = 0, high = locks->order_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (locks->orders[middle].held < held)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rows for many locks do not identify the lock. */
static bool is_edge(const struct hp_locks *locks, size_t i)
{
	const struct hp_lock_order *order = &locks->orders[i];

	return order->held != order->taken && hp_lock_is_one(&locks->rows[order->held]) &&
	       hp_lock_is_one(&locks->rows[order->taken]);
}

static void reach(struct search *s, const struct hp_lock_order *edge, uint32_t depth,
		  size_t *queued)
{
	s->seen[edge->taken] = s->number;
	s->by[edge->taken] = edge;
	s->depth[edge->taken] = depth;
	s->queue[(*queued)++] = edge->taken;
}

/*
 * The shortest way from the edge back to its start, over later locks in the list;
 * false = none.
 */
static bool find(struct search *s, const struct hp_lock_order *first)
{
	size_t queued = 0;

	s->number++;
	reach(s, first, 1, &queued);
	for (size_t done = 0; done < queued; done++) {
		uint32_t held = s->queue[done];

		for (size_t i = first_of(s->locks, held);
		     i < s->locks->order_count && s->locks->orders[i].held == held; i++) {
			const struct hp_lock_order *edge = &s->locks->orders[i];

			if (!is_edge(s->locks, i) || hp_locks_contrary(s->locks, i))
				continue;
			if (edge->taken == first->held) {
				s->by[first->held] = edge;
				return true;
			}
			if (edge->taken > first->held && s->seen[edge->taken] != s->number &&
			    s->depth[held] + 1 < HP_CYCLE_MAX)
				reach(s, edge, s->depth[held] + 1, &queued);
		}
	}
	return false;
}

/* Back from the end. */
static void cycle_fill(const struct search *s, const struct hp_lock_order *first,
		       struct hp_lock_cycle *cycle)
{
	const struct hp_lock_order *edge = s->by[first->held];
	size_t count = s->depth[edge->held] + 1;

	cycle->count = count;
	while (count > 1) {
		cycle->edges[--count] = edge;
		edge = s->by[edge->held];
	}
	cycle->edges[0] = first;
}

struct hp_lock_cycle *hp_lock_cycles(const struct hp_locks *locks, size_t *count)
{
	struct search s = { .locks = locks };
	struct hp_lock_cycle *cycles = NULL;
	size_t room = 0;

	s.by = hp_xcalloc(locks->count, sizeof(*s.by));
	s.queue = hp_xcalloc(locks->count, sizeof(*s.queue));
	s.seen = hp_xcalloc(locks->count, sizeof(*s.seen));
	s.depth = hp_xcalloc(locks->count, sizeof(*s.depth));
	*count = 0;
	for (size_t i = 0; i < locks->order_count; i++) {
		const struct hp_lock_order *edge = &locks->orders[i];
		const struct hp_lock_order *contrary = hp_locks_contrary(locks, i);
		struct hp_lock_cycle cycle = { { edge, contrary }, 2 };

		if (!is_edge(locks, i) || edge->held > edge->taken)
			continue;
		if (!contrary && (locks->order_count > EDGES_MAX || !find(&s, edge)))
			continue;
		if (!contrary)
			cycle_fill(&s, edge, &cycle);
		cycles = hp_xgrow(cycles, *count, &room, sizeof(*cycles));
		cycles[(*count)++] = cycle;
	}
	free(s.by);
	free(s.queue);
	free(s.seen);
	free(s.depth);
	return cycles;
}
