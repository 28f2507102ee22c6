/* SPDX-License-Identifier: MIT */
/*
 * future.c - see future.h: places, flights, logs.
 *
 * Places are in a list of the process. A thread searches for a place, and if it is missing, pushes
 * it onto exactly the list that it searched: so none exists twice.
 */
#include "preload/future/future.h"

#include <errno.h>
#include <string.h>

#include "preload/call/block.h"
#include "preload/channel/channel.h"
#include "preload/guest/pages.h"
#include "preload/lock/lock.h"
#include "preload/thread/process.h"
#include "segment/section_key.h"
#include "segment/seq.h"
#include "util/hash.h"

#define LABEL_MAX 1000	/* bytes */
#define FILE_MAX 4000
#define RECORDS_MAX 100000	/* a damaged list must not cause a hang */
#define CACHE_BITS 8
#define CACHE_PROBES 4	/* places of one address: of a line */

static bool is_wanted;
bool hp_future_is_off;
bool hp_uring_is_without;
bool hp_aio_is_without;
bool hp_uv_is_without;
bool hp_future_exchanges;

/* Address in the code -> its place; in a page that a forked child finds empty. Keys do not move. */
struct known {
	_Atomic uint64_t key;	/* address ^ kind << 56; 0 = unused */
	struct hp_future
		*_Atomic future;	/* stored after the key; NULL = not known yet, or no longer */
};

static struct known *_Atomic cache;

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

static uint32_t line_of(const void *record)
{
	return (uint32_t)(hp_segment_offset(&hp_segment, record) / HP_LINE);
}

static void *record_at(uint64_t line)
{
	return at(line * HP_LINE);
}

bool hp_future_is_on(void)
{
	return hp_channel_thread_has_process() && is_wanted;
}

bool hp_future_is_wanted(void)
{
	return !hp_future_is_off && (is_wanted || hp_future_is_on());
}

static struct hp_account *account_of_process(void)
{
	const struct hp_process *process = hp_self->process;

	return process && process->account ? record_at(process->account) : NULL;
}

/* --- places --- */

/* Identifies a place. */
struct wanted {
	enum hp_future_kind kind;
	const struct hotpath_value *place;	/* NULL = a place in the code */
	size_t length;	/* of its label */
	uint64_t module;
	uint64_t address;
};

static bool is_text(uint64_t offset, const char *text, size_t length)
{
	const struct hp_text *there = offset ? at(offset) : NULL;

	return there ? there->length == length && memcmp(there->bytes, text, length) == 0 : !length;
}

/* A label identifies it; without one, file and line. */
static bool is_same(const struct hp_future *future, const struct wanted *wanted)
{
	const struct hotpath_value *place = wanted->place;

	if (future->kind != (uint32_t)wanted->kind)
		return false;
	if (!place)
		return future->site_module == wanted->module &&
		       future->site_address == wanted->address;
	if (!is_text(future->label, place->name, wanted->length))
		return false;
	return wanted->length || (future->line == place->line &&
				  (!place->file || is_text(future->file, place->file,
							   hp_block_text(place->file, FILE_MAX))));
}

static struct hp_future *among(uint64_t offset, uint64_t end, const struct wanted *wanted)
{
	while (offset != end) {
		struct hp_future *future = at(offset);

		if (is_same(future, wanted))
			return future;
		offset = future->next;
	}
	return NULL;
}

static struct hp_future *future_new(const struct wanted *wanted)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_future), HP_LINE);
	struct hp_future *future = hp_segment_at(&hp_segment, offset, sizeof(*future));
	const struct hotpath_value *place = wanted->place;

	if (!future)
		return NULL;
	future->kind = (uint32_t)wanted->kind;
	future->pid = hp_self->pid;
	future->site_module = wanted->module;
	future->site_address = wanted->address;
	if (!place)
		return future;
	future->line = place->line;
	if (wanted->length)
		future->label = hp_text_new(place->name, wanted->length);
	if (place->file)
		future->file = hp_text_new(place->file, hp_block_text(place->file, FILE_MAX));
	return (!wanted->length || future->label) && (!place->file || future->file) ? future : NULL;
}

static struct hp_future *future_get(const struct wanted *wanted)
{
	struct hp_account *account = account_of_process();
	struct hp_future *future, *fresh;
	uint64_t head;

	if (!account)
		return NULL;
	head = atomic_load_explicit(&account->futures, memory_order_acquire);
	future = among(head, 0, wanted);
	fresh = future ? NULL : future_new(wanted);
	while (fresh && !future) {
		fresh->next = head;
		/* Release: a reader that finds it finds it complete. */
		if (atomic_compare_exchange_strong_explicit(
			    &account->futures, &head, hp_segment_offset(&hp_segment, fresh),
			    memory_order_acq_rel, memory_order_acquire))
			return fresh;
		future = among(head, fresh->next, wanted);
	}
	if (!future)
		atomic_fetch_add_explicit(&account->lost_futures, 1, memory_order_relaxed);
	return future;
}

static HP_COLD struct hp_future *place_meet(struct hotpath_value *place)
{
	struct wanted wanted = { .kind = HP_FUTURE_CUSTOM, .place = place };
	struct hp_future *future = NULL;
	int saved;

	if (hp_is_early() || place->size < sizeof(*place) || !place->name)
		return NULL;
	saved = errno;
	wanted.length = hp_block_text(place->name, LABEL_MAX);
	if (hp_future_is_on())
		future = future_get(&wanted);
	if (future) {
		place->key = future;
		/* Release: a reader that finds the owner finds the key. */
		__atomic_store_n(&place->owner, hp_self->process, __ATOMIC_RELEASE);
	}
	errno = saved;
	return future;
}

struct hp_future *hp_future_of_place(struct hotpath_value *place)
{
	const void *owner = __atomic_load_n(&place->owner, __ATOMIC_ACQUIRE);

	return HP_LIKELY(owner && owner == hp_self->process) ? place->key : place_meet(place);
}

/* --- places in the code --- */

static struct known *cache_make(void)
{
	struct known *known = NULL, *made = hp_part_wiped(HP_PAGE);

	if (made && !atomic_compare_exchange_strong(&cache, &known, made))
		return known;	/* a page is lost, once */
	return made;
}

static struct known *known_first(struct known *known, uint64_t key)
{
	return known + (key * HP_HASH_GOLDEN >> (64 - CACHE_BITS) & ~(uint64_t)(CACHE_PROBES - 1));
}

static struct hp_future *known_find(struct known *known, uint64_t key)
{
	known = known_first(known, key);
	for (int i = 0; i < CACHE_PROBES; i++, known++)
		if (atomic_load_explicit(&known->key, memory_order_relaxed) == key)
			return atomic_load_explicit(&known->future, memory_order_acquire);
	return NULL;
}

static void known_add(struct known *known, uint64_t key, struct hp_future *future)
{
	known = known_first(known, key);
	for (int i = 0; i < CACHE_PROBES; i++, known++) {
		uint64_t there = 0;

		if (atomic_compare_exchange_strong(&known->key, &there, key) || there == key) {
			atomic_store_explicit(&known->future, future, memory_order_release);
			return;
		}
	}
}

struct hp_future *hp_future_of_code(enum hp_future_kind kind, uintptr_t address)
{
	uint64_t key = (uint64_t)address ^ (uint64_t)kind << 56;
	struct wanted wanted = { .kind = kind };
	struct known *known = atomic_load_explicit(&cache, memory_order_acquire);
	struct hp_future *future = known ? known_find(known, key) : NULL;
	int saved;

	if (HP_LIKELY(future != NULL))
		return future;
	saved = errno;
	if (hp_future_is_on()) {
		hp_lock_place(address, &wanted.module, &wanted.address);
		future = future_get(&wanted);
	}
	if (future && !known)
		known = cache_make();
	if (future && known)
		known_add(known, key, future);
	errno = saved;
	return future;
}

/* Addresses from `begin` to `end` may belong to another object now. */
static void forget(uintptr_t begin, uintptr_t end)
{
	struct known *known = atomic_load_explicit(&cache, memory_order_acquire);

	for (int i = 0; known && i < 1 << CACHE_BITS; i++) {
		uint64_t key = atomic_load_explicit(&known[i].key, memory_order_relaxed);
		uintptr_t address = (uintptr_t)(key << 8 >> 8);

		if (address >= begin && address < end)
			atomic_store_explicit(&known[i].future, NULL, memory_order_relaxed);
	}
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

static void flight_release(struct hp_future *future, struct hp_flight *flight)
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

struct hp_flight *hp_flight_begin(struct hp_future *future)
{
	uint64_t number = 1 + atomic_fetch_add_explicit(&future->calls, 1, memory_order_relaxed);
	struct hp_flight *flight = flight_free(future);

	if (HP_UNLIKELY(!flight))
		flight = flight_new(future);
	if (!flight)
		return NULL;
	flight->created = hp_ticks();
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
	__atomic_store_n(&flight->number, number, __ATOMIC_RELAXED);
	atomic_store_explicit(&flight->state, HP_FUTURE_PENDING, memory_order_release);
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

static struct hp_future_log *log_of(struct hp_future *future)
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

/* A thread stopped in this entry has been overtaken by all others: this one is skipped. */
static void log_write(struct hp_future *future, const struct hp_flight *flight, uint64_t now,
		      enum hp_future_state how, const char *text)
{
	struct hp_future_log *log = log_of(future);
	struct hp_future_entry *entry;
	uint64_t place;

	if (!log)
		return;
	place = atomic_fetch_add_explicit(&log->logged, 1, memory_order_relaxed);
	entry = &log->entries[place % HP_FUTURE_ENTRIES];
	if (!hp_seq_claim(&entry->number))
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

/* Rare: most calls raise nothing. */
static void most_raise(_Atomic uint64_t *most, uint64_t ticks)
{
	uint64_t was = atomic_load_explicit(most, memory_order_relaxed);

	while (ticks > was)
		if (atomic_compare_exchange_weak_explicit(most, &was, ticks, memory_order_relaxed,
							  memory_order_relaxed))
			return;
}

void hp_flight_end(struct hp_future *future, struct hp_flight *flight, enum hp_future_state how,
		   const char *text)
{
	uint64_t now;

	hp_flight_pause(flight);
	now = hp_ticks();
	if (now && flight->created) {
		uint64_t ticks = hp_clock_between(flight->created, now);

		flight->totals++;
		flight->total_ticks += ticks;
		if (ticks > flight->total_most)
			flight->total_most = ticks;
	}
	most_raise(&future->poll_most, flight->poll_most);
	flight->ended++;
	flight->cancelled += how == HP_FUTURE_CANCELLED;
	log_write(future, flight, now, how, text);
	__atomic_store_n(&flight->number, 0, __ATOMIC_RELAXED);
	atomic_store_explicit(&flight->state, HP_FUTURE_NONE, memory_order_release);
	flight_release(future, flight);
}

void hp_flight_undo(struct hp_future *future, struct hp_flight *flight)
{
	atomic_fetch_sub_explicit(&future->calls, 1, memory_order_relaxed);
	flight->number = 0;
	atomic_store_explicit(&flight->state, HP_FUTURE_NONE, memory_order_release);
	flight_release(future, flight);
}

/* --- by address --- */

void hp_future_begin_at(struct hp_future *future, uint64_t key)
{
	struct hp_object_flight object = { .future = future }, before;

	object.flight = hp_flight_begin(future);
	if (!object.flight)
		return;
	before.flight = NULL;
	if (!hp_objects_put(key, &object, &before)) {
		/* It can no longer be found: it counts as started, and as lost. */
		atomic_store_explicit(&object.flight->state, HP_FUTURE_NONE, memory_order_relaxed);
		object.flight->number = 0;
		flight_release(future, object.flight);
		atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
	}
	if (before.flight)
		hp_flight_end(before.future, before.flight, HP_FUTURE_CANCELLED, NULL);
}

bool hp_future_end_at(uint64_t key, enum hp_future_state how, const char *text)
{
	struct hp_object_flight object;

	if (!hp_objects_take(key, &object))
		return false;
	hp_flight_end(object.future, object.flight, how, text);
	return true;
}

void hp_future_poll_at(uint64_t key)
{
	struct hp_object_flight object;

	if (is_wanted && hp_objects_find(key, &object))
		hp_flight_poll(object.flight);
}

void hp_future_ask_at(uint64_t key)
{
	struct hp_object_flight object;

	if (!hp_objects_find(key, &object))
		return;
	object.flight->polls++;
	atomic_store_explicit(&object.flight->state, HP_FUTURE_SUSPENDED, memory_order_relaxed);
}

void hp_future_undo_at(uint64_t key)
{
	struct hp_object_flight object;

	if (hp_objects_take(key, &object))
		hp_flight_undo(object.future, object.flight);
}

void hp_future_thread(uintptr_t at, uint64_t key)
{
	struct hp_future *future = is_wanted ? hp_future_of_code(HP_FUTURE_THREAD, at) : NULL;

	if (future)
		hp_future_begin_at(future, key);
}

void hp_future_thread_lost(uintptr_t at)
{
	struct hp_future *future = is_wanted ? hp_future_of_code(HP_FUTURE_THREAD, at) : NULL;

	if (!future)
		return;
	atomic_fetch_add_explicit(&future->calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
}

/* --- the process --- */

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks(settings, HP_KEY_FUTURES);
	hp_future_is_off = !is_wanted;
	hp_uring_is_without = hp_settings_without(settings, "uring");
	hp_aio_is_without = hp_settings_without(settings, "aio");
	hp_uv_is_without = hp_settings_without(settings, "uv");
	hp_future_exchanges = settings->loop_callbacks;
	if (is_wanted)
		hp_segment_recorded(&hp_segment, HP_RECORDED_FUTURES);
}

/* An ended process had calls in flight. */
static void flights_leave(struct hp_future *future)
{
	uint64_t offset = atomic_load_explicit(&future->flights, memory_order_acquire);

	for (uint32_t i = 0; offset && i < HP_FLIGHTS_MAX; i++) {
		struct hp_flight *flight = at(offset);

		if (atomic_exchange_explicit(&flight->state, HP_FUTURE_NONE,
					     memory_order_relaxed) != HP_FUTURE_NONE) {
			flight->left++;
			flight->number = 0;
			flight_release(future, flight);
		}
		offset = flight->next;
	}
}

static void fold(struct hp_process *process)
{
	struct hp_account *account = process->account ? record_at(process->account) : NULL;
	uint64_t offset =
		account ? atomic_load_explicit(&account->futures, memory_order_acquire) : 0;

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_future *future = at(offset);

		flights_leave(future);
		offset = future->next;
	}
}

static void dropped(void)
{
	struct known *known = atomic_load_explicit(&cache, memory_order_acquire);

	for (int i = 0; known && i < 1 << CACHE_BITS; i++)
		atomic_store_explicit(&known[i].future, NULL, memory_order_relaxed);
	hp_objects_forget();
}

const struct hp_recorder hp_future_recorder = {
	.configure = configure,
	.fold = fold,
	.forget = forget,
	.dropped = dropped,
};
