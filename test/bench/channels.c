/* SPDX-License-Identifier: MIT */
/*
 * channels.c WHAT [ROUNDS] - ns for one message, there and back out, in one thread: the minimum
 * of some rounds.  WHAT: pipe, pair, event, file, queue (GAsyncQueue); path, abstract:
 * a datagram to a name of that kind, passed with each call.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

void *g_async_queue_new(void);
void g_async_queue_push(void *queue, void *data);
void *g_async_queue_pop(void *queue);

#define MESSAGES 50000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int made(const char *what, int fds[2])
{
	if (strcmp(what, "pipe") == 0)
		return pipe(fds);
	if (strcmp(what, "pair") == 0)
		return socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	if (strcmp(what, "event") == 0)
		return (fds[0] = fds[1] = eventfd(0, 0)) < 0;
	fds[1] = open("/dev/null", O_WRONLY);
	fds[0] = open("/dev/zero", O_RDONLY);
	return 0;
}

static double descriptors(const int fds[2])
{
	uint64_t message = 1;
	double since = now();

	for (int i = 0; i < MESSAGES; i++)
		if (write(fds[1], &message, 8) != 8 || read(fds[0], &message, 8) != 8)
			abort();
	return (now() - since) / MESSAGES;
}

/* --- datagrams to a name --- */

static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_length;

static int named(const char *what, int fds[2])
{
	char *at = name.sun_path + (strcmp(what, "abstract") == 0);
	int length = snprintf(at, sizeof(name.sun_path) - 1, "/tmp/hotpath-bench.%d", getpid());

	name_length = (socklen_t)(at - (char *)&name) + (socklen_t)length;
	fds[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
	fds[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
	return bind(fds[0], (const struct sockaddr *)&name, name_length);
}

static double datagrams(const int fds[2])
{
	uint64_t message = 1;
	double since = now();

	for (int i = 0; i < MESSAGES; i++)
		if (sendto(fds[1], &message, 8, 0, (const struct sockaddr *)&name, name_length) !=
			    8 ||
		    recv(fds[0], &message, 8, 0) != 8)
			abort();
	return (now() - since) / MESSAGES;
}

/* --- queues --- */

static double queue_round(void *queue)
{
	double since = now();

	for (int i = 0; i < MESSAGES; i++) {
		g_async_queue_push(queue, queue);
		if (g_async_queue_pop(queue) != queue)
			abort();
	}
	return (now() - since) / MESSAGES;
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "pipe";
	int rounds = count > 2 ? atoi(arguments[2]) : 30, fds[2] = { -1, -1 };
	int is_queue = strcmp(what, "queue") == 0;
	int is_named = strcmp(what, "path") == 0 || strcmp(what, "abstract") == 0;
	void *queue = is_queue ? g_async_queue_new() : NULL;
	double least = 1e9;

	if (is_named ? named(what, fds) != 0 : !is_queue && made(what, fds) != 0)
		return 1;
	for (int i = 0; i < rounds; i++) {
		double ns = is_queue   ? queue_round(queue)
			    : is_named ? datagrams(fds)
				       : descriptors(fds);

		least = ns < least ? ns : least;
	}
	if (name.sun_path[0])
		unlink(name.sun_path);
	printf("%.1f\n", least);
	return 0;
}
