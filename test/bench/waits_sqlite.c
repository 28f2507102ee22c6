/* SPDX-License-Identifier: MIT */
/*
 * waits_sqlite.c THREADS ROUNDS - threads, each with its own in-memory database,
 * in one process: they share the library's allocator and its page
 * cache.  Prints the processor time in seconds.
 */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rounds;

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return;
	fprintf(stderr, "waits_sqlite: %s: %s\n", sql, sqlite3_errmsg(db));
	exit(1);
}

static void *work(void *unused)
{
	sqlite3 *db;
	char sql[128];

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		exit(1);
	run(db, "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)");
	for (int i = 0; i < rounds; i++) {
		snprintf(sql, sizeof(sql), "INSERT INTO t(b) VALUES('row %d of some text')", i);
		run(db, sql);
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM t WHERE a > %d - 10 AND b LIKE '%%7%%'", i);
		run(db, sql);
	}
	sqlite3_close(db);
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t threads[64];
	struct timespec time;

	rounds = argc > 2 ? atoi(argv[2]) : 10000;
	for (int i = 0; i < count && i < 64; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < count && i < 64; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	printf("%.3f\n", (double)time.tv_sec + (double)time.tv_nsec * 1e-9);
	return 0;
}
