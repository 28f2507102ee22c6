/* SPDX-License-Identifier: MIT */
/*
 * jobs.c - jobs of GThreadPools: 400 by address, 300 with one of three numbers, 50 with a priority,
 * and 40 of which some are dropped, as many as it prints.  Then whether a pool has its function.
 * jobs.c bench COUNT - ns of a job that does nothing, from its push to its end, 100 at a time.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EACH 400
#define SAME 300
#define SORTED 50
#define DROPPED 40

static gint ran, sum, disorder;
static gint last;	/* the number of the last job; 0 = none yet */
static GMutex mutex;
static GCond cond;
static gboolean is_open, is_first;

static void add(gpointer job, gpointer data)
{
	g_atomic_int_inc(&ran);
	g_atomic_int_add((gint *)data, GPOINTER_TO_INT(job));
}

static void add_pointer(gpointer job, gpointer data)
{
	add(GINT_TO_POINTER(*(gint *)job), data);
}

/* One at a time, in order, except the first one, which may have run before the others were there. */
static void check(gpointer job, gpointer data)
{
	gint number = GPOINTER_TO_INT(job);

	(void)data;
	g_mutex_lock(&mutex);
	while (!is_open)
		g_cond_wait(&cond, &mutex);
	g_mutex_unlock(&mutex);
	g_atomic_int_inc(&ran);
	if (number < last && !is_first)
		disorder++;
	is_first = last == 0;
	last = number;
}

static gint compare(gconstpointer a, gconstpointer b, gpointer data)
{
	(void)data;
	return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b);
}

static void open_gate(gboolean is)
{
	g_mutex_lock(&mutex);
	is_open = is;
	g_cond_broadcast(&cond);
	g_mutex_unlock(&mutex);
}

static void run_all(void)
{
	GThreadPool *pool = g_thread_pool_new(add_pointer, &sum, 4, TRUE, NULL);
	static gint jobs[EACH];

	for (int i = 0; i < EACH; i++) {
		jobs[i] = i;
		g_thread_pool_push(pool, &jobs[i], NULL);
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	pool = g_thread_pool_new(add, &sum, 4, FALSE, NULL);
	for (int i = 0; i < SAME; i++) {
		g_thread_pool_push(pool, GINT_TO_POINTER(1 + i % 3), NULL);
		while (g_thread_pool_unprocessed(pool) > 20)
			g_thread_yield();
	}
	g_thread_pool_free(pool, FALSE, TRUE);
}

/* The first one runs and holds up the others. */
static void run_sorted(void)
{
	GThreadPool *pool = g_thread_pool_new(check, NULL, 1, TRUE, NULL);

	last = 0;
	g_thread_pool_set_sort_function(pool, compare, NULL);
	for (int i = SORTED; i > 0; i--)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	open_gate(TRUE);
	g_thread_pool_free(pool, FALSE, TRUE);
	open_gate(FALSE);
}

static gpointer open_later(gpointer unused)
{
	open_gate(TRUE);
	return unused;
}

static gint run_dropped(void)
{
	GThreadPool *pool = g_thread_pool_new(check, NULL, 1, TRUE, NULL);
	gint before = ran;
	GThread *opener;

	last = 0;
	for (int i = 1; i <= DROPPED; i++)
		g_thread_pool_push(pool, GINT_TO_POINTER(i), NULL);
	opener = g_thread_new("opener", open_later, NULL);
	g_thread_pool_free(pool, TRUE, TRUE);
	g_thread_join(opener);
	return DROPPED - (ran - before);
}

#define AT_A_TIME 100

static void bench(int count)
{
	GThreadPool *pool = g_thread_pool_new(add_pointer, &sum, 1, TRUE, NULL);
	static gint jobs[AT_A_TIME];
	gint64 begin = g_get_monotonic_time();

	for (int i = 0; i < count; i++) {
		g_thread_pool_push(pool, &jobs[i % AT_A_TIME], NULL);
		while (i % AT_A_TIME == AT_A_TIME - 1 && g_atomic_int_get(&ran) <= i)
			;
	}
	g_thread_pool_free(pool, FALSE, TRUE);
	printf("%.1f\n", 1e3 * (double)(g_get_monotonic_time() - begin) / count);
}

int main(int argc, char **argv)
{
	GThreadPool *pool;
	gint dropped;

	if (argc > 2 && strcmp(argv[1], "bench") == 0) {
		bench(atoi(argv[2]));
		return 0;
	}
	run_all();
	run_sorted();
	dropped = run_dropped();
	pool = g_thread_pool_new(add, &sum, 1, TRUE, NULL);
	printf("pushed %d\nran %d\ndropped %d\nsum %d\ndisorder %d\n",
	       EACH + SAME + SORTED + DROPPED, ran, dropped, sum, disorder);
	printf("own %d\n", pool->func == add && pool->user_data == &sum);
	g_thread_pool_free(pool, TRUE, TRUE);
	return 0;
}
