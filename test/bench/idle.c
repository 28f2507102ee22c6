/* SPDX-License-Identifier: MIT */
/* idle.c - idle THREADS: THREADS threads that do nothing until the input ends. */
#include <pthread.h>
#include <unistd.h>

#include "test/bench/work.h"

static BENCH_CALLED void nap(void)
{
	pause();
}

static BENCH_PLAIN void *rest(void *unused)
{
	for (;;)
		nap();
	return unused;
}

BENCH_PLAIN int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 10;
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = 1; i < threads; i++)
		if (pthread_create(&id, &attr, rest, NULL) != 0)
			return 1;
	puts("idle");
	fflush(stdout);
	getchar();
	_exit(0);
}
