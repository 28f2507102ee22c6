/* SPDX-License-Identifier: MIT */
/*
 * watch.c - see watch.h.
 *
 * Zero pages until epoll is used.  Forked children have the same descriptors and continue with
 * a copy.
 */
#include "preload/channel/watch.h"

#include <errno.h>
#include <stddef.h>

#include "preload/guest/bulky.h"

HP_BULKY _Atomic uint32_t hp_watch_owners[HP_FDS];
HP_BULKY static uint64_t datas[HP_FDS];
HP_BULKY struct hp_watch_counts hp_watch_counts[HP_WATCH_INSTANCES];
static _Atomic uint32_t above;	/* no higher descriptor is in an instance, */
static _Atomic uint32_t end;	/* or is one */

static void add(_Atomic uint32_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void removed_from(uint32_t owner)
{
	struct hp_watch_counts *of = owner ? hp_watch_counts_of((int)owner - 1) : NULL;

	if (of)
		add(&of->removed);
}

static bool is_in(int fd, int epoll_fd)
{
	return (atomic_load_explicit(&hp_watch_owners[fd], memory_order_relaxed) &
		~HP_WATCH_INSTANCE) == (uint32_t)epoll_fd + 1;
}

/* Puts it into an instance; 0 = none. Returns its previous one. */
static uint32_t put(int fd, uint32_t owner)
{
	uint32_t before = atomic_load_explicit(&hp_watch_owners[fd], memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&hp_watch_owners[fd], &before,
						      (before & HP_WATCH_INSTANCE) | owner,
						      memory_order_relaxed, memory_order_relaxed))
		;
	return before & ~HP_WATCH_INSTANCE;
}

uint32_t hp_watch_end(void)
{
	return atomic_load_explicit(&end, memory_order_relaxed);
}

static void note(_Atomic uint32_t *most, int fd)
{
	uint32_t before = atomic_load_explicit(most, memory_order_relaxed);

	while (before <= (uint32_t)fd &&
	       !atomic_compare_exchange_weak_explicit(most, &before, (uint32_t)fd + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

void hp_watch_add(int epoll_fd, int fd, uint64_t data)
{
	struct hp_watch_counts *of = hp_watch_counts_of(epoll_fd);

	if (!of)
		return;
	add(&of->added);
	note(&end, epoll_fd);
	atomic_fetch_or_explicit(&hp_watch_owners[epoll_fd], HP_WATCH_INSTANCE,
				 memory_order_relaxed);
	if ((unsigned)fd >= HP_FDS)
		return;
	note(&end, fd);
	note(&above, fd);
	__atomic_store_n(&datas[fd], data, __ATOMIC_RELAXED);
	put(fd, (uint32_t)epoll_fd + 1);
}

void hp_watch_change(int epoll_fd, int fd, uint64_t data)
{
	if ((unsigned)fd < HP_FDS && is_in(fd, epoll_fd))
		__atomic_store_n(&datas[fd], data, __ATOMIC_RELAXED);
}

void hp_watch_remove(int epoll_fd, int fd)
{
	removed_from((uint32_t)epoll_fd + 1);
	if ((unsigned)fd < HP_FDS && is_in(fd, epoll_fd))
		put(fd, 0);
}

/* One word of the table for both ways: neither a pipe nor a socket. */
static bool is_counter(int fd)
{
	uint64_t word = (unsigned)fd < hp_channel_fds_most
				? atomic_load_explicit(&hp_channel_fds[fd], memory_order_relaxed)
				: HP_FD_NONE;

	return word != HP_FD_UNKNOWN && word != HP_FD_NONE && word >> 32 == (uint32_t)word;
}

static struct hp_channel_thread *thread_of_caller(void)
{
	struct hp_channel_thread *me = hp_channel_thread();
	int saved = errno;

	if (!me->tid)
		me = hp_channel_thread_open();
	errno = saved;
	return me;
}

/* Before the call, since the loop may be faster. */
HP_COLD void hp_watch_poke(int epoll_fd, int fd)
{
	struct hp_watch_counts *of = hp_watch_counts_of(epoll_fd);
	struct hp_channel_thread *me = of && is_counter(fd) ? thread_of_caller() : NULL;

	if (!me)
		return;
	atomic_store_explicit(&of->poked, fd, memory_order_relaxed);
	atomic_store_explicit(&of->poker, me->tid, memory_order_release);
}

HP_COLD void hp_watch_poked(int epoll_fd, const struct epoll_event *events, int count)
{
	struct hp_watch_counts *of = hp_watch_counts_of(epoll_fd);
	int fd = atomic_load_explicit(&of->poked, memory_order_relaxed);
	struct hp_channel_thread *me;
	uint32_t poker;
	uint64_t data;

	while (count > 0 && !(hp_watch_data(epoll_fd, fd, &data) && events->data.u64 == data)) {
		events++;
		count--;
	}
	if (count <= 0)
		return;
	poker = atomic_exchange_explicit(&of->poker, 0, memory_order_acquire);
	me = thread_of_caller();
	if (me && poker && poker != me->tid)
		me->remote = me->remote && me->remote != (uint32_t)fd + 1 ? HP_REMOTE_SEVERAL
									  : (uint32_t)fd + 1;
}

bool hp_watch_data(int epoll_fd, int fd, uint64_t *data)
{
	if ((unsigned)fd >= HP_FDS || !is_in(fd, epoll_fd))
		return false;
	*data = __atomic_load_n(&datas[fd], __ATOMIC_RELAXED);
	return true;
}

bool hp_watch_is(int epoll_fd, int fd, uint64_t data)
{
	uint64_t its;

	return hp_watch_data(epoll_fd, fd, &its) && its == data;
}

bool hp_watch_is_any(int fd, uint64_t data)
{
	return hp_watch_holds(fd) && __atomic_load_n(&datas[fd], __ATOMIC_RELAXED) == data;
}

int hp_watch_find(int epoll_fd, uint64_t data)
{
	uint32_t most = atomic_load_explicit(&above, memory_order_relaxed);
	int found = -1;

	for (uint32_t fd = 0; fd < most; fd++)
		if (hp_watch_is(epoll_fd, (int)fd, data)) {
			if (found >= 0)
				return -1;
			found = (int)fd;
		}
	return found;
}

/* A later instance with its number starts empty. */
static void instance_close(int epoll_fd)
{
	struct hp_watch_counts *of = hp_watch_counts_of(epoll_fd);
	uint32_t most = atomic_load_explicit(&above, memory_order_relaxed);

	for (uint32_t fd = 0; fd < most; fd++)
		if (is_in((int)fd, epoll_fd))
			put((int)fd, 0);
	if (!of)
		return;
	atomic_store_explicit(&of->removed, atomic_load_explicit(&of->added, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&of->taker, 0, memory_order_relaxed);
	atomic_store_explicit(&of->is_shared, false, memory_order_relaxed);
	atomic_store_explicit(&of->taken, NULL, memory_order_relaxed);
	atomic_store_explicit(&of->turns, 0, memory_order_relaxed);
}

HP_COLD void hp_watch_close(int fd)
{
	uint32_t before = atomic_exchange_explicit(&hp_watch_owners[fd], 0, memory_order_relaxed);

	removed_from(before & ~HP_WATCH_INSTANCE);
	if (before & HP_WATCH_INSTANCE)
		instance_close(fd);
}
