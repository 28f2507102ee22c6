/* SPDX-License-Identifier: MIT */
/*
 * assert.h - claims about our own code. `make DEBUG=1` checks them; a release
 * build only compiles them.
 *
 * For conditions that no input can violate: a record claimed twice, an index
 * beyond its table. Data from a file, a segment or the target is checked in
 * every build instead.
 */
#ifndef HP_UTIL_ASSERT_H
#define HP_UTIL_ASSERT_H

#ifdef HP_DEBUG

#include <string.h>
#include <unistd.h>

/* Also in the target and in signal handlers: only write(), then a trap. */
static inline __attribute__((cold, noreturn)) void hp_assert_fail(const char *claim)
{
	static const char before[] = "hotpath: assertion failed: ";

	if (write(2, before, sizeof(before) - 1) > 0 && write(2, claim, strlen(claim)) > 0)
		(void)!write(2, "\n", 1);
	__builtin_trap();
}

#define HP_ASSERT_TEXT2(line) #line
#define HP_ASSERT_TEXT(line) HP_ASSERT_TEXT2(line)
#define HP_ASSERT(claim) \
	(__builtin_expect(!!(claim), 1) \
		 ? (void)0 \
		 : hp_assert_fail(__FILE__ ":" HP_ASSERT_TEXT(__LINE__) ": " #claim))

#else

/* Never evaluated, but names in it are used and must exist. */
#define HP_ASSERT(claim) ((void)sizeof((claim) ? 1 : 0))

#endif

#endif
