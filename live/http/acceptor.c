/* SPDX-License-Identifier: MIT */
/* acceptor.c - see acceptor.h. */
#include "live/http/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "segment/clock.h"

#define TICK_MS 1000
#define PAUSE_MS 100	/* before the next attempt when the system is out of resources */

struct hp_acceptor {
	struct hp_acceptor_wish wish;
	pthread_t thread;
	bool is_started;
	int end;	/* an eventfd: readable = stop */
	_Atomic unsigned count;	/* open connections */
};

static void give(struct hp_acceptor *acceptor, int connection, const struct sockaddr *address,
		 socklen_t size)
{
	/* Relaxed, here and below: a plain number that orders nothing else. */
	if (atomic_load_explicit(&acceptor->count, memory_order_relaxed) >= acceptor->wish.most) {
		close(connection);
		return;
	}
	/* Before take(): the connection may have ended when it returns. */
	atomic_fetch_add_explicit(&acceptor->count, 1, memory_order_relaxed);
	if (!acceptor->wish.take(acceptor->wish.context, connection, address, size))
		hp_acceptor_gone(acceptor);
}

/* Returns false without room for another connection. */
static bool take_one(struct hp_acceptor *acceptor)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int connection = accept4(acceptor->wish.socket, (struct sockaddr *)&address, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (connection >= 0) {
		give(acceptor, connection, (struct sockaddr *)&address, size);
		return true;
	}
	/* Another process accepted it, or it is already gone. */
	return errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
}

/* No more often even under load. */
static void tick(struct hp_acceptor *acceptor, uint64_t *next_ns)
{
	uint64_t now = hp_clock_raw_ns();

	if (now < *next_ns)
		return;
	*next_ns = now + UINT64_C(1000000) * TICK_MS;
	acceptor->wish.tick(acceptor->wish.context);
}

static void *run(void *context)
{
	struct hp_acceptor *acceptor = context;
	struct pollfd fds[] = { { .fd = acceptor->end, .events = POLLIN },
				{ .fd = acceptor->wish.socket, .events = POLLIN } };

	uint64_t next_ns = 0;

	for (;;) {
		bool has_any = atomic_load_explicit(&acceptor->count, memory_order_relaxed) != 0;
		int ready = poll(fds, 2, has_any ? TICK_MS : -1);

		if (has_any && acceptor->wish.tick)
			tick(acceptor, &next_ns);
		if (ready <= 0)
			continue;	/* EINTR: stopped and continued */
		if (fds[0].revents)
			return NULL;
		if (!take_one(acceptor))
			poll(fds, 1, PAUSE_MS);
	}
}

struct hp_acceptor *hp_acceptor_new(const struct hp_acceptor_wish *wish)
{
	struct hp_acceptor *acceptor = hp_xcalloc(1, sizeof(*acceptor));

	acceptor->wish = *wish;
	acceptor->end = eventfd(0, EFD_CLOEXEC);
	if (acceptor->end >= 0)
		return acceptor;
	free(acceptor);
	return NULL;
}

int hp_acceptor_start(struct hp_acceptor *acceptor)
{
	int error = pthread_create(&acceptor->thread, NULL, run, acceptor);

	acceptor->is_started = !error;
	return -error;
}

void hp_acceptor_free(struct hp_acceptor *acceptor)
{
	if (!acceptor)
		return;
	if (acceptor->is_started) {
		eventfd_write(acceptor->end, 1);
		pthread_join(acceptor->thread, NULL);
		close(acceptor->wish.socket);
	}
	close(acceptor->end);
	free(acceptor);
}

void hp_acceptor_gone(struct hp_acceptor *acceptor)
{
	atomic_fetch_sub_explicit(&acceptor->count, 1, memory_order_relaxed);
}
