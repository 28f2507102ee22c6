/* SPDX-License-Identifier: MIT */
/*
 * loop_turns.c - three threads that take turns in waiting at one epoll instance; the others wait in
 * a condition, or with an argument for a semaphore each, or for a mutex. One event makes its thread compute for a while. Afterwards one thread is left, and
 * waits for another thread in a condition between two events. Prints both times.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define THREADS 3
#define EVENTS 150
#define STALL_NS 200000000L

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static sem_t turns[THREADS];
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static int has_semaphores, has_mutex, turn, taken, has_answer, epoll_fd, pipes[2][2];
static long stalled_ns, blocked_ns;

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

static void feed(int number)
{
	if (write(pipes[number % 2][1], "x", 1) != 1)
		exit(2);
}

static void take(void)
{
	struct epoll_event event;
	char byte;

	if (epoll_wait(epoll_fd, &event, 1, -1) != 1 || read(event.data.fd, &byte, 1) != 1)
		exit(2);
}

/* The next event comes only when this one is done. */
static void handle(int number)
{
	long since = now();

	if (number == EVENTS / 2) {
		while (now() - since < STALL_NS)
			;
		stalled_ns = now() - since;
	}
	if (number < EVENTS)
		feed(number);
}

static void turn_wait(int me)
{
	if (has_mutex) {
		pthread_mutex_lock(&turn_lock);
		return;
	}
	if (has_semaphores) {
		sem_wait(&turns[me]);
		return;
	}
	pthread_mutex_lock(&lock);
	while (turn != me)
		pthread_cond_wait(&turned, &lock);
	pthread_mutex_unlock(&lock);
}

static void turn_pass(int me)
{
	if (has_mutex) {
		pthread_mutex_unlock(&turn_lock);
		usleep(500);	/* or it takes the next turn, too */
		return;
	}
	if (has_semaphores) {
		sem_post(&turns[(me + 1) % THREADS]);
		return;
	}
	pthread_mutex_lock(&lock);
	turn = (turn + 1) % THREADS;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&lock);
}

static void *serve(void *data)
{
	int me = (int)(long)data, number;

	for (;;) {
		turn_wait(me);
		if (taken < EVENTS)
			take();
		number = ++taken;
		turn_pass(me);
		if (number > EVENTS)
			return NULL;
		handle(number);
	}
}

static void *answer(void *data)
{
	const struct timespec time = { .tv_nsec = STALL_NS };

	nanosleep(&time, NULL);
	pthread_mutex_lock(&lock);
	has_answer = 1;
	pthread_cond_signal(&answered);
	pthread_mutex_unlock(&lock);
	return data;
}

static void ask(void)
{
	pthread_t thread;
	long since = now();

	pthread_create(&thread, NULL, answer, NULL);
	pthread_mutex_lock(&lock);
	while (!has_answer)
		pthread_cond_wait(&answered, &lock);
	pthread_mutex_unlock(&lock);
	blocked_ns = now() - since;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	has_semaphores = argc > 1 && strcmp(argv[1], "semaphores") == 0;
	has_mutex = argc > 1 && strcmp(argv[1], "mutex") == 0;
	for (int i = 0; i < THREADS; i++)
		sem_init(&turns[i], 0, i == 0);

	epoll_fd = epoll_create1(0);
	for (int i = 0; i < 2; i++) {
		struct epoll_event wanted = { .events = EPOLLIN };

		if (pipe(pipes[i]) != 0)
			return 2;
		wanted.data.fd = pipes[i][0];
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipes[i][0], &wanted) != 0)
			return 2;
	}
	feed(0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 30; i++) {
		feed(i);
		take();
		if (i == 20)
			ask();
	}
	printf("stalled_ns %ld\nblocked_ns %ld\n", stalled_ns, blocked_ns);
	return 0;
}
