/* SPDX-License-Identifier: MIT */
/*
 * report_revision_test.c - the revision in a .git of any kind, and none in a
 * lookalike.
 */
#include "test/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/revision.h"

#define SHA "0123456789abcdef0123456789abcdef01234567"
#define OTHER "ffffffffffffffffffffffffffffffffffffffff"

static char root[] = "/tmp/hotpath-revision-XXXXXX";

static void clean(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	CHECK_EQ(system(command), 0);
}

/* Each test runs in its own process. */
static void begin(void)
{
	CHECK(mkdtemp(root) != NULL);
	CHECK_EQ(chdir(root), 0);
	atexit(clean);
	mkdir("repo", 0700);
	mkdir("repo/.git", 0700);
	mkdir("repo/.git/refs", 0700);
	mkdir("repo/.git/refs/heads", 0700);
	mkdir("repo/build", 0700);
}

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL);
	fputs(text, file);
	fclose(file);
}

static void finds(const char *file, const char *sha, const char *ref)
{
	struct hp_revision revision;

	CHECK(hp_revision_find(&revision, file));
	CHECK_STR(revision.sha, sha);
	CHECK_STR(revision.ref, ref);
}

static void finds_nothing(const char *file)
{
	struct hp_revision revision;

	CHECK(!hp_revision_find(&revision, file));
}

TEST(revision, of_a_branch_from_a_file_below)
{
	begin();
	put("repo/.git/HEAD", "ref: refs/heads/main\n");
	put("repo/.git/refs/heads/main", SHA "\n");
	put("repo/build/app", "");
	finds("repo/build/app", SHA, "refs/heads/main");
	finds("repo/build", SHA, "refs/heads/main");
}

TEST(revision, packed)
{
	begin();
	put("repo/.git/HEAD", "ref: refs/heads/a/b\n");
	put("repo/.git/packed-refs", "# pack-refs with: peeled\n" OTHER " refs/heads/a\n" SHA
				     " refs/heads/a/b\n^" OTHER "\n");
	finds("repo", SHA, "refs/heads/a/b");
}

TEST(revision, detached)
{
	begin();
	put("repo/.git/HEAD", SHA "\n");
	finds("repo", SHA, "");
}

TEST(revision, of_a_worktree)
{
	begin();
	mkdir("repo/.git/worktrees", 0700);
	mkdir("repo/.git/worktrees/w", 0700);
	mkdir("tree", 0700);
	put("tree/.git", "gitdir: ../repo/.git/worktrees/w\n");
	put("repo/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
	put("repo/.git/worktrees/w/commondir", "../..\n");
	put("repo/.git/refs/heads/side", SHA "\n");
	finds("tree", SHA, "refs/heads/side");
}

TEST(revision, none)
{
	begin();
	finds_nothing("/");
	finds_nothing("/nowhere/at/all");
	finds_nothing("repo");	/* no HEAD */
	put("repo/.git/HEAD", "ref: refs/heads/main\n");
	finds_nothing("repo");	/* no such branch yet */
	put("repo/.git/refs/heads/main", "not a revision\n");
	finds_nothing("repo");
	put("repo/.git/HEAD", "ref: refs/../../../secret\n");
	put("secret", SHA "\n");
	finds_nothing("repo");
	put("repo/.git/HEAD", SHA "0\n");
	finds_nothing("repo");
	put("repo/.git/HEAD", "");
	finds_nothing("repo");
}
