/* SPDX-License-Identifier: MIT */
/*
 * hook_glib.c - stand-ins of GLib's GAsyncQueue.
 *
 * GLib's operations on its own queues (GThreadPool) are internal, and not recorded.
 */
#include <errno.h>

#include "preload/channel/key.h"
#include "preload/lock/glib.h"
#include "preload/guest/guest.h"

typedef int (*hp_compare)(const void *, const void *, void *);

static const struct hp_channel_wish plain = { .kind = HP_CHANNEL_QUEUE,
					      .unit = HP_LANE_MESSAGES,
					      .safe = UINT32_MAX };

static void queue_made(void *queue, uintptr_t caller)
{
	struct hp_channel_wish wish = plain;

	wish.caller = caller;
	if (queue && !hp_glib_is_without && hp_channel_is_on())
		hp_channel_key_make((uintptr_t)queue, &wish);
}

static HP_COLD struct hp_lane *queue_met(void *queue, uintptr_t caller)
{
	struct hp_channel_wish wish = plain;
	int saved = errno;
	struct hp_lane *lane = NULL;

	wish.caller = caller;
	wish.is_first = true;
	if (queue && !hp_glib_is_without && hp_channel_is_on())
		lane = hp_channel_key_make((uintptr_t)queue, &wish);
	errno = saved;
	return lane;
}

static HP_HOT struct hp_lane *lane_of(void *queue, uintptr_t caller)
{
	struct hp_lane *lane;

	if (HP_UNLIKELY(!hp_channel_fds_most || hp_glib_is_without))
		return NULL;
	lane = hp_channel_key_lane((uintptr_t)queue);
	return HP_LIKELY(lane != NULL) ? lane : queue_met(queue, caller);
}

void *g_async_queue_new(void);
HP_EXPORT void *g_async_queue_new(void)
{
	void *queue = hp_glib()->g_async_queue_new();

	queue_made(queue, HP_CALLER);
	return queue;
}

void *g_async_queue_new_full(void (*release)(void *));
HP_EXPORT void *g_async_queue_new_full(void (*release)(void *))
{
	void *queue = hp_glib()->g_async_queue_new_full(release);

	queue_made(queue, HP_CALLER);
	return queue;
}

void *g_async_queue_ref(void *queue);
HP_EXPORT void *g_async_queue_ref(void *queue)
{
	hp_channel_key_hold((uintptr_t)queue);
	return hp_glib()->g_async_queue_ref(queue);
}

/* Before it: the address may be another thread's new queue afterwards. */
void g_async_queue_unref(void *queue);
HP_EXPORT void g_async_queue_unref(void *queue)
{
	if (hp_channel_key_drop((uintptr_t)queue))
		hp_channel_key_gone((uintptr_t)queue);
	hp_glib()->g_async_queue_unref(queue);
}

#define PUSH(name, is_mixed, arguments, ...) \
	void name arguments; \
	HP_EXPORT void name arguments \
	{ \
		struct hp_lane *lane = lane_of(queue, HP_CALLER); \
		struct hp_sending call; \
\
		if (HP_UNLIKELY(!lane)) { \
			hp_glib()->name(__VA_ARGS__); \
			return; \
		} \
		if (is_mixed) \
			hp_lane_mix(lane); \
		hp_send_begin(&call, lane, 1, HP_END_NONE); \
		hp_glib()->name(__VA_ARGS__); \
		hp_send_end(&call, 1, 0, 0); \
	}

PUSH(g_async_queue_push, 0, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_unlocked, 0, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_front, 1, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_front_unlocked, 1, (void *queue, void *data), queue, data)
PUSH(g_async_queue_push_sorted, 1, (void *queue, void *data, hp_compare compare, void *user), queue,
     data, compare, user)
PUSH(g_async_queue_push_sorted_unlocked, 1,
     (void *queue, void *data, hp_compare compare, void *user), queue, data, compare, user)

static HP_HOT void *taken(const struct hp_receiving *call, void *data)
{
	if (HP_LIKELY(data != NULL)) {
		hp_receive_end(call, 1, 0, 0);
		return data;
	}
	atomic_fetch_add_explicit(&call->lane->empty, 1, memory_order_relaxed);
	if (call->since)
		hp_receive_waited(call, 0);
	return NULL;
}

#define POP(name, arguments, ...) \
	void *name arguments; \
	HP_EXPORT void *name arguments \
	{ \
		struct hp_lane *lane = lane_of(queue, HP_CALLER); \
		struct hp_receiving call; \
\
		if (HP_UNLIKELY(!lane)) \
			return hp_glib()->name(__VA_ARGS__); \
		hp_receive_begin(&call, lane); \
		return taken(&call, hp_glib()->name(__VA_ARGS__)); \
	}

POP(g_async_queue_pop, (void *queue), queue)
POP(g_async_queue_pop_unlocked, (void *queue), queue)
POP(g_async_queue_try_pop, (void *queue), queue)
POP(g_async_queue_try_pop_unlocked, (void *queue), queue)
POP(g_async_queue_timeout_pop, (void *queue, uint64_t time), queue, time)
POP(g_async_queue_timeout_pop_unlocked, (void *queue, uint64_t time), queue, time)

/* Removed from the middle: received by nobody. */
static int removed(void *queue, int is_removed)
{
	struct hp_lane *lane =
		is_removed && hp_channel_fds_most ? hp_channel_key_lane((uintptr_t)queue) : NULL;

	if (lane) {
		hp_lane_mix(lane);
		atomic_fetch_add_explicit(&lane->abandoned, 1, memory_order_relaxed);
	}
	return is_removed;
}

int g_async_queue_remove(void *queue, void *data);
HP_EXPORT int g_async_queue_remove(void *queue, void *data)
{
	return removed(queue, hp_glib()->g_async_queue_remove(queue, data));
}

int g_async_queue_remove_unlocked(void *queue, void *data);
HP_EXPORT int g_async_queue_remove_unlocked(void *queue, void *data)
{
	return removed(queue, hp_glib()->g_async_queue_remove_unlocked(queue, data));
}
