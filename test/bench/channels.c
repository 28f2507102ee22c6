/* SPDX-License-Identifier: MIT */
/*
 * channels.c WHAT [ROUNDS] - ns for one message, there and back out, in one thread: the least of
 * some rounds.  WHAT: pipe, pair, event, file, queue (GAsyncQueue).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
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
	void *queue = is_queue ? g_async_queue_new() : NULL;
	double least = 1e9;

	if (!is_queue && made(what, fds) != 0)
		return 1;
	for (int i = 0; i < rounds; i++) {
		double ns = is_queue ? queue_round(queue) : descriptors(fds);

		least = ns < least ? ns : least;
	}
	printf("%.1f\n", least);
	return 0;
}
