/* SPDX-License-Identifier: MIT */
/*
 * virtual.c - functions of known durations on the program's own artificial
 * clock: virtual SHAPE CALLS [NUMBER].
 *
 * The program interposes clock_gettime and declares the processor's counter
 * forbidden, so the library reads this clock. It advances by exactly the
 * program's "work", and a little at each reading. So a call's duration is known
 * to the nanosecond, on every machine and under any load, and only random
 * sampling can make the report differ.
 *
 *   mix       a tree of hot, short functions of several kinds and a few long ones
 *   bimodal   a function takes one of two durations
 *   tail      durations of a Pareto distribution
 *   crossed   enters() calls passes(), which calls enters(), and that calls passes() by another way
 *   early     a function is short in its first 5000 calls
 *   stall     a 50 ns function; NUMBER of its calls have a child that loses the
 *             processor, for a fifth of all the others' time
 *   wait      the same, but the function loses it itself
 *   steal     the same, but the kernel does not notice
 *   frozen    4096 paths; while the library records one in 8 of them, the clock jumps by 50 ms;
 *             with NUMBER 2 the thread loses the processor meanwhile
 *
 * In these, all calls of quick() take 4 ns except for some slow ones, without a context switch;
 * callers() calls it in a loop, and takes 2 ns for that. NUMBER is a seed.
 *
 *   constant          none
 *   random            193 of 100 us, at random places
 *   few               20 of 100 us, at random places
 *   first, last       20 of 2 ms, at the beginning of the sampled ones or at the end
 *   thousandth        one in 1000, at random, 10 us
 *   periodic, p64, p128, p1000    each 100 000th 1 ms; each 64th 2 us, 128th 4 us, 1000th 10 us
 *   burst             200 of 20 us, one after the other
 *   alternating       quick() and other() take turns; 193 of other() take 100 us
 *   both              the same, but for half of these it is callers()
 *   caller            193 times callers() itself takes 100 us
 *   doubling          the 2^n-th takes 2^n * 2 ns more
 *   drifting          4 to 12 ns
 *   recursion         quick() calls itself three times; 193 of 100 us
 *   soon              20 of 100 us, at random places among the first 10,000
 *   seldom            each 4000th call is other()'s; 20 of these take 100 us
 *   jumps             193 of 100 us, of leaps(), which then end by longjmp
 *   outside           193 of 100 us, called by a function that is not instrumented
 *   start             1000 calls of 70 ns, of which 2 % take 4 us
 *   tens              40 ns instead of 4, so that one in 32 is sampled; 193 of 100 us
 *
 * It prints lines "truth NAME CALLS TOTAL_NS SELF_NS", "percentile P NS" of
 * the function that bears the shape's name, and "switches 1" if the C library
 * makes context switches visible (preload/call/switch.h).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline, noclone))
#define LOGGED (1 << 20)

/* ---- the clock ---- */

static uint64_t now = 1000000000;
static uint64_t worked;	/* the part of it that is the program's own */
static long jump_at;	/* the clock jumps at this reading from now on; 0 = none; */
static bool is_jump_noted;	/* and the kernel notes that the thread lost the processor */

#define JUMP 50000000

static QUIET void jump(void)
{
	struct timespec least = { 0, 1 };

	if (is_jump_noted)
		syscall(SYS_nanosleep, &least, NULL);
	now += JUMP;
	worked += JUMP;
}

/* A reading takes 10 ns. */
QUIET int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, t);
	now += 10;
	if (jump_at && --jump_at == 0)
		jump();
	t->tv_sec = (time_t)(now / 1000000000);
	t->tv_nsec = (long)(now % 1000000000);
	return 0;
}

QUIET int prctl(int option, ...)
{
	unsigned long a[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option == PR_GET_TSC) {
		*(int *)a[0] = PR_TSC_SIGSEGV;
		return 0;
	}
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

static inline QUIET void work(uint64_t ns)
{
	now += ns;
	worked += ns;
}

/* The kernel preempts the program for a moment, which has this length here. */
static QUIET void lose(uint64_t ns)
{
	struct timespec least = { 0, 1 };

	syscall(SYS_nanosleep, &least, NULL);
	work(ns);
}

/* ---- the truth ---- */

struct truth {
	const char *name;
	uint64_t calls, total, self, depth;
};

struct scope {
	struct truth *truth;
	struct scope *caller;
	uint64_t began, below;
};

static struct scope *current;
static struct truth *logged;
static uint64_t durations[LOGGED];
static size_t duration_count;

static inline QUIET struct scope *scope_begin(struct scope *s, struct truth *truth)
{
	*s = (struct scope){ truth, current, worked, 0 };
	truth->depth++;
	return current = s;
}

static inline QUIET void scope_end(struct scope *s)
{
	uint64_t took = worked - s->began;
	struct truth *truth = s->truth;

	truth->calls++;
	truth->self += took - s->below;
	if (--truth->depth == 0)
		truth->total += took;
	if (truth == logged && duration_count < LOGGED)
		durations[duration_count++] = took;
	current = s->caller;
	if (current)
		current->below += took;
}

static struct truth *truths[32];
static int truth_count;

/* At the head of a function: its duration is noted. */
#define KNOWN(function) \
	static struct truth truth = { .name = #function }; \
	__attribute__((cleanup(scope_end))) struct scope scope; \
	if (truth.calls == 0 && truth.depth == 0) \
		truths[truth_count++] = &truth; \
	scope_begin(&scope, &truth)

/* ---- the functions ---- */

static uint64_t state = 88172645463325252u;

/* Marsaglia's xorshift64. */
static QUIET uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

ALONE void bimodal(uint64_t ns)
{
	KNOWN(bimodal);
	logged = &truth;
	work(ns);
}
ALONE void tail(uint64_t ns)
{
	KNOWN(tail);
	logged = &truth;
	work(ns);
}

ALONE void early(uint64_t ns)
{
	KNOWN(early);
	logged = &truth;
	work(ns);
}

ALONE void tiny(void)
{
	KNOWN(tiny);
	work(2);
}
ALONE void small(void)
{
	KNOWN(small);
	work(20);
}
ALONE void medium(uint64_t n)
{
	KNOWN(medium);
	work(40 + n % 64);
	small();
}
ALONE void varying(uint64_t n)
{
	KNOWN(varying);
	work(10 + n % 300);
}
ALONE void nest3(void)
{
	KNOWN(nest3);
	tiny();
	work(1);
	tiny();
}
ALONE void nest2(void)
{
	KNOWN(nest2);
	nest3();
	small();
	nest3();
}
ALONE void nest1(uint64_t n)
{
	KNOWN(nest1);
	nest2();
	work(5);
	if (n % 4 == 0)
		medium(n);
}
ALONE int recurse(int n)
{
	KNOWN(recurse);
	work(3);
	return n > 0 ? recurse(n - 1) + 1 : 0;
}
ALONE void passes(int n);
ALONE void turns(void)
{
	KNOWN(turns);
	work(2);
	passes(0);
}
ALONE void enters(int n)
{
	KNOWN(enters);
	work(3);
	if (n)
		passes(n);
	else
		turns();
}
ALONE void passes(int n)
{
	KNOWN(passes);
	work(50);
	if (n)
		enters(0);
}
ALONE void longer(uint64_t n)
{
	KNOWN(longer);
	work(2000 + n % 1000);
	for (uint64_t i = 0; i < 10; i++)
		varying(n * 7 + i);
}
ALONE void mix(long calls)
{
	KNOWN(mix);
	for (long i = 0; i < calls; i++) {
		uint64_t n = next() >> 8;

		work(4);
		nest1(n);
		varying(n);
		if (n % 8 == 0)
			recurse((int)(n / 8 % 12));
		if (n % 64 == 0)
			longer(n);
	}
}

ALONE void stalled(uint64_t ns)
{
	KNOWN(stalled);
	lose(ns);
}
ALONE void stall(uint64_t stall_ns)
{
	KNOWN(stall);
	work(50);
	if (stall_ns)
		stalled(stall_ns);
}
ALONE void waits(uint64_t stall_ns)
{
	KNOWN(waits);
	work(50);
	if (stall_ns)
		lose(stall_ns);
}
ALONE void steals(uint64_t stall_ns)
{
	KNOWN(steals);
	work(50 + stall_ns);
}
static QUIET void run_stalls(long calls, long stalls, void (*function)(uint64_t))
{
	long each = calls / stalls;

	for (long i = 1; i <= calls; i++)
		function(i % each ? 0 : (uint64_t)each * 10);
}

#define EACH_STEP(X) \
	X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define STEP_DECLARE(n) ALONE void step_##n(unsigned path);
EACH_STEP(STEP_DECLARE)
#define STEP_PLACE(n) step_##n,
static void (*const steps[])(unsigned path) = { EACH_STEP(STEP_PLACE) };
#define STEP_DEFINE(n) \
	ALONE void step_##n(unsigned path) \
	{ \
		work(20); \
		if (path) \
			steps[path % 16](path / 16); \
	}
EACH_STEP(STEP_DEFINE)

/* A new path has a slow path of the library, with two readings around it. */
ALONE void frozen(bool is_noted)
{
	KNOWN(frozen);
	is_jump_noted = is_noted;
	for (unsigned path = 0; path < 4096; path++) {
		jump_at = path % 8 == 5 ? 1 + path / 8 % 8 : 0;
		step_0(path);
	}
	jump_at = 0;
}

/* ---- rare slow calls ---- */

ALONE void quick(uint64_t ns)
{
	KNOWN(quick);
	work(ns);
}

ALONE void other(uint64_t ns)
{
	KNOWN(other);
	work(ns);
}

static jmp_buf back;

ALONE void leaps(uint64_t ns, bool is_left)
{
	KNOWN(leaps);
	work(ns);
	if (is_left) {
		scope_end(&scope);
		longjmp(back, 1);
	}
}

ALONE void deep(uint64_t ns, int depth)
{
	KNOWN(deep);
	work(4);
	if (depth)
		deep(ns, depth - 1);
	else
		work(ns);
}

#define SLOW_MAX 512
static long slow[SLOW_MAX];	/* places of slow calls, in order */
static int slow_count;
static long all_calls;

static QUIET int by_place(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* `count` of the calls, at random places from `first` on. */
static QUIET void place_slow(int count, long first, long end)
{
	slow_count = count;
	for (int i = 0; i < count; i++)
		slow[i] = first + (long)(next() >> 11) % (end - first);
	qsort(slow, (size_t)count, sizeof(slow[0]), by_place);
}

static QUIET uint64_t is_slow(long i)
{
	static int at;
	uint64_t times = 0;

	for (; at < slow_count && slow[at] <= i; at++)
		times++;
	return times;
}

static QUIET uint64_t random_100us(long i)
{
	return is_slow(i) * 100000;
}
static QUIET uint64_t first_ones(long i)
{
	return i >= 10000 && i < 10020 ? 2000000 : 0;
}
static QUIET uint64_t last_ones(long i)
{
	return i >= all_calls - 20 ? 2000000 : 0;
}
static QUIET uint64_t thousandth(long i)
{
	(void)i;
	return (next() >> 20) % 1000 ? 0 : 10000;
}
static QUIET uint64_t periodic(long i)
{
	return i % 100000 == 99999 ? 1000000 : 0;
}
static QUIET uint64_t p64(long i)
{
	return i % 64 == 63 ? 2000 : 0;
}
static QUIET uint64_t p128(long i)
{
	return i % 128 == 127 ? 4000 : 0;
}
static QUIET uint64_t p1000(long i)
{
	return i % 1000 == 999 ? 10000 : 0;
}
static QUIET uint64_t burst(long i)
{
	return i >= slow[0] && i < slow[0] + 200 ? 20000 : 0;
}
static QUIET uint64_t doubling(long i)
{
	return i & (i - 1) ? 0 : (uint64_t)i * 2;
}
static QUIET uint64_t drifting(long i)
{
	return (uint64_t)(i * 8 / all_calls);
}

static QUIET uint64_t start(long i)
{
	(void)i;
	return (next() >> 20) % 50 ? 66 : 3996;
}

enum slow_who { QUICK, OTHER, BOTH, CALLER, DEEP, TENS, SOON, SELDOM, JUMPS, OUTSIDE, START };

static const struct slow_shape {
	const char *name;
	uint64_t (*more)(long i);	/* NULL = nothing */
	enum slow_who who;
	int places;
} slow_shapes[] = {
	{ "constant", NULL, QUICK, 0 },
	{ "random", random_100us, QUICK, 193 },
	{ "few", random_100us, QUICK, 20 },
	{ "first", first_ones, QUICK, 0 },
	{ "last", last_ones, QUICK, 0 },
	{ "thousandth", thousandth, QUICK, 0 },
	{ "periodic", periodic, QUICK, 0 },
	{ "p64", p64, QUICK, 0 },
	{ "p128", p128, QUICK, 0 },
	{ "p1000", p1000, QUICK, 0 },
	{ "burst", burst, QUICK, 1 },
	{ "alternating", random_100us, OTHER, 193 },
	{ "both", random_100us, BOTH, 193 },
	{ "caller", random_100us, CALLER, 193 },
	{ "doubling", doubling, QUICK, 0 },
	{ "drifting", drifting, QUICK, 0 },
	{ "recursion", random_100us, DEEP, 193 },
	{ "tens", random_100us, TENS, 193 },
	{ "soon", random_100us, SOON, 20 },
	{ "seldom", random_100us, SELDOM, 20 },
	{ "jumps", random_100us, JUMPS, 193 },
	{ "outside", random_100us, OUTSIDE, 193 },
	{ "start", start, START, 0 },
};

/* Where two functions take turns the odd calls are other()'s. */
static QUIET void one_call(long i, enum slow_who who, uint64_t more)
{
	static uint64_t due;
	bool is_odd = who == SELDOM ? i % 4000 == 3999 : (who == OTHER || who == BOTH) && i % 2;

	work(2);
	due += more;
	if (who == CALLER || (who == BOTH && due && next() >> 63)) {
		work(due);
		due = 0;
	}
	if (who == DEEP) {
		deep(due, 3);
		due = 0;
	} else if (who == JUMPS) {
		uint64_t slow_ns = due;

		due = 0;
		if (!setjmp(back))
			leaps(4 + slow_ns, slow_ns != 0);
	} else if (is_odd) {
		other(4 + due);
		due = 0;
	} else if (who == OTHER || who == BOTH || who == SELDOM) {
		quick(4);
	} else {
		quick((who == TENS ? 40 : 4) + due);
		due = 0;
	}
}

static QUIET void all_of(const struct slow_shape *shape)
{
	for (long i = 0; i < all_calls; i++)
		one_call(i, shape->who, shape->more ? shape->more(i) : 0);
}

ALONE void callers(const struct slow_shape *shape)
{
	KNOWN(callers);
	all_of(shape);
}

static QUIET bool run_slow(const char *name, long calls, long seed)
{
	for (size_t i = 0; i < sizeof(slow_shapes) / sizeof(slow_shapes[0]); i++) {
		if (strcmp(slow_shapes[i].name, name) != 0)
			continue;
		all_calls = slow_shapes[i].who == START ? 1000 : calls;
		state ^= (uint64_t)seed * 0x9e3779b97f4a7c15u;
		for (int k = 0; k < 20; k++)
			next();
		if (slow_shapes[i].who == SOON)
			place_slow(slow_shapes[i].places, 64, 10000);
		else
			place_slow(slow_shapes[i].places, 10000, calls);
		if (slow_shapes[i].who == OUTSIDE)
			all_of(&slow_shapes[i]);
		else
			callers(&slow_shapes[i]);
		return true;
	}
	return false;
}

/* ---- */

static QUIET int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static QUIET void print_truth(void)
{
	static const double ranks[] = { 50, 90, 95, 99, 99.9 };

	for (int i = 0; i < truth_count; i++)
		printf("truth %s %lu %lu %lu\n", truths[i]->name, truths[i]->calls,
		       truths[i]->total, truths[i]->self);
	qsort(durations, duration_count, sizeof(durations[0]), by_size);
	for (size_t i = 0; duration_count && i < sizeof(ranks) / sizeof(ranks[0]); i++)
		printf("percentile %g %lu\n", ranks[i],
		       durations[(size_t)ceil((double)duration_count * ranks[i] / 100) - 1]);
}

extern const unsigned int __rseq_size __attribute__((weak));

QUIET int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "mix";
	long calls = argc > 2 ? atol(argv[2]) : 1000000;
	long number = argc > 3 ? atol(argv[3]) : 1;

	if (run_slow(shape, calls, number))
		;
	else if (strcmp(shape, "bimodal") == 0)
		for (long i = 0; i < calls; i++)
			bimodal(next() % 10 < 7 ? 60 : 900);
	else if (strcmp(shape, "tail") == 0)
		for (long i = 0; i < calls; i++)
			tail((uint64_t)fmin(
				30 * pow((double)(next() >> 11) / 9007199254740992.0, -0.8), 1e6));
	else if (strcmp(shape, "early") == 0)
		for (long i = 0; i < calls; i++)
			early(i < 5000 ? 20 : 60);
	else if (strcmp(shape, "crossed") == 0)
		for (long i = 0; i < calls; i++)
			enters(1);
	else if (strcmp(shape, "steal") == 0)
		run_stalls(calls, number, steals);
	else if (strcmp(shape, "frozen") == 0)
		frozen(number == 2);
	else if (strcmp(shape, "stall") == 0)
		run_stalls(calls, number, stall);
	else if (strcmp(shape, "wait") == 0)
		run_stalls(calls, number, waits);
	else
		mix(calls);
	print_truth();
	printf("switches %d\n", &__rseq_size && __rseq_size > 0);
	return 0;
}
