/* SPDX-License-Identifier: MIT */
/*
 * flight.c - see future.h: flights, and the logs of their calls.
 */
#include <string.h>

#include "preload/call/block.h"
#include "preload/future/future.h"
#include "segment/seq.h"

static void *record_at(uint64_t line)
{
	return (char *)hp_segment.header + line * HP_LINE;
}

static uint32_t line_of(const void *record)
{
	return (uint32_t)(hp_segment_offset(&hp_segment, record) / HP_LINE);
}

/* --- flights --- */

/* The upper half changes with each change, so that an old head cannot pass for the current one. */
static uint64_t head_of(uint64_t before, uint32_t line)
{
	return ((before >> 32) + 1) << 32 | line;
}

static struct hp_flight *flight_free(struct hp_future *future)
{
	uint64_t head = atomic_load_explicit(&future->free, memory_order_acquire);

	while (head & UINT32_MAX) {
		struct hp_flight *flight = record_at(head & UINT32_MAX);
		uint32_t next = __atomic_load_n(&flight->next_free, __ATOMIC_RELAXED);

		if (atomic_compare_exchange_weak_explicit(&future->free, &head, head_of(head, next),
							  memory_order_acq_rel,
							  memory_order_acquire))
			return flight;
	}
	return NULL;
}

void hp_flight_give(struct hp_future *future, struct hp_flight *flight)
{
	uint64_t head = atomic_load_explicit(&future->free, memory_order_relaxed);
	uint32_t line = line_of(flight);

	do
		__atomic_store_n(&flight->next_free, (uint32_t)head, __ATOMIC_RELAXED);
	while (!atomic_compare_exchange_weak_explicit(&future->free, &head, head_of(head, line),
						      memory_order_acq_rel, memory_order_relaxed));
}

static HP_COLD struct hp_flight *flight_new(struct hp_future *future)
{
	struct hp_flight *flight = NULL;
	uint64_t offset;

	if (atomic_fetch_add_explicit(&future->flight_count, 1, memory_order_relaxed) <
	    HP_FLIGHTS_MAX) {
		offset = hp_segment_take(&hp_segment, sizeof(*flight), HP_LINE);
		flight = hp_segment_at(&hp_segment, offset, sizeof(*flight));
		if (flight)
			hp_list_push(&future->flights, offset, &flight->next);
	}
	if (!flight) {
		atomic_fetch_sub_explicit(&future->flight_count, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
	}
	return flight;
}

struct hp_flight *hp_flight_take(struct hp_future *future)
{
	struct hp_flight *flight = flight_free(future);

	return HP_LIKELY(flight != NULL) ? flight : flight_new(future);
}

struct hp_flight *hp_flight_begin(struct hp_future *future)
{
	uint64_t number = 1 + atomic_fetch_add_explicit(&future->calls, 1, memory_order_relaxed);
	struct hp_flight *flight = hp_flight_take(future);

	if (!flight)
		return NULL;
	flight->begun = 0;
	flight->polls_before = flight->polls;
	flight->timed_before = flight->timed;
	flight->ticks_before = flight->poll_ticks;
	flight->bytes_before = flight->alloc_bytes;
	flight->blocks_before = flight->alloc_blocks;
	flight->poll_most = flight->poll_last = 0;
	flight->alloc_most = flight->alloc_last = 0;
	flight->text_size = 0;
	flight->queued_now = 0;
	hp_flight_start_asked(flight, number, hp_ticks());
	return flight;
}

void hp_flight_first(struct hp_flight *flight, uint64_t now)
{
	if (!now || !flight->created)
		return;
	flight->queued_now = hp_clock_between(flight->created, now);
	flight->queued++;
	flight->queued_ticks += flight->queued_now;
}

void hp_flight_charge(struct hp_flight *flight, const struct hp_allocated *now)
{
	bool had_heap = flight->begun_blocks != HP_NO_HEAP;
	uint64_t from_blocks = had_heap ? flight->begun_blocks : 0;
	uint64_t from_bytes = had_heap ? flight->begun_bytes : hp_heap()->heap->first_bytes;
	uint64_t bytes = now->bytes - from_bytes, blocks = now->blocks - from_blocks;

	/* A later thread at the same address started over. */
	if (now->blocks == HP_NO_HEAP || now->bytes < from_bytes || now->blocks < from_blocks)
		return;
	flight->alloc_bytes += bytes;
	flight->alloc_blocks += blocks;
	flight->alloc_last = bytes;
	if (bytes > flight->alloc_most)
		flight->alloc_most = bytes;
}

void hp_flight_continue(struct hp_flight *flight)
{
	struct hp_allocated allocated = hp_flight_allocated();

	if (flight->timed > flight->timed_before)
		flight->timed--;
	flight->begun_thread = allocated.thread;
	flight->begun_bytes = allocated.bytes;
	flight->begun_blocks = allocated.blocks;
	flight->begun = hp_ticks();
	atomic_store_explicit(&flight->state, HP_FUTURE_RUNNING, memory_order_relaxed);
}

void hp_flight_result(struct hp_flight *flight, const char *text)
{
	struct hp_future_text *room;

	if (!flight->text)
		flight->text =
			(uint32_t)(hp_segment_take(&hp_segment, sizeof(*room), HP_LINE) / HP_LINE);
	room = hp_segment_at(&hp_segment, (uint64_t)flight->text * HP_LINE, sizeof(*room));
	if (!flight->text || !room || !text)
		return;
	flight->text_size = 1 + (uint32_t)hp_block_text(text, HP_FUTURE_TEXT);
	memcpy(room->bytes, text, flight->text_size - 1);
}

/* --- logs --- */

struct hp_future_log *hp_future_log_of(struct hp_future *future)
{
	uint32_t log = __atomic_load_n(&future->log, __ATOMIC_ACQUIRE), none = 0;
	uint64_t offset;

	if (HP_LIKELY(log))
		return record_at(log);
	offset = hp_segment_take(&hp_segment, sizeof(struct hp_future_log), HP_LINE);
	if (!hp_segment_at(&hp_segment, offset, sizeof(struct hp_future_log)))
		return NULL;
	__atomic_compare_exchange_n(&future->log, &none, (uint32_t)(offset / HP_LINE), 0,
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return record_at(future->log);
}

static void text_write(struct hp_future_entry *entry, const struct hp_flight *flight,
		       const char *text)
{
	uint32_t size = UINT32_MAX;

	if (text) {
		size = (uint32_t)hp_block_text(text, HP_FUTURE_TEXT);
	} else if (flight->text_size) {
		size = flight->text_size - 1;
		text = ((const struct hp_future_text *)record_at(flight->text))->bytes;
	}
	if (text && size)
		hp_seq_put(entry->text, text, size);
	hp_seq_set(&entry->text_size, size);
}

/* NULL = none. A thread stopped in this entry has been overtaken by all others: it is skipped. */
static HP_HOT struct hp_future_entry *entry_claim(struct hp_future_log *log)
{
	struct hp_future_entry *entry;
	uint64_t place;

	if (HP_UNLIKELY(!log))
		return NULL;
	place = atomic_fetch_add_explicit(&log->logged, 1, memory_order_relaxed);
	entry = &log->entries[place % HP_FUTURE_ENTRIES];
	return hp_seq_claim(&entry->number) ? entry : NULL;
}

static void log_write(struct hp_future *future, const struct hp_flight *flight, uint64_t now,
		      enum hp_future_state how, const char *text)
{
	struct hp_future_entry *entry = entry_claim(hp_future_log_of(future));

	if (!entry)
		return;
	hp_seq_set(&entry->created, flight->created);
	hp_seq_set(&entry->ended, now);
	hp_seq_set(&entry->state, (uint32_t)how);
	text_write(entry, flight, text);
	hp_seq_set(&entry->polls, flight->polls - flight->polls_before);
	hp_seq_set(&entry->timed, flight->timed - flight->timed_before);
	hp_seq_set(&entry->poll_ticks, flight->poll_ticks - flight->ticks_before);
	hp_seq_set(&entry->poll_most, flight->poll_most);
	hp_seq_set(&entry->poll_last, flight->poll_last);
	hp_seq_set(&entry->alloc_bytes, flight->alloc_bytes - flight->bytes_before);
	hp_seq_set(&entry->alloc_blocks, flight->alloc_blocks - flight->blocks_before);
	hp_seq_set(&entry->alloc_most, flight->alloc_most);
	hp_seq_set(&entry->alloc_last, flight->alloc_last);
	hp_seq_set(&entry->queued, flight->queued_now);
	hp_seq_end(&entry->number, flight->number);
}

/* The rest of the entry is zero. */
static HP_HOT void log_write_asked(struct hp_future_log *log, const struct hp_flight *flight,
				   uint64_t now, enum hp_future_state how, uint64_t asked)
{
	struct hp_future_entry *entry = entry_claim(log);

	if (HP_UNLIKELY(!entry))
		return;
	hp_seq_set(&entry->created, flight->created);
	hp_seq_set(&entry->ended, now);
	hp_seq_set_pair(&entry->state, (uint32_t)how, UINT32_MAX);
	hp_seq_set(&entry->polls, asked);
	hp_seq_end(&entry->number, flight->number);
}

/* Rare: most calls raise nothing. */
static void most_raise(_Atomic uint64_t *most, uint64_t ticks)
{
	uint64_t was = atomic_load_explicit(most, memory_order_relaxed);

	while (ticks > was)
		if (atomic_compare_exchange_weak_explicit(most, &was, ticks, memory_order_relaxed,
							  memory_order_relaxed))
			return;
}

static HP_HOT void total_add(struct hp_flight *flight, uint64_t now, enum hp_future_state how)
{
	flight->ended++;
	flight->cancelled += how == HP_FUTURE_CANCELLED;
	if (now && flight->created) {
		uint64_t ticks = hp_clock_between(flight->created, now);

		flight->totals++;
		flight->total_ticks += ticks;
		if (ticks > flight->total_most)
			flight->total_most = ticks;
	}
}

static HP_HOT void over(struct hp_flight *flight)
{
	__atomic_store_n(&flight->number, 0, __ATOMIC_RELAXED);
	atomic_store_explicit(&flight->state, HP_FUTURE_NONE, memory_order_release);
}

void hp_flight_end(struct hp_future *future, struct hp_flight *flight, enum hp_future_state how,
		   const char *text)
{
	uint64_t now;

	hp_flight_pause(flight);
	now = hp_ticks();
	total_add(flight, now, how);
	most_raise(&future->poll_most, flight->poll_most);
	log_write(future, flight, now, how, text);
	over(flight);
	hp_flight_give(future, flight);
}

void hp_flight_finish_asked(struct hp_future_log *log, struct hp_flight *flight, uint64_t now,
			    enum hp_future_state how)
{
	uint64_t asked = 0;

	if (HP_UNLIKELY(atomic_load_explicit(&flight->state, memory_order_relaxed) ==
			HP_FUTURE_SUSPENDED)) {
		asked = flight->polls - flight->polls_before;
		flight->polls_before = flight->polls;
	}
	total_add(flight, now, how);
	log_write_asked(log, flight, now, how, asked);
	over(flight);
}

void hp_flight_undo(struct hp_future *future, struct hp_flight *flight)
{
	atomic_fetch_sub_explicit(&future->calls, 1, memory_order_relaxed);
	flight->number = 0;
	atomic_store_explicit(&flight->state, HP_FUTURE_NONE, memory_order_release);
	hp_flight_give(future, flight);
}

/* Nobody else uses them: also those that a thread held when it ended are free again. */
void hp_flights_leave(struct hp_future *future)
{
	uint64_t offset = atomic_load_explicit(&future->flights, memory_order_acquire);

	atomic_store_explicit(&future->free, 0, memory_order_relaxed);
	for (uint32_t i = 0; offset && i < HP_FLIGHTS_MAX; i++) {
		struct hp_flight *flight = record_at(offset / HP_LINE);

		if (atomic_exchange_explicit(&flight->state, HP_FUTURE_NONE,
					     memory_order_relaxed) != HP_FUTURE_NONE)
			flight->left++;
		flight->number = 0;
		hp_flight_give(future, flight);
		offset = flight->next;
	}
}
