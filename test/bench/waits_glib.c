/* SPDX-License-Identifier: MIT */
/*
 * waits_glib.c TASKS - tasks of some µs for a GThreadPool of four threads, which
 * send the results through a GAsyncQueue to the main thread; a GMutex protects a
 * table that all of them write.  Prints the processor time in seconds.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static GAsyncQueue *results;
static GMutex table_lock;
static GHashTable *table;

static void work(gpointer task, gpointer unused)
{
	unsigned long sum = GPOINTER_TO_UINT(task);

	(void)unused;
	for (int i = 0; i < 3000; i++)
		sum = sum * 6364136223846793005 + (unsigned)i;
	g_mutex_lock(&table_lock);
	g_hash_table_insert(table, GUINT_TO_POINTER(sum % 1000), task);
	g_mutex_unlock(&table_lock);
	g_async_queue_push(results, GSIZE_TO_POINTER(sum | 1));
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 100000;
	GThreadPool *pool = g_thread_pool_new(work, NULL, 4, TRUE, NULL);
	struct timespec time;

	results = g_async_queue_new();
	table = g_hash_table_new(NULL, NULL);
	for (unsigned i = 1; i <= count; i++) {
		g_thread_pool_push(pool, GUINT_TO_POINTER(i), NULL);
		if (i > 64)
			g_async_queue_pop(results);
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	printf("%.3f\n", (double)time.tv_sec + (double)time.tv_nsec * 1e-9);
	return 0;
}
