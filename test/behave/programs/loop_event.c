/* SPDX-License-Identifier: MIT */
/*
 * loop_event.c - an event loop of libevent: prints what it did as "NAME NUMBER" lines.
 *
 * One pipe is written to after each of its events, 300 times, another one after every tenth; the callback of the
 * 150th stalls for 60 ms.  In the end the program reads its callback back.
 */
#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static struct event_base *base;
static struct event *often, *seldom;
static int ends[2][2];
static unsigned long called, stalled_ns;

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void on_event(evutil_socket_t fd, short what, void *data)
{
	char byte;

	(void)what;
	(void)data;
	called++;
	if (read(fd, &byte, 1) != 1)
		exit(2);
	if (fd != ends[0][0])
		return;
	if (called == 150) {
		uint64_t begin = now_ns();

		while (now_ns() - begin < 60000000)
			;
		stalled_ns = (unsigned long)(now_ns() - begin);
	}
	if (called % 10 == 0 && write(ends[1][1], "", 1) != 1)
		exit(2);
	if (called >= 300)
		event_base_loopexit(base, NULL);
	else if (write(ends[0][1], "", 1) != 1)
		exit(2);
}

int main(void)
{
	base = event_base_new();
	if (!base || pipe(ends[0]) != 0 || pipe(ends[1]) != 0)
		return 2;
	often = event_new(base, ends[0][0], EV_READ | EV_PERSIST, on_event, NULL);
	seldom = event_new(base, ends[1][0], EV_READ | EV_PERSIST, on_event, NULL);
	event_add(often, NULL);
	event_add(seldom, NULL);
	if (write(ends[0][1], "", 1) != 1)
		return 2;
	event_base_dispatch(base);
	printf("called %lu\nstalled_ns %lu\nreads_back %d\n", called, stalled_ns,
	       event_get_callback(often) == on_event);
	return 0;
}
