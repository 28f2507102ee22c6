/* SPDX-License-Identifier: MIT */
/*
 * report_answer_test.c - answers from debug information are reused, as long as the debug
 * file is the same.
 */
#include "test/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/elf/answer.h"

static const unsigned char id[] = { 0xab, 1, 2, 3 };
static char folder[64];
static char *path;

static void begin(void)
{
	strcpy(folder, "/tmp/hotpath-answer-XXXXXX");
	CHECK(mkdtemp(folder));
	path = hp_xprintf("%s/.debug-ab010203", folder);
	hp_answers_folder(folder, true);
}

static void end(void)
{
	hp_answers_folder(NULL, false);
	unlink(path);
	CHECK_EQ(rmdir(folder), 0);
	free(path);
}

static struct hp_answers *answers_open(int64_t written_s)
{
	struct stat debug = { .st_size = 1000, .st_mtim = { written_s, 5 } };

	return hp_answers_open(id, sizeof(id), &debug);
}

/* How many functions are at an address; -1 = not known. */
static int count_at(const struct hp_answers *answers, uint64_t address)
{
	struct hp_inline list[HP_INLINES_MAX];
	size_t count;

	return hp_answers_find(answers, address, list, &count) ? (int)count : -1;
}

/* Two functions that overlap, the second noted first; in the first two parts, one inlined. */
static void answers_make(void)
{
	struct hp_answers *answers = answers_open(7);
	const struct hp_inline two[] = { { "inner", "a.c", 3, 1 }, { "outer", NULL, 9, 0 } };
	const struct hp_inline one[] = { { "other", "a.c", 5, 0 } };

	hp_answers_add(answers, 0x1010, 0x1030, one, 1);
	hp_answers_add(answers, 0x1000, 0x1008, two, 2);
	hp_answers_add(answers, 0x1008, 0x1018, NULL, 0);
	hp_answers_settle(answers);
	CHECK_EQ(count_at(answers, 0x1000), 2);
	hp_answers_close(answers);
}

TEST(answer, it_is_the_same_from_the_file)
{
	struct hp_inline list[HP_INLINES_MAX];
	struct hp_answers *answers;
	struct stat status;
	size_t count;

	begin();
	answers_make();
	CHECK_EQ(stat(path, &status), 0);
	CHECK_EQ(status.st_mode & 0777, 0600);
	answers = answers_open(7);
	CHECK_EQ(count_at(answers, 0xfff), -1);
	CHECK_EQ(count_at(answers, 0x1008), 0);
	CHECK_EQ(count_at(answers, 0x1017), 0);
	CHECK_EQ(count_at(answers, 0x1018), 1);
	CHECK_EQ(count_at(answers, 0x102f), 1);
	CHECK_EQ(count_at(answers, 0x1030), -1);
	CHECK(hp_answers_find(answers, 0x1007, list, &count));
	CHECK_EQ(count, 2);
	CHECK_STR(list[0].name, "inner");
	CHECK_STR(list[0].file, "a.c");
	CHECK_EQ(list[0].line, 3);
	CHECK_EQ(list[0].is_inlined, 1);
	CHECK_STR(list[1].name, "outer");
	CHECK(!list[1].file);
	CHECK_EQ(list[1].is_inlined, 0);
	/* More is added after the first read. */
	hp_answers_add(answers, 0x2000, 0x2001, list, 2);
	hp_answers_settle(answers);
	hp_answers_close(answers);
	answers = answers_open(7);
	CHECK_EQ(count_at(answers, 0x2000), 2);
	CHECK_EQ(count_at(answers, 0x1000), 2);
	hp_answers_close(answers);
	end();
}

TEST(answer, another_debug_file_or_user_has_no_answer)
{
	struct hp_answers *answers;

	begin();
	answers_make();
	answers = answers_open(8);
	CHECK_EQ(count_at(answers, 0x1000), -1);
	hp_answers_close(answers);
	CHECK_EQ(chmod(path, 0644), 0);
	answers = answers_open(7);
	CHECK_EQ(count_at(answers, 0x1000), -1);
	hp_answers_close(answers);
	CHECK_EQ(chmod(path, 0600), 0);
	hp_answers_folder(NULL, false);
	CHECK(!answers_open(7));
	end();
}

/* A long list: the first result stays valid while more is added, and all of it is in the file. */
TEST(answer, texts_stay_where_they_are)
{
	struct hp_inline first[HP_INLINES_MAX], list[HP_INLINES_MAX];
	struct hp_answers *answers;
	size_t count;

	begin();
	answers_make();
	answers = answers_open(7);
	CHECK(!hp_answers_grow(answers));
	for (uint64_t i = 0; i < 5000; i++) {
		char *name = hp_xprintf("f%llu", (unsigned long long)i);
		const struct hp_inline one = { name, i % 2 ? "a.c" : "b.c", (int)i, 0 };

		hp_answers_add(answers, 0x10000 + 16 * i, 0x10010 + 16 * i, &one, 1);
		free(name);
		if (i == 0) {
			hp_answers_settle(answers);
			CHECK(hp_answers_find(answers, 0x10000, first, &count));
		}
	}
	hp_answers_settle(answers);
	CHECK(hp_answers_grow(answers));
	CHECK_STR(first[0].name, "f0");
	CHECK_STR(first[0].file, "b.c");
	CHECK(hp_answers_has(answers, 0x10000, 0x10000 + 16 * 5000));
	CHECK(!hp_answers_has(answers, 0xffff, 0x10010));
	hp_answers_close(answers);
	answers = answers_open(7);
	for (uint64_t i = 0; i < 5000; i++) {
		char *name = hp_xprintf("f%llu", (unsigned long long)i);

		CHECK(hp_answers_find(answers, 0x1000f + 16 * i, list, &count));
		CHECK_STR(list[0].name, name);
		CHECK_EQ(list[0].line, (int)i);
		free(name);
	}
	CHECK_EQ(count_at(answers, 0x1000), 2);
	hp_answers_close(answers);
	end();
}

/* Each byte of the file is changed in turn: nothing outside it is read. */
TEST(answer, a_damaged_file_does_no_harm)
{
	struct stat status;

	begin();
	answers_make();
	CHECK_EQ(stat(path, &status), 0);
	hp_answers_folder(folder, false);
	for (off_t i = 0; i < status.st_size; i++) {
		int fd = open(path, O_RDWR | O_CLOEXEC);
		unsigned char was, byte;
		struct hp_answers *answers;

		CHECK_EQ(pread(fd, &was, 1, i), 1);
		for (int bit = 0; bit < 8; bit += 7) {
			byte = was ^ (unsigned char)(1u << bit);
			CHECK_EQ(pwrite(fd, &byte, 1, i), 1);
			answers = answers_open(7);
			for (uint64_t at = 0xff0; at < 0x1040; at++)
				CHECK(count_at(answers, at) <= HP_INLINES_MAX);
			hp_answers_close(answers);
		}
		CHECK_EQ(pwrite(fd, &was, 1, i), 1);
		close(fd);
	}
	for (off_t size = 0; size < status.st_size; size += 5) {
		CHECK_EQ(truncate(path, size), 0);
		hp_answers_close(answers_open(7));
	}
	end();
}
