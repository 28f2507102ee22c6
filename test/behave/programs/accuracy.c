/* SPDX-License-Identifier: MIT */
/*
 * accuracy.c - functions of known shapes, for the comparison of reported times
 * with true ones: accuracy SHAPE CALLS.
 *
 *   bimodal   short() takes one of two durations
 *   tail      durations of a Pareto distribution
 *   mix       a tree of hot, short functions of several kinds and a few long ones
 *   stall     a 50 ns function; 1 call in 10^5 has a child that sleeps 10 ms and more: the
 *             the program prints the duration, and that of the whole loop
 *   wait      the same, but the function sleeps itself: no child is there to be timed
 *   parent CALLS STEPS  a parent of CALLS calls of a child of STEPS multiplications
 *
 * The work is arithmetic that the compiler cannot fold; the generators have
 * fixed seeds, so that every run does the same.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline, noclone))

static uint64_t state = 88172645463325252u;
static volatile uint64_t sink;

/* Marsaglia's xorshift64. */
static QUIET uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A chain of `steps` dependent multiplications, some 1 ns each. */
static inline QUIET void work(unsigned steps)
{
	uint64_t x = sink | 1;

	for (unsigned i = 0; i < steps; i++) {
		x = x * 3 + i;
		__asm__ volatile("" : "+r"(x));
	}
	sink = x;
}

ALONE void bimodal(unsigned steps)
{
	work(steps);
}
ALONE void tail(unsigned steps)
{
	work(steps);
}

ALONE void tiny(void)
{
	work(2);
}
ALONE void small(void)
{
	work(20);
}
ALONE void medium(unsigned n)
{
	work(40 + n % 64);
	small();
}
ALONE void varying(unsigned n)
{
	work(10 + n % 300);
}
ALONE void nest3(void)
{
	tiny();
	tiny();
}
ALONE void nest2(void)
{
	nest3();
	small();
	nest3();
}
ALONE void nest1(unsigned n)
{
	nest2();
	if (n % 4 == 0)
		medium(n);
}
ALONE int recurse(int n)
{
	work(3);
	return n > 0 ? recurse(n - 1) + 1 : 0;
}
ALONE void longer(unsigned n)
{
	work(2000 + n % 1000);
	for (int i = 0; i < 10; i++)
		varying(n * 7 + (unsigned)i);
}
ALONE void mix(long calls)
{
	for (long i = 0; i < calls; i++) {
		unsigned n = (unsigned)next();

		nest1(n);
		varying(n);
		if (n % 8 == 0)
			recurse((int)(n / 8 % 12));
		if (n % 64 == 0)
			longer(n);
	}
}

static double slept_ns;

static QUIET double clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static QUIET double now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* On a busy machine it may be a lot more than 10 ms. */
static inline QUIET void sleep_10_ms(void)
{
	struct timespec ms10 = { 0, 10000000 };
	double start = now_ns();

	nanosleep(&ms10, NULL);
	slept_ns += now_ns() - start;
}

ALONE void stalled(void)
{
	sleep_10_ms();
}
ALONE void rarely(long n)
{
	work(45);
	if (n % 100000 == 99999)
		stalled();
}
ALONE void waits(long n)
{
	work(45);
	if (n % 100000 == 99999)
		sleep_10_ms();
}

ALONE void child(unsigned steps)
{
	work(steps);
}
ALONE void parent(long calls, unsigned steps)
{
	for (long i = 0; i < calls; i++)
		child(steps);
}

static QUIET void run_stalls(long calls, void (*function)(long))
{
	double start = now_ns();

	for (long i = 0; i < calls; i++)
		function(i);
	printf("slept %.0f of %.0f ns\n", slept_ns, now_ns() - start);
}

static QUIET void run_parent(long calls, unsigned steps)
{
	double cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), start = now_ns(), ns;

	parent(calls, steps);
	ns = now_ns() - start;
	printf("parent %.0f ns, CPU %.0f ns\n", ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

/* Prints the processor time lost to others: it does not sleep. */
static QUIET void run_mix(long calls)
{
	double cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID), start = now_ns(), ns;

	mix(calls);
	ns = now_ns() - start;
	printf("mix %.0f ns, CPU %.0f ns\n", ns, clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu);
}

QUIET int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "mix";
	long calls = argc > 2 ? atol(argv[2]) : 1000000;

	if (strcmp(shape, "bimodal") == 0)
		for (long i = 0; i < calls; i++)
			bimodal(next() % 10 < 7 ? 60 : 900);
	else if (strcmp(shape, "tail") == 0)
		for (long i = 0; i < calls; i++)
			tail((unsigned)fmin(
				30 * pow((double)(next() >> 11) / 9007199254740992.0, -0.8), 1e6));
	else if (strcmp(shape, "stall") == 0)
		run_stalls(calls, rarely);
	else if (strcmp(shape, "wait") == 0)
		run_stalls(calls, waits);
	else if (strcmp(shape, "parent") == 0)
		run_parent(calls, argc > 3 ? (unsigned)atoi(argv[3]) : 100);
	else
		run_mix(calls);
	return 0;
}
