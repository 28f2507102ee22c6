/* SPDX-License-Identifier: MIT */
/*
 * watch.h - which descriptors the program has registered with which epoll instance.
 *
 * The kernel removes a descriptor from an epoll instance when its last copy is closed, without
 * notice. So a table of the process has, for each descriptor, the instance that watches it and the
 * data of its events. For a descriptor in two instances, the last one counts.
 */
#ifndef HP_PRELOAD_CHANNEL_WATCH_H
#define HP_PRELOAD_CHANNEL_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"

/* The descriptors registered with an epoll instance. */
struct hp_watch_counts {
	_Atomic uint32_t added;
	_Atomic uint32_t removed;
	_Atomic uint32_t poker;	/* the thread that wakes it (hp_watch_poke); 0 = none */
	_Atomic int32_t poked;	/* by which event counter */
	_Atomic uint32_t taker;	/* the thread that began the last wait; 0 = none */
	_Atomic bool is_shared;	/* several threads have waited */
	_Atomic(const uint64_t *) taken;	/* in the taker's record: not 0 while it waits */
	_Atomic uintptr_t turns;	/* a mutex that is held during waits; 0 = not known */
};

#define HP_WATCH_INSTANCE (UINT32_C(1) << 31)	/* it is an instance itself */

/* By descriptor: 1 + its instance's descriptor; 0 = none; perhaps with HP_WATCH_INSTANCE. */
extern HP_HIDDEN _Atomic uint32_t hp_watch_owners[HP_FDS];

#define HP_WATCH_INSTANCES 4096	/* descriptors of epoll instances above are not counted */

extern HP_HIDDEN struct hp_watch_counts hp_watch_counts[HP_WATCH_INSTANCES];

/* NULL = no such descriptor. */
static inline struct hp_watch_counts *hp_watch_counts_of(int epoll_fd)
{
	return (unsigned)epoll_fd < HP_WATCH_INSTANCES ? &hp_watch_counts[epoll_fd] : NULL;
}

/* Both counts, as one number. */
static inline uint64_t hp_watch_changes(const struct hp_watch_counts *of)
{
	uint64_t changes = atomic_load_explicit(&of->removed, memory_order_relaxed);

	return changes << 32 | atomic_load_explicit(&of->added, memory_order_relaxed);
}

/* epoll_ctl went well. */
void hp_watch_add(int epoll_fd, int fd, uint64_t data);
void hp_watch_change(int epoll_fd, int fd, uint64_t data);
void hp_watch_remove(int epoll_fd, int fd);

/*
 * EPOLL_CTL_MOD is about to be called.  An event counter that stays readable wakes the loop each
 * time that it is registered again: so boost.asio's threads wake each other.  After a wait of the
 * calling thread, another thread's message has come in this way (hp_channel_thread.remote).
 */
void hp_watch_poke(int epoll_fd, int fd);
void hp_watch_poked(int epoll_fd, const struct epoll_event *events, int count);

/* The descriptor with that data; -1 = none, or several. */
int hp_watch_find(int epoll_fd, uint64_t data);

/* It is in this instance, with `*data`. */
bool hp_watch_data(int epoll_fd, int fd, uint64_t *data);
bool hp_watch_is(int epoll_fd, int fd, uint64_t data);

/* It is in an instance, with this data; if it is in several, in one of them. */
bool hp_watch_is_any(int fd, uint64_t data);

/* No descriptor from here on is in an instance, or is one. */
uint32_t hp_watch_end(void);

/* It is about to be closed, and is in an instance, or is one. */
void hp_watch_close(int fd);

static HP_HOT bool hp_watch_holds(int fd)
{
	return (unsigned)fd < HP_FDS &&
	       atomic_load_explicit(&hp_watch_owners[fd], memory_order_relaxed) != 0;
}

#endif
