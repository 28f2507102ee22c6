/* SPDX-License-Identifier: MIT */
/*
 * waits_memcached.c - a client of memcached for waits_programs.sh.
 *
 *   waits_memcached SOCKET REQUESTS   prints µs per request: a set, then gets of its value, each on 16 connections
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 16

static int clients[CLIENTS];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* One request on each connection; the server has them all before the first answer is read. */
static void all(const char *request, const char *answer)
{
	size_t length = strlen(request), wanted = strlen(answer);
	char room[256];

	for (int i = 0; i < CLIENTS; i++)
		if (write(clients[i], request, length) != (ssize_t)length)
			fail("write");
	for (int i = 0; i < CLIENTS; i++)
		for (size_t got = 0; got < wanted;) {
			ssize_t size = read(clients[i], room, sizeof(room));

			if (size <= 0)
				fail("read");
			got += (size_t)size;
		}
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timespec begin, end;
	long requests = argc > 2 ? atol(argv[2]) : 0;

	if (argc < 3 || requests < CLIENTS || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	strcpy(address.sun_path, argv[1]);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (clients[i] < 0 || connect(clients[i], (void *)&address, sizeof(address)) != 0)
			fail("connect");
	}
	all("set key 0 0 5\r\nvalue\r\n", "STORED\r\n");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (long i = 0; i < requests; i += CLIENTS)
		all("get key\r\n", "VALUE key 0 5\r\nvalue\r\nEND\r\n");
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%.3f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e6 +
			  (double)(end.tv_nsec - begin.tv_nsec) / 1e3) /
				 (double)requests);
	return 0;
}
