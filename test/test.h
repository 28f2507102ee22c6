/* SPDX-License-Identifier: MIT */
/*
 * test.h - unit tests: a new test is one function.
 *
 *	TEST(histogram, bucket_of_zero_is_zero)
 *	{
 *		CHECK_EQ(hp_bucket(0), 0);
 *	}
 *
 * TEST puts a pointer to its record into a linker section; test.c, which every
 * binary of test/unit is linked with, walks the section.  Each test runs in its
 * own process (a crash or a hang fails that test and no other; its changes to
 * the environment and to descriptors do not affect others) and the outcome is
 * printed as TAP. A failed check prints both values and ends the test; any
 * thread may make it. A test without any check fails. A test that cannot run
 * here calls SKIP with a reason.
 *
 * Run a binary with a word to run only the tests whose name contains it.
 */
#ifndef HP_TEST_TEST_H
#define HP_TEST_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hp_test {
	const char *suite;
	const char *name;
	void (*run)(void);
};

/* clang's AddressSanitizer would put red zones between the pointers. */
#ifdef __clang__
#define HP_NO_REDZONE __attribute__((no_sanitize("address")))
#else
#define HP_NO_REDZONE
#endif

#define TEST(suite_, name_) \
	static void suite_##_##name_(void); \
	static const struct hp_test test_##suite_##_##name_ = { #suite_, #name_, \
								suite_##_##name_ }; \
	HP_NO_REDZONE __attribute__((used, section("hp_tests"))) static const struct hp_test \
		*const entry_##suite_##_##name_ = &test_##suite_##_##name_; \
	static void suite_##_##name_(void)

/* A check's place in the source, and its text. */
struct hp_place {
	const char *file;
	int line;
	const char *text;
};

#define HP_HERE(text_) (&(const struct hp_place){ __FILE__, __LINE__, text_ })

/* The claim is true. */
#define CHECK(claim) hp_check(HP_HERE(#claim), !!(claim))

/* Two integers, of any width and sign, are the same number. */
#define CHECK_EQ(got, want) hp_check_eq(HP_HERE(#got " == " #want), (got), (want))

/* Two doubles differ by at most `most`. */
#define CHECK_NEAR(got, want, most) \
	hp_check_near(HP_HERE(#got " within " #most " of " #want), (got), (want), (most))

/* Two strings are equal; NULL equals NULL only. */
#define CHECK_STR(got, want) hp_check_str(HP_HERE(#got " is " #want), (got), (want))

/* Two memory ranges are equal; the first difference is printed. */
#define CHECK_MEM(got, want, size) hp_check_mem(HP_HERE(#got " is " #want), (got), (want), (size))

/* Ends the test as "cannot run here"; the reason is printed. */
#define SKIP(reason) hp_skip(reason)

typedef __int128 hp_wide;

void hp_check(const struct hp_place *place, bool is_true);
void hp_check_eq(const struct hp_place *place, hp_wide got, hp_wide want);
void hp_check_near(const struct hp_place *place, double got, double want, double most);
void hp_check_str(const struct hp_place *place, const char *got, const char *want);
void hp_check_mem(const struct hp_place *place, const void *got, const void *want, size_t size);
void hp_skip(const char *reason) __attribute__((noreturn));

#endif
