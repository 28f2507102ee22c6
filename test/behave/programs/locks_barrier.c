/* SPDX-License-Identifier: MIT */
/* locks_barrier.c - three threads at a barrier, one of them always the last to arrive. */
#include "asleep.h"

#include <pthread.h>

static pthread_barrier_t barrier;
static int tids[2];

static void *early(void *tid)
{
	*(int *)tid = gettid();
	for (int i = 0; i < 5; i++)
		pthread_barrier_wait(&barrier);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 3);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, early, &tids[i]);
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 2; j++) {
			while (!__atomic_load_n(&tids[j], __ATOMIC_ACQUIRE))
				usleep(100);
			until_asleep(getpid(), tids[j]);
		}
		pthread_barrier_wait(&barrier);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", getpid());
	return 0;
}
