/* SPDX-License-Identifier: MIT */
/*
 * preload_pages_test.c - pieces of our own memory are disjoint, empty, and freed one by one.
 */
#include "preload/guest/pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/guest/self.h"
#include "test/test.h"

#define PIECES 400
#define THREADS 4

struct piece {
	unsigned char *at;
	uint64_t size;
	unsigned char mark;
};

static void piece_take(struct piece *piece, int i)
{
	piece->size = i % 5 ? (uint64_t)(i * 977 % 40000 + 1) : UINT64_C(100000);
	piece->mark = (unsigned char)(i % 255 + 1);
	piece->at = hp_pages(piece->size);
}

static bool is_all(const struct piece *piece, unsigned char mark)
{
	for (uint64_t i = 0; i < piece->size; i++)
		if (piece->at[i] != mark)
			return false;
	return true;
}

/* NULL = every piece was empty, and nobody else wrote into it. */
static void *take_many(void *unused)
{
	struct piece *pieces = calloc(PIECES, sizeof(*pieces));
	void *bad = NULL;

	(void)unused;
	for (int i = 0; i < PIECES; i++) {
		piece_take(&pieces[i], i);
		if (!pieces[i].at || (uintptr_t)pieces[i].at % HP_PAGE || !is_all(&pieces[i], 0))
			bad = pieces[i].at;
		memset(pieces[i].at, pieces[i].mark, pieces[i].size);
		/* Its neighbours stay. */
		if (i % 3 == 2)
			hp_pages_release(pieces[i - 1].at, pieces[i - 1].size);
	}
	for (int i = 0; i < PIECES; i++)
		if (i % 3 != 1 && !is_all(&pieces[i], pieces[i].mark))
			bad = pieces[i].at;
	free(pieces);
	return bad;
}

TEST(pages, pieces_of_all_threads_are_apart_and_empty)
{
	pthread_t threads[THREADS];
	void *bad;

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, take_many, NULL), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &bad);
		CHECK(!bad);
	}
}

/* 0 = a child finds all of them empty, and gets others that do not overlap them. */
static int child_look(unsigned char *const *pages, unsigned char *kept)
{
	for (int i = 0; i < PIECES; i++) {
		if (pages[i][0])
			return 1;
		pages[i][0] = 7;
	}
	for (int i = 0; i < PIECES; i++) {
		unsigned char *mine = hp_part_wiped(48);

		if (!mine || mine[0])
			return 2;
		mine[0] = 9;
	}
	for (int i = 0; i < PIECES; i++)
		if (pages[i][0] != 7)
			return 3;
	return kept[0] == 1 ? 0 : 4;
}

TEST(pages, a_forked_child_finds_wiped_pages_empty_and_others_as_they_are)
{
	unsigned char *pages[PIECES], *kept = hp_pages(1);
	int status = 0;
	pid_t child;

	kept[0] = 1;
	for (int i = 0; i < PIECES; i++) {
		pages[i] = hp_part_wiped(48);
		CHECK(pages[i] && !pages[i][0]);
		pages[i][0] = 5;
	}
	child = fork();
	if (child == 0)
		_exit(child_look(pages, kept));
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	for (int i = 0; i < PIECES; i++)
		CHECK_EQ(pages[i][0], 5);
}
