/* SPDX-License-Identifier: MIT */
/*
 * waits.c WHAT [ROUNDS] - ns of one call of an event loop: the least of some rounds.
 * waits.c WHAT direct - the same of the C library's own and of the library's, in turns of some 100 us,
 * so that the ratio holds on a busy machine: the first quartiles, "ns ns".
 *
 * epoll, poll: a wait that finds one event at once. timerfd: a timer is set, and read when it has
 * expired. eventfd: a write and a read. uring: a request that does nothing, and the wait for it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_URING
#include <liburing.h>

static struct io_uring ring;

static int ring_open(void)
{
	return io_uring_queue_init(8, &ring, 0);
}

static int request(void)
{
	struct io_uring_cqe *done;

	io_uring_prep_nop(io_uring_get_sqe(&ring));
	if (io_uring_submit_and_wait(&ring, 1) != 1 || io_uring_peek_cqe(&ring, &done) != 0)
		return 0;
	io_uring_cqe_seen(&ring, done);
	return 1;
}
#else
static int ring_open(void)
{
	return -1;
}

static int request(void)
{
	return 0;
}
#endif

#define CALLS 50000

static int event, epoll_fd, timer;
static int (*epoll_wait_of)(int, struct epoll_event *, int, int) = epoll_wait;
static int (*poll_of)(struct pollfd *, nfds_t, int) = poll;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void call(char what)
{
	struct epoll_event ready[4];
	struct pollfd fds = { .fd = event, .events = POLLIN };
	const struct itimerspec soon = { .it_value.tv_nsec = 1 };
	uint64_t value = 1;
	int done = 1;

	switch (what) {
	case 'e':
		done = epoll_wait_of(epoll_fd, ready, 4, -1);
		break;
	case 'p':
		done = poll_of(&fds, 1, -1);
		break;
	case 't':
		done = timerfd_settime(timer, 0, &soon, NULL) == 0 &&
		       read(timer, &value, sizeof(value)) == sizeof(value);
		break;
	case 'u':
		done = request();
		break;
	default:
		done = write(event, &value, sizeof(value)) == sizeof(value) &&
		       read(event, &value, sizeof(value)) == sizeof(value);
		break;
	}
	if (done != 1)
		abort();
}

static double calls(char what, int count)
{
	double since = now();

	for (int i = 0; i < count; i++)
		call(what);
	return (now() - since) / count;
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

#define PAIRS 10000

static void pairs(char what)
{
	static double own[PAIRS], ours[PAIRS];
	void *libc = dlopen("libc.so.6", RTLD_LAZY);

	for (int i = 0; libc && i < PAIRS; i++) {
		*(void **)&epoll_wait_of = dlsym(libc, "epoll_wait");
		*(void **)&poll_of = dlsym(libc, "poll");
		own[i] = calls(what, 200);
		epoll_wait_of = epoll_wait;
		poll_of = poll;
		ours[i] = calls(what, 200);
	}
	qsort(own, PAIRS, sizeof(*own), compare);
	qsort(ours, PAIRS, sizeof(*ours), compare);
	printf("%.2f %.2f\n", own[PAIRS / 4], ours[PAIRS / 4]);
}

int main(int argc, char **argv)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	char what = strcmp(argv[1], "eventfd") == 0 ? 'v' : argv[1][0];
	double least = 1e18;

	event = eventfd(what == 'v' ? 0 : 1, 0);
	epoll_fd = epoll_create1(0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (event < 0 || epoll_fd < 0 || timer < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event, &wanted) != 0)
		abort();
	if (what == 'u' && ring_open() != 0)
		return 1;
	if (argc > 2 && strcmp(argv[2], "direct") == 0) {
		pairs(what);
		return 0;
	}
	for (int round = argc > 2 ? atoi(argv[2]) : 10; round > 0; round--) {
		double took = calls(what, CALLS);

		least = took < least ? took : least;
	}
	printf("%.2f\n", least);
	return 0;
}
