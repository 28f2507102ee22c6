/* SPDX-License-Identifier: MIT */
/* test_test.c - the checks of test.h themselves, in cases where they must not fail. */
#include "test/test.h"

TEST(test, integers_are_compared_as_numbers_not_as_bits)
{
	CHECK_EQ(-1, -1L);
	CHECK_EQ(UINT64_MAX, UINT64_MAX);
	CHECK((hp_wide)-1 != (hp_wide)UINT64_MAX);
}

TEST(test, strings_may_be_missing_on_both_sides)
{
	const char *nothing = NULL;

	CHECK_STR(nothing, NULL);
	CHECK_STR("a", "a");
}

TEST(test, memory_and_doubles)
{
	CHECK_MEM("abc", "abd", 2);
	CHECK_NEAR(1.0, 1.5, 0.5);
}
