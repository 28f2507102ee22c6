/* SPDX-License-Identifier: MIT */
/*
 * hooks_jump.c - functions that are left without their exit hook: by longjmp of
 * all kinds, also from signal handlers, on a signal stack or not.
 */
#include "hooks.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf place;
static volatile long passes;

COUNTER(dig);
SEEN static void dig(long depth)
{
	CALLED(dig);
	if (depth == 0)
		longjmp(place, 1);
	dig(depth - 1);
	passes++;
}

COUNTER(tail);
SEEN static void tail(void)
{
	CALLED(tail);
	spin_ns(1000);
	passes++;
}

COUNTER(pass);
SEEN static void pass(long depth)
{
	CALLED(pass);
	if (setjmp(place) == 0)
		dig(depth);
	tail();
}

static void again(long count)
{
	for (long i = 0; i < count; i++)
		pass(i % 5);
}

static void deep(long count)
{
	for (int i = 0; i < 20; i++)
		pass(count);
}

/* sigsetjmp in a function, siglongjmp past several levels of others' setjmp. */
COUNTER(middle);
SEEN static void middle(sigjmp_buf outer, long depth)
{
	sigjmp_buf mine;

	CALLED(middle);
	if (sigsetjmp(mine, depth & 1))
		return;
	if (depth == 0)
		siglongjmp(outer, 1);
	middle(depth % 3 ? outer : mine, depth - 1);
}

COUNTER(outermost);
SEEN static void outermost(long depth)
{
	sigjmp_buf outer;

	CALLED(outermost);
	if (sigsetjmp(outer, 1) == 0)
		middle(outer, depth);
	tail();
}

static void nested(long count)
{
	for (long i = 0; i < count; i++)
		outermost(i % 40);
}

COUNTER(handler);
SEEN static void handler(int number)
{
	CALLED(handler);
	(void)number;
	tail();
	siglongjmp(place, 1);
}

COUNTER(victim);
SEEN static void victim(long depth)
{
	CALLED(victim);
	if (depth)
		victim(depth - 1);
	else
		raise(SIGUSR1);
	passes++;
}

COUNTER(rescue);
SEEN static void rescue(long depth)
{
	CALLED(rescue);
	if (sigsetjmp(place, 1) == 0)
		victim(depth);
	tail();
}

static void out_of_handler(long count, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	stack_t stack = { .ss_size = 65536, .ss_sp = malloc(65536) };

	DIE_IF(sigaltstack(&stack, NULL) < 0);
	DIE_IF(sigaction(SIGUSR1, &action, NULL) < 0);
	for (long i = 0; i < count; i++)
		rescue(i % 7);
}

static void signal_home(long count)
{
	out_of_handler(count, 0);
}

static void signal_own(long count)
{
	out_of_handler(count, SA_ONSTACK);
}

/*
 * A handler that jumps out of anything, our hooks included. A call may be
 * counted by the hook and left before it counts itself, so `worker` and
 * `worked` are compared within the number of jumps.
 */
static volatile sig_atomic_t may_jump;

COUNTER(alarmed);
SEEN static void alarmed(int number)
{
	CALLED(alarmed);
	(void)number;
	if (may_jump) {
		may_jump = 0;
		siglongjmp(place, 1);
	}
}

static long jumps, calls_worked;

SEEN static void worked(long i)
{
	calls_worked++;
	passes += i;
}

#define FRESH(n) \
	SEEN static void fresh##n(long i) \
	{ \
		worked(i); \
		passes += n; \
	}
FRESH(0)
FRESH(1)
FRESH(2)
FRESH(3)
FRESH(4)
FRESH(5)
FRESH(6)
FRESH(7)
static void (*const fresh[])(long) = { fresh0, fresh1, fresh2, fresh3,
				       fresh4, fresh5, fresh6, fresh7 };

UNSEEN static void work(uint64_t until)
{
	for (long i = 0; now_ns() < until; i++)
		fresh[i & 7](i);
}

static void async_jumps(long count)
{
	struct sigaction action = { .sa_handler = alarmed };
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, off = { { 0, 0 }, { 0, 0 } };
	uint64_t until = now_ns() + (uint64_t)count * 1000000;

	DIE_IF(sigaction(SIGALRM, &action, NULL) < 0);
	DIE_IF(setitimer(ITIMER_REAL, &often, NULL) < 0);
	if (sigsetjmp(place, 1))
		jumps++;
	may_jump = now_ns() < until;
	if (may_jump)
		work(until);
	DIE_IF(setitimer(ITIMER_REAL, &off, NULL) < 0);
	may_jump = 0;
	printf("about worked %ld %ld\n", calls_worked, jumps);
	printf("sampled worked\n");	/* jumps do not end sampling */
	tail();
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "again", again },
		{ "deep", deep },
		{ "nested", nested },
		{ "signal_home", signal_home },
		{ "signal_own", signal_own },
		{ "async", async_jumps },
		{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
