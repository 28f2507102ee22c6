/*
 * streams.c - streams that the program marks; prints the expected figures of the
 * report: LABEL INSTANCES ITEMS BYTES.
 */
#include <hotpath.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define ITEMS 50000

static int shared, rows, parent, large;

static void *take(void *unused)
{
	for (int i = 0; i < ITEMS; i++)
		HOTPATH_STREAM_ITEM(&shared, 3);
	return unused;
}

static void row_stream(int i)
{
	HOTPATH_STREAM(&rows, "rows");
	for (int n = 0; n < 10; n++)
		HOTPATH_STREAM_LOG(&rows, 100, n == 9 ? "a text of the program's own" : NULL);
	if (i % 100 == 0)
		HOTPATH_STREAM_FAIL(&rows);
	else
		HOTPATH_STREAM_END(&rows);
}

int main(void)
{
	pthread_t threads[THREADS];
	pid_t child;

	HOTPATH_STREAM(&shared, "shared");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	HOTPATH_STREAM_END(&shared);
	for (int i = 0; i < 1000; i++)
		row_stream(i);
	HOTPATH_STREAM(&large, "large");
	HOTPATH_STREAM_ITEM(&large, 5000000000UL);
	HOTPATH_STREAM(&parent, "parent");
	HOTPATH_STREAM_ITEM(&parent, 0);
	child = fork();
	if (child == 0) {
		HOTPATH_STREAM(&parent, "child");
		HOTPATH_STREAM_ITEM(&parent, 7);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	printf("shared 1 %d %d\nrows 1000 10000 1000000\nlarge 1 1 5000000000\nparent 1 1 0\nchild 1 1 7\n",
	       THREADS * ITEMS, THREADS * ITEMS * 3);
	return 0;
}
