/* SPDX-License-Identifier: MIT */
/*
 * connecting.c - see connecting.h.
 */
#include "preload/loop/connecting.h"

#include <errno.h>
#include <stdbool.h>

#include "preload/channel/watch.h"
#include "preload/guest/above.h"
#include "util/hash.h"

#define LISTED 64

_Atomic uint32_t hp_connecting_count;

static _Atomic uint32_t listed[LISTED];	/* descriptor + 1; 0 = unused */

void hp_connecting_add(int fd)
{
	atomic_fetch_add_explicit(&hp_connecting_count, 1, memory_order_relaxed);
	for (int i = 0; i < LISTED; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong_explicit(&listed[i], &none, (uint32_t)fd + 1,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return;
	}
}

void hp_connecting_remove(int fd)
{
	uint32_t count = atomic_load_explicit(&hp_connecting_count, memory_order_relaxed);

	for (int i = 0; i < LISTED; i++) {
		uint32_t there = (uint32_t)fd + 1;

		if (atomic_compare_exchange_strong_explicit(
			    &listed[i], &there, 0, memory_order_relaxed, memory_order_relaxed))
			break;
	}
	while (count &&
	       !atomic_compare_exchange_weak_explicit(&hp_connecting_count, &count, count - 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void hp_connecting_forget(void)
{
	atomic_store_explicit(&hp_connecting_count, 0, memory_order_relaxed);
	for (int i = 0; i < LISTED; i++)
		atomic_store_explicit(&listed[i], 0, memory_order_relaxed);
}

static void tell(int fd, bool is_failed)
{
	int saved = errno;

	HP_ABOVE(connected, fd, is_failed);
	errno = saved;
}

/* The first listed descriptor from place `*at` on; -1 = none. */
static int next(int *at)
{
	while (*at < LISTED) {
		uint32_t there = atomic_load_explicit(&listed[(*at)++], memory_order_relaxed);

		if (there)
			return (int)there - 1;
	}
	return -1;
}

static bool is_listed(int wanted)
{
	int at = 0, fd;

	while ((fd = next(&at)) >= 0)
		if (fd == wanted)
			return true;
	return false;
}

HP_COLD void hp_connecting_polled(const struct pollfd *fds, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (fds[i].revents & (POLLOUT | POLLERR | POLLHUP) &&
		    hp_channel_is_told(fds[i].fd) && is_listed(fds[i].fd))
			tell(fds[i].fd, fds[i].revents & (POLLERR | POLLHUP));
}

/* A failed one is writable, too: the program's next question tells. */
HP_COLD void hp_connecting_selected(const fd_set *writes, int count)
{
	int at = 0, fd;

	while ((fd = next(&at)) >= 0)
		if (writes && fd < count && fd < FD_SETSIZE && FD_ISSET(fd, writes))
			tell(fd, true);
}

/* Those in an epoll instance; `seen` has a bit for each hash of their data. */
struct watched {
	int fds[LISTED];
	uint64_t datas[LISTED];
	int count;
	uint64_t seen;
};

static uint64_t bit_of(uint64_t data)
{
	return UINT64_C(1) << (data * HP_HASH_GOLDEN >> 58);
}

static void watched_get(struct watched *watched, int epoll_fd)
{
	int at = 0, fd;

	watched->count = 0;
	watched->seen = 0;
	while ((fd = next(&at)) >= 0)
		if (hp_watch_data(epoll_fd, fd, &watched->datas[watched->count])) {
			watched->seen |= bit_of(watched->datas[watched->count]);
			watched->fds[watched->count++] = fd;
		}
}

/* Most events are of other descriptors, so each is first compared with all at once. */
HP_COLD void hp_connecting_epolled(int epoll_fd, const struct epoll_event *events, int count)
{
	struct watched watched;

	watched_get(&watched, epoll_fd);
	for (int i = 0; i < count && watched.count; i++) {
		if (!(events[i].events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) ||
		    !(watched.seen & bit_of(events[i].data.u64)))
			continue;
		for (int k = 0; k < watched.count; k++)
			if (watched.datas[k] == events[i].data.u64)
				tell(watched.fds[k], events[i].events & (EPOLLERR | EPOLLHUP));
	}
}
