/* SPDX-License-Identifier: MIT */
/*
 * future.c - see future.h: places, and objects by address.
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
		hp_flight_give(future, object.flight);
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

struct hp_object_flight hp_future_thread(uintptr_t at)
{
	struct hp_object_flight object = { .flight = NULL };

	object.future = is_wanted ? hp_future_of_code(HP_FUTURE_THREAD, at) : NULL;
	if (object.future)
		object.flight = hp_flight_begin(object.future);
	return object;
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

static void fold(struct hp_process *process)
{
	struct hp_account *account = process->account ? record_at(process->account) : NULL;
	uint64_t offset =
		account ? atomic_load_explicit(&account->futures, memory_order_acquire) : 0;

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_future *future = at(offset);

		hp_flights_leave(future);
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
