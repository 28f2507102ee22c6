/* SPDX-License-Identifier: MIT */
/*
 * begin_test.c - the helper's information on the session's start survives the
 * transfer.
 */
#include <string.h>

#include "segment/session.h"
#include "test/test.h"

static void there_and_back(struct hp_begin begin, const char *expected)
{
	char text[HP_BEGIN_TEXT];
	struct hp_begin again;

	hp_begin_text(&begin, text);
	CHECK_STR(text, expected);
	CHECK(hp_begin_read(&again, text));
	CHECK_EQ(again.root_pid, begin.root_pid);
	CHECK_EQ(again.runner_pid, begin.runner_pid);
	CHECK_EQ(again.start_ns, begin.start_ns);
	CHECK_EQ(again.created_unix_ns, begin.created_unix_ns);
}

TEST(begin, is_read_as_it_was_written)
{
	there_and_back((struct hp_begin){ 0, 7, 0, 1 }, "0:7:0:1");
	there_and_back((struct hp_begin){ UINT32_MAX, UINT32_MAX, UINT64_MAX, INT64_MAX },
		       "4294967295:4294967295:18446744073709551615:9223372036854775807");
}

TEST(begin, other_texts_are_refused)
{
	static const char *const texts[] = { "",	 "1",	   "1:2:3",    "1:2:3:", "1:2:3:4:",
					     "1:2:3:4 ", "1::3:4", "-1:2:3:4", ":::" };
	struct hp_begin begin;

	CHECK(!hp_begin_read(&begin, NULL));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK(!hp_begin_read(&begin, texts[i]));
	CHECK_EQ(begin.root_pid, 0);
}
