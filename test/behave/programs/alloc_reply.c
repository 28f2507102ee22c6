/* SPDX-License-Identifier: MIT */
/*
 * alloc_reply.c ROUNDS - a client's request is freed by the server, whose reply takes the same address and is
 * freed by the client: by its address the client's newest block, but the server's. Prints how often the addresses were
 * equal. One reply in eight is kept.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static sem_t to, back;
static void *box;
static long same, rounds;

__attribute__((noinline)) static void *request(void)
{
	void *volatile block = malloc(64);

	return block;
}

__attribute__((noinline)) static void *reply(void)
{
	void *volatile block = malloc(64);

	return block;
}

/* So that the server's newest block is another one. */
__attribute__((noinline)) static void scratch(void)
{
	void *volatile block = malloc(300);

	free(block);
}

static void *serve(void *unused)
{
	for (long i = 0; i < rounds; i++) {
		void *was;

		sem_wait(&to);
		was = box;
		free(was);
		box = reply();
		same += box == was;
		scratch();
		sem_post(&back);
	}
	return unused;
}

/* Of the ways to free a block, one after the other. */
static void done(long i)
{
	void *volatile kept = box;

	if (i % 8 == 7)
		return;
	if (i % 2)
		kept = realloc(kept, 5000);
	free(kept);
}

int main(int argc, char **argv)
{
	pthread_t server;

	rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	if (sem_init(&to, 0, 0) || sem_init(&back, 0, 0) ||
	    pthread_create(&server, NULL, serve, NULL))
		return 1;
	for (long i = 0; i < rounds; i++) {
		box = request();
		sem_post(&to);
		sem_wait(&back);
		done(i);
	}
	pthread_join(server, NULL);
	printf("%ld\n", same);
	return 0;
}
