/* SPDX-License-Identifier: MIT */
/*
 * hooks.h - shared by the programs of hooks.bats: each instrumented function
 * counts its own calls, and the program prints "calls NAME N" at its end, for
 * the report to be compared with.  The counters lie in shared memory, so that
 * forked children add to the same ones.
 *
 * Nothing here is instrumented.  Programs may print further lines for
 * hooks_check.py: "inclusive NAME LEAST MOST" and "self NAME LEAST MOST", in ns.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function, noinline))
#ifdef __clang__
#define SEEN __attribute__((noinline))
#else
#define SEEN __attribute__((noinline, noclone))
#endif
#define COUNTERS 64

struct counter {
	const char *name;
	long calls;
};

static struct counter *counters;

UNSEEN static struct counter *counters_map(void)
{
	if (!counters)
		counters = (struct counter *)mmap(NULL, COUNTERS * sizeof(*counters),
						  PROT_READ | PROT_WRITE,
						  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return counters;
}

__attribute__((constructor(101))) UNSEEN static void counters_start(void)
{
	counters_map();
}

/* The first statement of a function: it was called. */
#define CALLED(f) \
	do { \
		struct counter *c_ = (counters ? counters : counters_map()) + (f##_at); \
		c_->name = #f; \
		__atomic_fetch_add(&c_->calls, 1, __ATOMIC_RELAXED); \
	} while (0)
#define COUNTER(name) enum { name##_at = __COUNTER__ }

static inline __attribute__((no_instrument_function)) void counters_print(void)
{
	for (int i = 0; i < COUNTERS; i++)
		if (counters[i].name)
			printf("calls %s %ld\n", counters[i].name, counters[i].calls);
	fflush(stdout);
}

static inline __attribute__((no_instrument_function)) uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Busy for this long. */
static inline __attribute__((no_instrument_function)) void spin_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

#define DIE_IF(bad) \
	do { \
		if (bad) { \
			fprintf(stderr, "%s:%d: %s: %m\n", __FILE__, __LINE__, #bad); \
			_exit(99); \
		} \
	} while (0)

struct scene {
	const char *name;
	void (*run)(long count);
};

/* main of a program: NAME [COUNT] runs a scene and prints the counters. */
static inline __attribute__((no_instrument_function)) int scene_run(const struct scene *scenes,
								    int argc, char **argv)
{
	for (; scenes->name; scenes++) {
		if (argc < 2 || strcmp(scenes->name, argv[1]))
			continue;
		scenes->run(argc > 2 ? atol(argv[2]) : 0);
		counters_print();
		return 0;
	}
	fprintf(stderr, "no such scene\n");
	return 98;
}

#endif
