/* SPDX-License-Identifier: MIT */
/*
 * header_calls.cc - HOTPATH_NAME and HOTPATH_RESULT in functions that the
 * compiler instruments, and in some that it does not.
 */
#include <hotpath.h>

#include <cstdio>
#include <thread>

#define SEEN __attribute__((noinline))

SEEN static void plain_name()
{
	HOTPATH_NAME("plain");
	__asm__ volatile("");
}

SEEN static void under_a_block()
{
	HOTPATH_BLOCK("block-before");
	HOTPATH_NAME("name after a block");
	__asm__ volatile("");
}

namespace space
{
template <typename T> struct thing {
	T value;
	SEEN T run(T more) const
	{
		HOTPATH_NAME("thing<...>::run");
		return value + more;
	}
};
} // namespace space

/* Its frame is its caller's, which keeps its name. */
HOTPATH_SKIP static inline __attribute__((always_inline)) void not_seen_inline()
{
	HOTPATH_NAME("wrong, inlined");
	__asm__ volatile("");
}

HOTPATH_SKIP SEEN static void not_seen()
{
	HOTPATH_NAME("wrong, called");
	__asm__ volatile("");
}

SEEN static void keeps_its_name()
{
	not_seen_inline();
	not_seen();
}

SEEN static void with_result(int i)
{
	char text[200];

	std::snprintf(text, sizeof(text), "turn %d", i);
	HOTPATH_RESULT("a first one, which the second replaces");
	HOTPATH_RESULT(text);
}

SEEN static void without_result(int i)
{
	if (i == 3)
		HOTPATH_RESULT("only here");
	if (i == 4)
		HOTPATH_RESULT(nullptr);
}

/* 118 bytes, then a character of 3 bytes, which does not fit into 120. */
SEEN static void long_result()
{
	HOTPATH_RESULT("0123456789012345678901234567890123456789012345678901234567890123456789"
		       "012345678901234567890123456789012345678901234567\xe2\x82\xac and more");
}

SEEN static int nested_result(int depth)
{
	char text[20];

	std::snprintf(text, sizeof(text), "depth %d", depth);
	HOTPATH_RESULT(text);
	if (depth)
		nested_result(depth - 1);
	return depth;
}

/* The innermost recorded call: here, a block. */
SEEN static void result_of_block()
{
	{
		HOTPATH_BLOCK("has-result");
		HOTPATH_RESULT("of the block");
	}
	HOTPATH_RESULT("of the function");
}

HOTPATH_SKIP SEEN static void helper(const char *text)
{
	HOTPATH_RESULT(text);
}

SEEN static void result_by_helper()
{
	helper("a helper's");
}

static void all(int turns)
{
	for (int i = 0; i < turns; i++) {
		plain_name();
		under_a_block();
		space::thing<int>{ i }.run(1);
		keeps_its_name();
		with_result(i);
		without_result(i);
	}
	long_result();
	nested_result(5);
	result_of_block();
	result_by_helper();
}

int main()
{
	HOTPATH_NAME("not main");	/* main's row is called after the program */
	all(40);
	std::thread(all, 2).join();
	return 0;
}
