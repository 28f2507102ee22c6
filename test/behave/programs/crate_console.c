/* SPDX-License-Identifier: MIT */
/*
 * crate_console.c - has something for each view of the Rust crate's console: functions, allocations, a channel, streams,
 * futures, locks, values, an event loop; until it is killed. It says "up" after 50 rounds.
 */
#include <hotpath.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static int ends[2];
static void *volatile kept;

__attribute__((noinline)) void sell(void)
{
	char text[32] = "sold";

	pthread_mutex_lock(&stock);
	pthread_rwlock_rdlock(&prices);
	pthread_rwlock_unlock(&prices);
	pthread_rwlock_wrlock(&prices);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	HOTPATH_GAUGE_INC("sold", 1);
	HOTPATH_VAL("last", 7);
	if (write(ends[1], text, sizeof(text)) < 0 ||
	    HOTPATH_DBG(read(ends[0], text, sizeof(text))) < 0)
		abort();
}

__attribute__((noinline)) void read_list(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[200];

	while (file && fgets(line, sizeof(line), file))
		;
	if (file)
		fclose(file);
}

__attribute__((noinline)) void deliver(void)
{
	static int parcel;

	HOTPATH_FUTURE(&parcel, "parcel");
	HOTPATH_FUTURE_POLL(&parcel);
	kept = malloc(50);
	HOTPATH_FUTURE_PENDING(&parcel);
	free(kept);
	HOTPATH_FUTURE_POLL(&parcel);
	HOTPATH_FUTURE_READY(&parcel, "signed for");
}

static void *loop(void *unused)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	int queue = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t count;

	timerfd_settime(timer, 0, &each, NULL);
	epoll_ctl(queue, EPOLL_CTL_ADD, timer, &event);
	while (epoll_wait(queue, &event, 1, -1) == 1 && read(timer, &count, 8) == 8)
		;
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pipe(ends) != 0 || pthread_create(&thread, NULL, loop, NULL) != 0)
		return 1;
	for (int i = 0;; i++) {
		sell();
		deliver();
		if (i % 10 == 5)
			read_list();
		if (i == 50) {
			puts("up");
			fflush(stdout);
		}
		usleep(2000);
	}
}
