/* SPDX-License-Identifier: MIT */
/*
 * base_program.c - a program with data for every section, which does not end
 * normally: two threads wait for each other's lock when it is killed.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "include/hotpath.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t both_sides = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t in_step;
static sem_t tokens;
static int pipes[2];
static volatile unsigned long sink;

static void spin(void)
{
	for (int i = 0; i < 20000; i++)
		sink += (unsigned long)i;
}

static void *keep(size_t size)
{
	void *block = malloc(size);

	free(realloc(malloc(size / 2 + 1), size));
	return block;
}

static void *sender(void *unused)
{
	for (int i = 0; i < 200; i++) {
		if (write(pipes[1], "0123456789", 10) != 10)
			break;
		pthread_rwlock_rdlock(&both_sides);
		sink += (unsigned long)keep(100 + (size_t)i);
		pthread_rwlock_unlock(&both_sides);
		sem_post(&tokens);
	}
	close(pipes[1]);
	pthread_barrier_wait(&in_step);
	return unused;
}

static void *receiver(void *unused)
{
	char text[10];

	while (read(pipes[0], text, sizeof(text)) > 0) {
		sem_wait(&tokens);
		pthread_rwlock_wrlock(&both_sides);
		spin();
		pthread_rwlock_unlock(&both_sides);
	}
	pthread_mutex_lock(&first);
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&first);
	pthread_barrier_wait(&in_step);
	return unused;
}

/* Both wait forever: each holds the other's lock. */
static void *embrace(void *mine)
{
	pthread_mutex_t *other = mine == &first ? &second : &first;

	pthread_mutex_lock(mine);
	pthread_barrier_wait(&in_step);
	pthread_mutex_lock(other);
	return NULL;
}

static void child(void)
{
	if (fork() == 0) {
		free(keep(5000));
		_exit(3);
	}
	wait(NULL);
}

static void in_order(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
	pthread_mutex_lock(&second);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	pthread_mutex_unlock(&second);
}

static void streams(void)
{
	static char shown[2];

	for (int i = 0; i < 2; i++) {
		HOTPATH_STREAM(&shown[i], i ? "second" : "first");
		for (unsigned long item = 0; item < 60; item++)
			HOTPATH_STREAM_LOG(&shown[i], 10 + item, "an item");
	}
	HOTPATH_STREAM_END(&shown[0]);
	HOTPATH_STREAM_FAIL(&shown[1]);
}

static void futures(void)
{
	static char jobs[4];

	for (int i = 0; i < 4; i++) {
		HOTPATH_FUTURE(&jobs[i], "fetch");
		HOTPATH_FUTURE_POLL(&jobs[i]);
		free(keep(50));
		HOTPATH_FUTURE_PENDING(&jobs[i]);
	}
	HOTPATH_FUTURE_POLL(&jobs[0]);
	HOTPATH_FUTURE_READY(&jobs[0], "200 OK");
	HOTPATH_FUTURE_CANCEL(&jobs[1]);
}

static void values(void)
{
	for (int i = 0; i < 20; i++) {
		HOTPATH_GAUGE_SET("depth", i);
		HOTPATH_DBG(i * 2);
		HOTPATH_VAL("name", i & 1 ? "odd" : "even");
	}
}

/* Each turn is ended by a message, and one by the timeout. */
static void loop(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC), messages = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	uint64_t count = 30;

	epoll_ctl(fd, EPOLL_CTL_ADD, messages, &event);
	if (write(messages, &count, sizeof(count)) != sizeof(count))
		return;
	HOTPATH_LOOP("events");
	while (epoll_wait(fd, &event, 1, 2) > 0 && read(messages, &count, sizeof(count)) > 0)
		spin();
}

int main(void)
{
	struct timespec soon = { 0, 20000000 };
	pthread_t a, b;

	pthread_barrier_init(&in_step, NULL, 2);
	sem_init(&tokens, 0, 0);
	if (pipe(pipes) < 0)
		return 1;
	for (int i = 0; i < 500; i++)
		spin();
	child();
	in_order();
	streams();
	futures();
	values();
	loop();
	pthread_create(&a, NULL, sender, NULL);
	pthread_create(&b, NULL, receiver, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_create(&a, NULL, embrace, &first);
	pthread_create(&b, NULL, embrace, &second);
	nanosleep(&soon, NULL);
	raise(SIGKILL);
	return 0;
}
