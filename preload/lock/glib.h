/* SPDX-License-Identifier: MIT */
/*
 * glib.h - GLib functions that we interpose, if the program has GLib.
 *
 * GLib's locks use futexes directly, so they bypass the C library's. Its
 * headers are not needed: objects are addresses here.
 */
#ifndef HP_PRELOAD_LOCK_GLIB_H
#define HP_PRELOAD_LOCK_GLIB_H

#include <stdbool.h>
#include <stdint.h>

#define HP_GLIB_LIST(X) \
	X(void, g_mutex_init, (void *)) \
	X(void, g_mutex_clear, (void *)) \
	X(void, g_mutex_lock, (void *)) \
	X(int, g_mutex_trylock, (void *)) \
	X(void, g_mutex_unlock, (void *)) \
	X(void, g_rec_mutex_init, (void *)) \
	X(void, g_rec_mutex_clear, (void *)) \
	X(void, g_rec_mutex_lock, (void *)) \
	X(int, g_rec_mutex_trylock, (void *)) \
	X(void, g_rec_mutex_unlock, (void *)) \
	X(void, g_rw_lock_init, (void *)) \
	X(void, g_rw_lock_clear, (void *)) \
	X(void, g_rw_lock_reader_lock, (void *)) \
	X(int, g_rw_lock_reader_trylock, (void *)) \
	X(void, g_rw_lock_reader_unlock, (void *)) \
	X(void, g_rw_lock_writer_lock, (void *)) \
	X(int, g_rw_lock_writer_trylock, (void *)) \
	X(void, g_rw_lock_writer_unlock, (void *)) \
	X(void, g_cond_init, (void *)) \
	X(void, g_cond_clear, (void *)) \
	X(void, g_cond_wait, (void *, void *)) \
	X(int, g_cond_wait_until, (void *, void *, int64_t)) \
	X(void, g_cond_signal, (void *)) \
	X(void, g_cond_broadcast, (void *)) \
	X(void *, g_async_queue_new, (void)) \
	X(void *, g_async_queue_new_full, (void (*)(void *))) \
	X(void *, g_async_queue_ref, (void *)) \
	X(void, g_async_queue_unref, (void *)) \
	X(void, g_async_queue_push, (void *, void *)) \
	X(void, g_async_queue_push_unlocked, (void *, void *)) \
	X(void, g_async_queue_push_front, (void *, void *)) \
	X(void, g_async_queue_push_front_unlocked, (void *, void *)) \
	X(void, g_async_queue_push_sorted, \
	  (void *, void *, int (*)(const void *, const void *, void *), void *)) \
	X(void, g_async_queue_push_sorted_unlocked, \
	  (void *, void *, int (*)(const void *, const void *, void *), void *)) \
	X(void *, g_async_queue_pop, (void *)) \
	X(void *, g_async_queue_pop_unlocked, (void *)) \
	X(void *, g_async_queue_try_pop, (void *)) \
	X(void *, g_async_queue_try_pop_unlocked, (void *)) \
	X(void *, g_async_queue_timeout_pop, (void *, uint64_t)) \
	X(void *, g_async_queue_timeout_pop_unlocked, (void *, uint64_t)) \
	X(int, g_async_queue_remove, (void *, void *)) \
	X(int, g_async_queue_remove_unlocked, (void *, void *))

struct hp_glib {
#define X(ret, name, args) ret(*name) args;
	HP_GLIB_LIST(X)
#undef X
};

/* HOTPATH_WITHOUT=glib: calls are passed on. */
extern bool hp_glib_is_without __attribute__((visibility("hidden")));

/* Resolves them the first time: a caller of a stand-in has GLib. */
const struct hp_glib *hp_glib(void);

#endif
