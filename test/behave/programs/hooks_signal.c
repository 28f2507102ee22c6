/* SPDX-License-Identifier: MIT */
/*
 * hooks_signal.c - signal handlers that enter instrumented code at a high rate,
 * while the code they interrupt enters functions on paths never seen before,
 * grows deep, and switches stacks; on the thread's stack and on small signal stacks.
 */
#include "hooks.h"

#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile long passes, handled;

COUNTER(inner);
SEEN static void inner(long depth)
{
	CALLED(inner);
	passes++;
	if (depth)
		inner(depth - 1);
}

COUNTER(handler);
SEEN static void handler(int number)
{
	CALLED(handler);
	(void)number;
	handled++;
	inner(handled % 3);
}

/*
 * Ten functions which call each other by the digits of a number: 10^5 paths
 * (recursion is folded, so only rows with all digits different are new).
 */
#define DIGIT(n) \
	COUNTER(digit##n); \
	static void call(long number); \
	SEEN static void digit##n(long number) \
	{ \
		CALLED(digit##n); \
		call(number / 10); \
		passes += n; \
	}
DIGIT(0)
DIGIT(1)
DIGIT(2)
DIGIT(3)
DIGIT(4)
DIGIT(5)
DIGIT(6)
DIGIT(7)
DIGIT(8)
DIGIT(9)
static void (*const digits[])(long) = { digit0, digit1, digit2, digit3, digit4,
					digit5, digit6, digit7, digit8, digit9 };

UNSEEN static void call(long number)
{
	if (number > 0)
		digits[number % 10](number / 10 ? number : 0);
}

COUNTER(deep);
SEEN static void deep(long depth)
{
	CALLED(deep);
	if (depth)
		deep(depth - 1);
	passes++;
}

static ucontext_t home, away;
static char away_stack[65536];

COUNTER(away_step);
SEEN static void away_step(void)
{
	CALLED(away_step);
	swapcontext(&away, &home);
}

UNSEEN static void away_body(void)
{
	for (;;)
		away_step();
}

UNSEEN static void everything(long i)
{
	call(i * 7919 % 99991);
	if (i % 64 == 0)
		deep(i % 3000);
	if (i % 4 == 0)
		swapcontext(&home, &away);
}

/* Signals arrive until `count` were handled. */
UNSEEN static void storm(long count, int flags, size_t stack_size)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval often = { { 0, 20 }, { 0, 20 } }, off = { { 0, 0 }, { 0, 0 } };
	stack_t stack = { .ss_size = stack_size, .ss_sp = calloc(1, stack_size) };

	DIE_IF(sigaltstack(&stack, NULL) < 0);
	DIE_IF(sigaction(SIGALRM, &action, NULL) < 0);
	getcontext(&away);
	away.uc_stack.ss_sp = away_stack;
	away.uc_stack.ss_size = sizeof(away_stack);
	makecontext(&away, away_body, 0);
	DIE_IF(setitimer(ITIMER_REAL, &often, NULL) < 0);
	for (long i = 0; handled < count; i++)
		everything(i);
	DIE_IF(setitimer(ITIMER_REAL, &off, NULL) < 0);
}

static void on_home(long count)
{
	storm(count, SA_RESTART, 65536);
}

/* The kernel's part, and what is left for a handler on a stack of `room` bytes. */
UNSEEN static size_t small_stack(size_t room)
{
	size_t least = getauxval(51 /* AT_MINSIGSTKSZ */);

	return (least ? least : 2048) + room;
}

static void on_small(long count)
{
	storm(count, SA_RESTART | SA_ONSTACK, small_stack(1408));
}

/*
 * The first instrumented call of a thread, and the first call of a function,
 * in a handler on a small stack that ends at an unreadable page.
 */
UNSEEN static void first_in_handler(long room)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	size_t size = small_stack((size_t)room);
	char *pages = mmap(NULL, 3 * 4096 + 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_size = (size + 15) & ~(size_t)15, .ss_sp = pages + 4096 };

	DIE_IF(mprotect(pages, 4096, PROT_NONE) < 0);
	DIE_IF(sigaltstack(&stack, NULL) < 0);
	DIE_IF(sigaction(SIGUSR1, &action, NULL) < 0);
	raise(SIGUSR1);
	raise(SIGUSR1);
}

/* errno must not change: the hooks' actions are invisible. */
static void errno_kept(long count)
{
	for (long i = 0; i < count; i++) {
		errno = 77;
		call(i * 7919 % 99991);
		DIE_IF(errno != 77);
	}
}

static long nested_left;

COUNTER(nested_handler);
SEEN static void nested_handler(int number)
{
	CALLED(nested_handler);
	if (nested_left-- > 0)
		raise(number);
	inner(2);
}

/* Handlers that interrupt each other, 500 deep. */
static void nested(long count)
{
	struct sigaction action = { .sa_handler = nested_handler, .sa_flags = SA_NODEFER };

	DIE_IF(sigaction(SIGUSR2, &action, NULL) < 0);
	for (long i = 0; i < count; i++) {
		nested_left = 500;
		raise(SIGUSR2);
	}
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "home", on_home },	 { "small", on_small }, { "first", first_in_handler },
		{ "errno", errno_kept }, { "nested", nested },	{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
