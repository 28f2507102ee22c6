/* SPDX-License-Identifier: MIT */
/*
 * request.h - requests in flight of one ring, by their number (user_data).
 *
 * One thread at a time uses a table, so it needs no atomic instructions, and numbers are compared
 * themselves.  The program need not choose distinct ones: requests with one number, begun at one
 * place, wait in a queue.  Which of them ended is unknown, so the first one does.
 *
 * Memory is only mapped, never allocated; signal handlers may call this, too.
 */
#ifndef HP_PRELOAD_FUTURE_REQUEST_H
#define HP_PRELOAD_FUTURE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/future/future.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "util/hash.h"

/* Open addressing, at most half full. */
struct hp_request {
	uint64_t number;
	uint32_t first;	/* offset / HP_LINE of a hp_flight, as `last`; 0 = unused */
	uint32_t last;	/* from `first` to it by `next_free` */
	uint32_t future;	/* offset / HP_LINE of the place */
	uint32_t reserved;
};

struct hp_requests {
	struct hp_request *table;	/* NULL = none yet */
	uint32_t bits;	/* log2 of its size */
	uint32_t used;
	uint32_t most;	/* of `used`: half of the size */
};

static inline void *hp_request_record(uint32_t line)
{
	return (char *)hp_segment.header + (uint64_t)line * HP_LINE;
}

static inline uint32_t hp_request_line(const void *record)
{
	return (uint32_t)(hp_segment_offset(&hp_segment, record) / HP_LINE);
}

static inline struct hp_future *hp_request_future(const struct hp_request *request)
{
	return hp_request_record(request->future);
}

static inline struct hp_flight *hp_request_flight(const struct hp_request *request)
{
	return hp_request_record(request->first);
}

/* Its own place, or the unused one where it belongs.  `future` 0 = any. */
static HP_HOT struct hp_request *hp_requests_place(const struct hp_requests *requests,
						   uint64_t number, uint32_t future)
{
	const uint32_t mask = (UINT32_C(1) << requests->bits) - 1;
	uint32_t i = (uint32_t)(number * HP_HASH_GOLDEN >> (64 - requests->bits));

	while (requests->table[i].first && (requests->table[i].number != number ||
					    (future && requests->table[i].future != future)))
		i = (i + 1) & mask;
	return &requests->table[i];
}

bool hp_requests_grow(struct hp_requests *requests);

/* False = no room. */
static HP_HOT bool hp_requests_add(struct hp_requests *requests, uint64_t number,
				   const struct hp_future *future, struct hp_flight *flight)
{
	uint32_t line = hp_request_line(flight);
	struct hp_request *request;

	if (HP_UNLIKELY(requests->used >= requests->most) && !hp_requests_grow(requests))
		return false;
	request = hp_requests_place(requests, number, hp_request_line(future));
	if (HP_LIKELY(!request->first)) {
		requests->used++;
		request->number = number;
		request->future = hp_request_line(future);
		request->first = line;
	} else {
		((struct hp_flight *)hp_request_record(request->last))->next_free = line;
	}
	request->last = line;
	return true;
}

/* The first one with this number; NULL = none. */
static HP_HOT struct hp_request *hp_requests_find(const struct hp_requests *requests,
						  uint64_t number)
{
	struct hp_request *request =
		HP_LIKELY(requests->used) ? hp_requests_place(requests, number, 0) : NULL;

	return request && request->first ? request : NULL;
}

/* The place is unused. Later ones that are not at home move up, so that searches end there. */
static HP_HOT void hp_requests_free(struct hp_requests *requests, uint32_t hole)
{
	const uint32_t mask = (UINT32_C(1) << requests->bits) - 1;
	struct hp_request *table = requests->table;

	for (uint32_t i = (hole + 1) & mask; HP_UNLIKELY(table[i].first); i = (i + 1) & mask) {
		uint32_t home =
			(uint32_t)(table[i].number * HP_HASH_GOLDEN >> (64 - requests->bits));

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		table[hole] = table[i];
		hole = i;
	}
	table[hole].first = 0;
	requests->used--;
}

/* Removes the first flight of a request that was just found. */
static HP_HOT void hp_requests_take(struct hp_requests *requests, struct hp_request *request)
{
	if (HP_LIKELY(request->first == request->last))
		hp_requests_free(requests, (uint32_t)(request - requests->table));
	else
		request->first = hp_request_flight(request)->next_free;
}

/* Forgets all. */
void hp_requests_clear(struct hp_requests *requests);

#endif
