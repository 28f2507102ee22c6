/* SPDX-License-Identifier: MIT */
/*
 * pool.h - the functions of GLib's GThreadPool that we interpose.
 */
#ifndef HP_PRELOAD_FUTURE_POOL_H
#define HP_PRELOAD_FUTURE_POOL_H

/* The head of GLib's GThreadPool, which is public. */
struct hp_gpool {
	void (*run)(void *job, void *data);
	void *data;
	int is_exclusive;
};

#define HP_POOL_LIST(X) \
	X(struct hp_gpool *, g_thread_pool_new, \
	  (void (*)(void *, void *), void *, int, int, void *)) \
	X(struct hp_gpool *, g_thread_pool_new_full, \
	  (void (*)(void *, void *), void *, void (*)(void *), int, int, void *)) \
	X(int, g_thread_pool_push, (struct hp_gpool *, void *, void *)) \
	X(void, g_thread_pool_free, (struct hp_gpool *, int, int))

#endif
