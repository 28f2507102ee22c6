/* SPDX-License-Identifier: MIT */
/*
 * crowd_child.c N - with N waiting threads, makes a child that ends, and prints its pid.
 *
 * Then the first thread ends at the end of its input, while another one computes for 0.3 s.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_end(void *nothing)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

__attribute__((noinline)) static void late_burn(clockid_t clock, long ns)
{
	static volatile unsigned long n;
	struct timespec now;

	do {
		for (int i = 0; i < 100000; i++)
			n++;
		clock_gettime(clock, &now);
	} while (now.tv_sec * 1000000000 + now.tv_nsec < ns);
}

static void *burn_alone(void *first)
{
	pthread_join(*(pthread_t *)first, NULL);
	late_burn(CLOCK_THREAD_CPUTIME_ID, 300000000);
	exit(0);
}

int main(int argc, char **argv)
{
	static pthread_t first;
	int count = argc > 1 ? atoi(argv[1]) : 400;
	pthread_attr_t small;
	pthread_t thread;
	pid_t child;
	char byte;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &small, wait_for_end, NULL))
			return 7;
	/* A scan of the helper comes at least as often. */
	nanosleep(&(struct timespec){ 0, 600000000 }, NULL);
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("%d\n", (int)child);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	first = pthread_self();
	if (pthread_create(&thread, NULL, burn_alone, &first))
		return 7;
	pthread_exit(NULL);
}
