/* SPDX-License-Identifier: MIT */
/*
 * connects.c - connections that are not made at once, which end in each way: seen by poll, epoll, select, SO_ERROR, or
 * another connect; refused; closed too early, one by one or as a range, while a child of vfork
 * uses the same numbers. Prints how many were started, made, refused, given up,
 * and how often one was asked for in vain. `bench COUNT`: ns of one, with its wait and close.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int started, made, refused, given_up, in_vain;
static struct sockaddr_in server, nobody;

/* `backlog` < 0: bound, and nobody listens. */
static int listener(struct sockaddr_in *address, int backlog)
{
	socklen_t length = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*address = (struct sockaddr_in){ .sin_family = AF_INET };
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)address, length) != 0 ||
	    getsockname(fd, (struct sockaddr *)address, &length) != 0 ||
	    (backlog >= 0 && listen(fd, backlog) != 0))
		exit(2);
	return fd;
}

/* -1 = it was made at once. */
static int start(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 || errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	started++;
	return fd;
}

static int error_of(int fd)
{
	int error = -1;
	socklen_t length = sizeof(error);

	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
	return error;
}

static void wait_by_poll(int fd)
{
	struct pollfd polled = { fd, POLLOUT, 0 };

	while (poll(&polled, 1, -1) < 0)
		;
}

static void wait_by_select(int fd)
{
	fd_set writes;

	FD_ZERO(&writes);
	FD_SET(fd, &writes);
	while (select(fd + 1, NULL, &writes, NULL, NULL) < 0)
		;
}

static void wait_by_epoll(int fd)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.ptr = &started };
	int queue = epoll_create1(0);

	epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event);
	while (epoll_wait(queue, &event, 1, -1) < 0)
		;
	close(queue);
}

/* Before it is known: as the kernel has it. */
static void give_up(int fd)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);

	if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0)
		made++;
	else
		given_up++;
}

static void by_connecting_again(int fd, const struct sockaddr_in *to)
{
	struct pollfd polled = { fd, POLLOUT, 0 };

	while (connect(fd, (const struct sockaddr *)to, sizeof(*to)) != 0 && errno != EISCONN)
		in_vain += errno == EALREADY;
	made++;
	poll(&polled, 1, -1);
}

static void each_way(void (*wait)(int))
{
	for (int i = 0; i < 5; i++) {
		int fd = start(&server), bad = start(&nobody);

		if (fd >= 0) {
			wait(fd);
			made += error_of(fd) == 0;
			close(fd);
		}
		if (bad >= 0) {
			wait(bad);
			refused += error_of(bad) == ECONNREFUSED;
			close(bad);
		}
	}
}

static void again(void)
{
	for (int i = 0; i < 5; i++) {
		int fd = start(&server);

		if (fd >= 0)
			by_connecting_again(fd, &server);
		close(fd);
	}
}

static void close_each(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static void close_as_range(const int *fds, int count)
{
	(void)count;
	close_range((unsigned)fds[0], UINT_MAX, 0);
}

/* It has the parent's memory, but other descriptors: its numbers mean other sockets. */
static void in_vfork_child(const int *fds, int count, const struct sockaddr_in *to)
{
	pid_t child = vfork();

	if (child == 0) {
		for (int i = 0; i < count; i++)
			close(fds[i]);
		for (int i = 0; i < count; i++)
			connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
				(const struct sockaddr *)to, sizeof(*to));
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* The queue of a listener that accepts none is full soon. */
static void too_early(void (*close_all)(const int *, int))
{
	struct sockaddr_in full;
	int other = listener(&full, 0), fds[8];

	for (int i = 0; i < 8; i++)
		fds[i] = start(&full);
	in_vfork_child(fds, 8, &full);
	for (int i = 0; i < 8; i++)
		if (fds[i] >= 0)
			give_up(fds[i]);
	close_all(fds, 8);
	close(other);
}

static void bench(long count)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < count; i++) {
		int fd = start(&server);

		wait_by_poll(fd);
		error_of(fd);
		close(fd);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.1f\n",
	       ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		       (double)count);
}

int main(int argc, char **argv)
{
	int listening = listener(&server, 1000), bound = listener(&nobody, -1);

	if (argc > 2) {
		bench(atol(argv[2]));
		return 0;
	}
	each_way(wait_by_poll);
	each_way(wait_by_select);
	each_way(wait_by_epoll);
	again();
	too_early(close_each);
	too_early(close_as_range);
	printf("%d started, %d made, %d refused, %d given up, %d in vain\n", started, made, refused,
	       given_up, in_vain);
	close(listening);
	close(bound);
	return 0;
}
