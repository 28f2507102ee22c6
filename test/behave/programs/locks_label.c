/* SPDX-License-Identifier: MIT */
/*
 * locks_label.c - locks that the program names: on the heap, static, destroyed and
 * created again, many with one name.
 */
#include <hotpath.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;

static void use(pthread_mutex_t *mutex, int count)
{
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
	}
}

int main(void)
{
	pthread_mutex_t *mutex = malloc(sizeof(*mutex));
	char name[] = "shard";
	sem_t sem;

	HOTPATH_LOCK(&plain, "the plain one");
	use(&plain, 10);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_init(mutex, NULL);
		HOTPATH_LOCK(mutex, name);
		use(mutex, 2);
		pthread_mutex_destroy(mutex);
	}
	/* Another one at the same address, without a name. */
	pthread_mutex_init(mutex, NULL);
	use(mutex, 5);
	pthread_mutex_destroy(mutex);
	sem_init(&sem, 0, 1);
	sem_wait(&sem);
	HOTPATH_LOCK(&sem, "tokens");
	sem_post(&sem);
	free(mutex);
	return 0;
}
