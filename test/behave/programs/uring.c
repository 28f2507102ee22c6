/* SPDX-License-Identifier: MIT */
/*
 * uring.c - requests to io_uring by liburing; prints how many it began, and how they ended.
 *
 * uring nops COUNT   each with its own number; `polled`: by the kernel's thread; `same`: all with
 *                    one number, up to 32 in flight
 * uring many COUNT   that many in flight at a time, from two places
 * uring cancel       reads that are cancelled, a poll that reports several times, and failures
 * uring unseen       more completions between two calls than the ring holds
 */
#include <liburing.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long begun, ended, cancelled, sum_out, sum_in;

static struct __kernel_timespec *limit;	/* of a wait; NULL = none */

static void fail(const char *what, int error)
{
	printf("%s: %s\n", what, strerror(-error));
	exit(error == -ENOSYS || error == -EPERM ? 77 : 1);
}

static struct io_uring_sqe *entry(struct io_uring *ring, unsigned long number)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	/* The kernel's thread takes them when it likes. */
	while (!sqe) {
		io_uring_submit(ring);
		sqe = io_uring_get_sqe(ring);
	}
	io_uring_prep_nop(sqe);
	io_uring_sqe_set_data64(sqe, number);
	begun++;
	sum_out += number;
	return sqe;
}

static void take(struct io_uring *ring, const struct io_uring_cqe *cqe)
{
	if (!(cqe->flags & IORING_CQE_F_MORE)) {
		ended++;
		cancelled += cqe->res == -ECANCELED;
		sum_in += cqe->user_data;
	}
	io_uring_cq_advance(ring, 1);
}

static void take_one(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int error = limit ? io_uring_wait_cqe_timeout(ring, &cqe, limit)
			  : io_uring_wait_cqe(ring, &cqe);

	if (error)
		fail("io_uring_wait_cqe", error);
	take(ring, cqe);
}

static struct io_uring *ring_new(unsigned flags, unsigned size)
{
	static struct io_uring ring;
	struct io_uring_params how = { .flags = flags, .sq_thread_idle = 1000 };
	int error = io_uring_queue_init_params(size, &ring, &how);

	if (error)
		fail("io_uring_queue_init", error);
	return &ring;
}

static void nops(unsigned long count, unsigned flags, int is_same)
{
	const unsigned burst = 32;
	struct io_uring *ring = ring_new(flags, 64);

	for (unsigned long number = 1; number <= count; number += burst) {
		for (unsigned i = 0; i < burst; i++)
			entry(ring, is_same ? 0 : number + i);
		io_uring_submit_and_wait(ring, 1);
		while (ended < begun)
			take_one(ring);
	}
	io_uring_queue_exit(ring);
}

/* All wait for one byte, and end at once. */
static void many(unsigned long count)
{
	struct io_uring *ring = ring_new(0, 4096);
	int fds[2];

	if (pipe(fds) != 0)
		exit(1);
	for (unsigned long number = 1; number <= count; number++) {
		io_uring_prep_poll_add(entry(ring, 0), fds[0], POLLIN);
		ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask].user_data =
			number * 64;
		/* Two places that submit. */
		if (number % 64 == 0)
			io_uring_submit(ring);
		else if (number % 32 == 0)
			io_uring_submit(ring);
	}
	io_uring_submit(ring);
	if (write(fds[1], "x", 1) != 1)
		exit(1);
	while (ended < begun)
		take_one(ring);
	io_uring_queue_exit(ring);
}

static void cancel(void)
{
	static struct __kernel_timespec long_enough = { .tv_sec = 60 };
	struct io_uring *ring = ring_new(0, 64);
	static char byte[8];
	struct io_uring_sqe *sqe;
	int fds[2], watched[2];

	limit = &long_enough;
	if (pipe(fds) != 0 || pipe(watched) != 0)
		exit(1);
	for (unsigned i = 0; i < 8; i++)
		io_uring_prep_read(entry(ring, 0), fds[0], &byte[i], 1, 0),
			io_uring_sqe_set_data64(
				&ring->sq.sqes[(ring->sq.sqe_tail - 1) & *ring->sq.kring_mask],
				100 + i);
	io_uring_submit(ring);
	for (unsigned i = 0; i < 7; i++) {
		sqe = entry(ring, 0);
		io_uring_prep_cancel64(sqe, 100 + i, 0);
		io_uring_sqe_set_data64(sqe, 200 + i);
	}
	sqe = entry(ring, 0);
	io_uring_prep_poll_multishot(sqe, watched[0], POLLIN);
	io_uring_sqe_set_data64(sqe, 300);
	sqe = entry(ring, 0);
	io_uring_prep_read(sqe, 999, byte, 1, 0);
	io_uring_sqe_set_data64(sqe, 301);
	io_uring_submit(ring);
	while (ended < 15)
		take_one(ring);
	for (unsigned i = 0; i < 3; i++) {
		if (write(watched[1], "x", 1) != 1)
			exit(1);
		take_one(ring);
	}
	if (write(fds[1], "x", 1) != 1)
		exit(1);
	take_one(ring);
	/* The poll never ends. */
	printf("%lu open\n", begun - ended);
	io_uring_queue_exit(ring);
}

static void unseen(void)
{
	struct io_uring *ring = ring_new(0, 8);
	unsigned size = *ring->cq.kring_entries, head, count = 3 * size;
	struct io_uring_cqe *cqe;
	static char byte[256];
	static int fds[256][2];

	for (unsigned i = 0; i < count && i < 256; i++) {
		struct io_uring_sqe *sqe = entry(ring, 0);

		if (pipe(fds[i]) != 0)
			exit(1);
		io_uring_prep_read(sqe, fds[i][0], &byte[i], 1, 0);
		io_uring_sqe_set_data64(sqe, i + 1);
	}
	io_uring_submit(ring);
	/* Only inline functions and system calls from here. */
	for (unsigned i = 0; i < count; i++) {
		if (write(fds[i][1], "x", 1) != 1)
			exit(1);
		while (ended <= i)
			io_uring_for_each_cqe(ring, head, cqe)
			{
				take(ring, cqe);
				break;
			}
	}
	printf("%u kept\n", size);
	io_uring_queue_exit(ring);
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";
	unsigned long number = count > 2 ? strtoul(words[2], NULL, 0) : 0;

	if (strcmp(mode, "nops") == 0)
		nops(number, 0, 0);
	else if (strcmp(mode, "polled") == 0)
		nops(number, IORING_SETUP_SQPOLL, 0);
	else if (strcmp(mode, "same") == 0)
		nops(number, 0, 1);
	else if (strcmp(mode, "many") == 0)
		many(number);
	else if (strcmp(mode, "cancel") == 0)
		cancel();
	else if (strcmp(mode, "unseen") == 0)
		unseen();
	else
		return 2;
	printf("%lu begun, %lu ended, %lu cancelled\n", begun, ended, cancelled);
	return strcmp(mode, "nops") == 0 && sum_in != sum_out;
}
