/* SPDX-License-Identifier: MIT */
/*
 * key.c - see key.h; and the program's own channels (HOTPATH_CHANNEL and
 * related macros of include/hotpath.h).
 *
 * The table is lock-free: a place is claimed by compare-exchange of its key and
 * keeps it; its lane may change.
 */
#include "preload/channel/key.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/call/block.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"

#define LABEL_MAX 1000

struct hp_channel_key *hp_channel_keys;

static bool table_make(void)
{
	return hp_pages_table(&hp_channel_keys, sizeof(struct hp_channel_key) << HP_KEYS_BITS,
			      true);
}

void hp_channel_key_forget(void)
{
	struct hp_channel_key *keys = __atomic_load_n(&hp_channel_keys, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (keys)
		syscall(SYS_madvise, keys, sizeof(*keys) << HP_KEYS_BITS, MADV_DONTNEED);
	errno = saved;
}

/* NULL = not found, or with `claims`, no room. */
static struct hp_channel_key *place_of(uint64_t key, bool claims)
{
	const uint64_t last = (UINT64_C(1) << HP_KEYS_BITS) - 1;
	uint64_t i = hp_channel_key_index(key);

	for (int n = 0; hp_channel_keys && n < HP_KEY_PROBES; n++, i = (i + 1) & last) {
		struct hp_channel_key *place = &hp_channel_keys[i];
		uint64_t there = atomic_load_explicit(&place->key, memory_order_acquire);

		if (there == key)
			return place;
		if (there == 0 && !claims)
			return NULL;
		if (there == 0 &&
		    (atomic_compare_exchange_strong(&place->key, &there, key) || there == key))
			return place;
	}
	return NULL;
}

/* If the earlier keys no longer exist, any of them will do. */
static struct hp_channel_key *place_again(uint64_t key)
{
	const uint64_t last = (UINT64_C(1) << HP_KEYS_BITS) - 1;
	uint64_t i = hp_channel_key_index(key);

	for (int n = 0; n < HP_KEY_PROBES; n++, i = (i + 1) & last) {
		struct hp_channel_key *place = &hp_channel_keys[i];
		uint64_t there = atomic_load_explicit(&place->key, memory_order_acquire);

		if (!atomic_load_explicit(&place->lane, memory_order_acquire) &&
		    atomic_compare_exchange_strong(&place->key, &there, key))
			return place;
	}
	return NULL;
}

struct hp_lane *hp_channel_key_find(uint64_t key)
{
	const struct hp_channel_key *place = place_of(key, false);
	uint64_t lane = place ? atomic_load_explicit(&place->lane, memory_order_acquire) : 0;

	return lane ? hp_channel_lane(lane) : NULL;
}

static void lane_end(struct hp_lane *lane)
{
	hp_lane_drop(lane, true);
	hp_lane_drop(lane, false);
}

struct hp_lane *hp_channel_key_make(uint64_t key, const struct hp_channel_wish *wish)
{
	return hp_channel_key_take(key, NULL, wish);
}

struct hp_lane *hp_channel_key_take(uint64_t key, struct hp_lane *lane,
				    const struct hp_channel_wish *wish)
{
	int saved = errno;
	struct hp_channel_key *place = table_make() ? place_of(key, true) : NULL;
	uint64_t before;

	if (!place && hp_channel_keys)
		place = place_again(key);
	if (place && !lane)
		lane = hp_lane_new(wish);
	if (place && lane) {
		hp_lane_hold(lane, true);
		hp_lane_hold(lane, false);
		atomic_store_explicit(&place->holders, 1, memory_order_relaxed);
		before = atomic_exchange_explicit(&place->lane, hp_lane_id(lane),
						  memory_order_acq_rel);
		if (before)
			lane_end(hp_channel_lane(before));
	}
	errno = saved;
	return place ? lane : NULL;
}

void hp_channel_key_hold(uint64_t key)
{
	struct hp_channel_key *place = place_of(key, false);

	if (place)
		atomic_fetch_add_explicit(&place->holders, 1, memory_order_relaxed);
}

bool hp_channel_key_drop(uint64_t key)
{
	struct hp_channel_key *place = place_of(key, false);

	return place && atomic_load_explicit(&place->lane, memory_order_relaxed) &&
	       atomic_fetch_sub_explicit(&place->holders, 1, memory_order_relaxed) == 1;
}

void hp_channel_key_gone(uint64_t key)
{
	struct hp_channel_key *place = place_of(key, false);
	uint64_t lane = place ? atomic_exchange_explicit(&place->lane, 0, memory_order_acq_rel) : 0;

	if (lane)
		lane_end(hp_channel_lane(lane));
}

/* --- results of threads: sent when one ends, received when it is joined --- */

static uint64_t thread_key(uintptr_t thread)
{
	return (uint64_t)thread | HP_KEY_THREAD;
}

void hp_channel_thread_began(uintptr_t at)
{
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_THREAD,
					.caller = at,
					.unit = HP_LANE_MESSAGES,
					.capacity = 1,
					.safe = 1 };

	if (hp_channel_is_on())
		hp_channel_key_make(thread_key((uintptr_t)pthread_self()), &wish);
}

static struct hp_lane *thread_lane(uintptr_t thread)
{
	return hp_channel_fds_most ? hp_channel_key_lane(thread_key(thread)) : NULL;
}

void hp_channel_thread_ended(void)
{
	struct hp_lane *lane = thread_lane((uintptr_t)pthread_self());
	struct hp_sending call;

	if (!lane)
		return;
	hp_send_begin(&call, lane, 1, HP_END_NONE);
	hp_send_end(&call, 1, 0, 0);
}

void hp_channel_thread_joined(uintptr_t thread)
{
	struct hp_lane *lane = thread_lane(thread);
	struct hp_receiving call = { .lane = lane };

	if (!lane)
		return;
	hp_receive_end(&call, 1, 0, 0);
	hp_channel_key_gone(thread_key(thread));
}

/* --- annotations in the source --- */

static void label(const struct hp_lane *lane, const char *text)
{
	if (lane && text && *text)
		hp_channel_label(lane, text, hp_block_text(text, LABEL_MAX));
}

static void label_fd(int fd, const char *text)
{
	uint64_t word = hp_channel_word(fd);

	label(hp_channel_lane(word >> 32), text);
	label(hp_channel_lane(word & UINT32_MAX), text);
}

/* Sites of one label are one row in the report. */
static struct hp_lane *custom(uint64_t key, uint64_t capacity, const char *text, uintptr_t caller)
{
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_CUSTOM,
					.caller = caller,
					.unit = HP_LANE_MESSAGES,
					.capacity = capacity,
					.safe = capacity ? capacity : UINT32_MAX };
	struct hp_lane *lane = hp_channel_is_on() ? hp_channel_key_make(key, &wish) : NULL;

	label(lane, text);
	return lane;
}

/* The annotation of a send is shortly before or after it. */
static void custom_send(struct hp_lane *lane)
{
	struct hp_sending call;

	hp_send_begin(&call, lane, 1, HP_END_NONE);
	hp_send_end(&call, 1, 0, 0);
}

static void custom_receive(struct hp_lane *lane)
{
	struct hp_receiving call = { .lane = lane };

	hp_receive_end(&call, 1, 0, 0);
}

void hp_channel_mark(int what, const void *object, const char *text, uintptr_t caller)
{
	uint64_t key = (uint64_t)(uintptr_t)object | HP_KEY_CUSTOM;
	struct hp_lane *lane;

	if (what == HOTPATH_MARK_FD)
		label_fd((int)(intptr_t)object, text);
	if ((what & 0xff) == HOTPATH_MARK_CHANNEL)
		custom(key, (uint64_t)(unsigned)what >> 8, text, caller);
	if (what != HOTPATH_MARK_SENT && what != HOTPATH_MARK_RECEIVED &&
	    what != HOTPATH_MARK_CLOSED)
		return;
	if (!hp_channel_is_on())
		return;
	if (what == HOTPATH_MARK_CLOSED) {
		hp_channel_key_gone(key);
		return;
	}
	lane = hp_channel_key_lane(key);
	lane = lane ? lane : custom(key, 0, NULL, caller);
	if (lane && what == HOTPATH_MARK_SENT)
		custom_send(lane);
	else if (lane)
		custom_receive(lane);
}
