/* SPDX-License-Identifier: MIT */
/*
 * digests.c [outside] - threads that add records to a table with a lock; the digest of a record is
 * made under the lock, or before it, and then the table itself takes as long.
 */
#include <pthread.h>
#include <string.h>

#define APART __attribute__((noinline))
#define THREADS 3

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double table[64];
static int is_outside;

APART static double digest(int record)
{
	double sum = record;

	for (int i = 0; i < 60000; i++)
		sum = sum * .999 + i % 7;
	return sum;
}

APART static void store(double sum, int steps)
{
	for (int i = 0; i < steps; i++)
		table[i % 64] = table[i % 64] * .999 + sum;
}

APART static void insert(int record)
{
	double sum = is_outside ? digest(record) : 0;

	pthread_mutex_lock(&table_lock);
	if (!is_outside)
		sum = digest(record);
	store(sum, is_outside ? 60000 : 600);
	pthread_mutex_unlock(&table_lock);
}

static void *run(void *none)
{
	for (int i = 0; i < 1500; i++)
		insert(i);
	return none;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	is_outside = argc > 1 && strcmp(argv[1], "outside") == 0;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
