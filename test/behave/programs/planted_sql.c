/* SPDX-License-Identifier: MIT */
/* planted_sql.c NAME [fixed] - like planted.c, with SQLite. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

static bool is_fixed;
static sqlite3 *db;
static sqlite3_stmt *kept;

static sqlite3_stmt *prepare(const char *text)
{
	sqlite3_stmt *statement;

	if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK)
		abort();
	return statement;
}

APART static void insert(int i)
{
	char text[128];
	sqlite3_stmt *statement = kept;

	if (!is_fixed) {
		snprintf(text, sizeof(text), "insert into t values (%d, %d)", i, i * 7 % 1000);
		statement = prepare(text);
	} else {
		sqlite3_reset(kept);
		sqlite3_bind_int(kept, 1, i);
		sqlite3_bind_int(kept, 2, i * 7 % 1000);
	}
	if (sqlite3_step(statement) != SQLITE_DONE)
		abort();
	if (!is_fixed)
		sqlite3_finalize(statement);
}

static void inserts(void)
{
	sqlite3_exec(db, "create table t(a integer primary key, b); begin", NULL, NULL, NULL);
	kept = prepare("insert into t values (?, ?)");
	for (int i = 0; i < 100000; i++)
		insert(i);
	sqlite3_finalize(kept);
	sqlite3_exec(db, "commit", NULL, NULL, NULL);
}

/* A few statements with much work each. */
static void query(void)
{
	sqlite3_exec(db,
		     "create table t(a, b); with recursive c(x) as (select 1 union all select x+1 "
		     "from c where x<300000) insert into t select x, x*7%1000 from c",
		     NULL, NULL, NULL);
	for (int i = 0; i < 4; i++) {
		sqlite3_stmt *statement = prepare("select b, count(*), sum(a) from t group by b");

		while (sqlite3_step(statement) == SQLITE_ROW)
			;
		sqlite3_finalize(statement);
	}
}

int main(int argc, char **argv)
{
	is_fixed = argc > 2;
	if (argc < 2 || sqlite3_open(":memory:", &db) != SQLITE_OK)
		return 2;
	if (strcmp(argv[1], "inserts") == 0)
		inserts();
	else
		query();
	sqlite3_close(db);
	return 0;
}
