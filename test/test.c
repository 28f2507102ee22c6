/* SPDX-License-Identifier: MIT */
/*
 * test.c - runs the tests that test.h has registered, and prints TAP.
 *
 * The child that runs a test reports the outcome by its exit status; a death by
 * signal, a sanitizer's exit or any other status is a failure.  Further
 * information (the reason of a skip) goes through a shared page. Lines for
 * humans start with "#", on stdout, so that they are next to their test.
 */
#include "test/test.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 600	/* a test that takes longer hangs; a busy machine is slow */

enum outcome { PASSED = 0, FAILED = 1, SKIPPED = 77, UNCHECKED = 78 };

extern const struct hp_test *const __start_hp_tests[] __attribute__((weak));
extern const struct hp_test *const __stop_hp_tests[] __attribute__((weak));

static atomic_int checks;
static char *skip_reason;	/* shared by parent and child */

static void fail_at(const struct hp_place *place)
{
	printf("# %s:%d: failed: %s\n", place->file, place->line, place->text);
}

/* Not exit(): the test's unfinished work must not run now. */
static void end_failed(void) __attribute__((noreturn));
static void end_failed(void)
{
	fflush(stdout);
	_exit(FAILED);
}

void hp_check(const struct hp_place *place, bool is_true)
{
	atomic_fetch_add(&checks, 1);
	if (is_true)
		return;
	fail_at(place);
	end_failed();
}

static void print_wide(const char *what, hp_wide value)
{
	if (value < 0)
		printf("#   %s %lld\n", what, (long long)value);
	else
		printf("#   %s %llu (0x%llx)\n", what, (unsigned long long)value,
		       (unsigned long long)value);
}

void hp_check_eq(const struct hp_place *place, hp_wide got, hp_wide want)
{
	atomic_fetch_add(&checks, 1);
	if (got == want)
		return;
	fail_at(place);
	print_wide("got ", got);
	print_wide("want", want);
	end_failed();
}

void hp_check_near(const struct hp_place *place, double got, double want, double most)
{
	atomic_fetch_add(&checks, 1);
	if (fabs(got - want) <= most)
		return;
	fail_at(place);
	printf("#   got  %.17g\n#   want %.17g, %.3g at most beside it\n", got, want, most);
	end_failed();
}

/* Line by line, with a "#" before each. */
static void print_text(const char *what, const char *text)
{
	printf("#   %s ", what);
	if (!text) {
		printf("NULL\n");
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '\n')
			printf("\\n\n#        ");
		else
			putchar(*text);
	}
	printf("\"\n");
}

void hp_check_str(const struct hp_place *place, const char *got, const char *want)
{
	atomic_fetch_add(&checks, 1);
	if (got == want || (got && want && !strcmp(got, want)))
		return;
	fail_at(place);
	print_text("got ", got);
	print_text("want", want);
	end_failed();
}

void hp_check_mem(const struct hp_place *place, const void *got, const void *want, size_t size)
{
	const unsigned char *g = got, *w = want;

	atomic_fetch_add(&checks, 1);
	for (size_t i = 0; i < size; i++) {
		if (g[i] == w[i])
			continue;
		fail_at(place);
		printf("#   byte %zu of %zu: got 0x%02x, want 0x%02x\n", i, size, g[i], w[i]);
		end_failed();
	}
}

void hp_skip(const char *reason)
{
	snprintf(skip_reason, 256, "%s", reason);
	fflush(stdout);
	_exit(SKIPPED);
}

/* The child: exit() and not _exit(), since exit() checks for leaks. */
static void run(const struct hp_test *test) __attribute__((noreturn));
static void run(const struct hp_test *test)
{
	alarm(TEST_SECONDS);
	test->run();
	exit(atomic_load(&checks) ? PASSED : UNCHECKED);
}

static int run_in_child(const struct hp_test *test)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run(test);
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("# fork");
		return FAILED;
	}
	if (WIFSIGNALED(status)) {
		printf("# ended by signal %d, %s\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
		return FAILED;
	}
	return WEXITSTATUS(status);
}

static bool run_and_tell(int number, const struct hp_test *test)
{
	int outcome = run_in_child(test);
	bool is_ok = outcome == PASSED || outcome == SKIPPED;

	if (outcome == UNCHECKED)
		printf("# made no check\n");
	else if (!is_ok && outcome != FAILED)
		printf("# exit status %d\n", outcome);
	printf("%sok %d - %s: %s", is_ok ? "" : "not ", number, test->suite, test->name);
	if (outcome == SKIPPED)
		printf(" # SKIP %s", skip_reason);
	putchar('\n');
	return is_ok;
}

/* Compared as numbers: to the compiler these are unrelated arrays. */
static size_t count(void)
{
	uintptr_t bytes = (uintptr_t)__stop_hp_tests - (uintptr_t)__start_hp_tests;

	return bytes / sizeof(__start_hp_tests[0]);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	int number = 0, failed = 0;

	skip_reason = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (skip_reason == MAP_FAILED)
		return 2;
	for (size_t i = 0; i < count(); i++) {
		const struct hp_test *test = __start_hp_tests[i];

		if (strstr(test->name, word) || strstr(test->suite, word))
			failed += !run_and_tell(++number, test);
	}
	printf("1..%d\n", number);
	return failed || !number;
}
