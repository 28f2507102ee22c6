/* SPDX-License-Identifier: MIT */
/*
 * hooks_code.c - functions of odd shapes: alloca and arrays of variable length,
 * tail calls, several exits, inlined into each other, with many arguments.
 */
#include "hooks.h"

#include <alloca.h>

static volatile long passes;

COUNTER(leaf);
SEEN static long leaf(long n)
{
	CALLED(leaf);
	passes++;
	return n + 1;
}

COUNTER(has_alloca);
SEEN static long has_alloca(long n)
{
	char *room;

	CALLED(has_alloca);
	room = alloca((size_t)(n * 37 % 3000) + 1);
	room[0] = (char)n;
	leaf(n);
	if (n % 5)
		has_alloca(n - n % 5);
	__asm__ volatile("" : : "r"(room) : "memory");
	return room[0];
}

COUNTER(has_array);
SEEN static long has_array(long n)
{
	volatile long array[n % 200 + 1];

	CALLED(has_array);
	array[n % 200] = leaf(n);
	return array[n % 200];
}

COUNTER(tail_called);
COUNTER(tail_caller);
SEEN static long tail_called(long n)
{
	CALLED(tail_called);
	return n ^ passes;
}

SEEN static long tail_caller(long n)
{
	CALLED(tail_caller);
	return tail_called(n);
}

COUNTER(exits);
SEEN static long exits(long n)
{
	CALLED(exits);
	if (n % 2)
		return leaf(n);
	if (n % 3) {
		char *room = alloca((size_t)n % 100 + 16);

		__asm__ volatile("" : : "r"(room) : "memory");
		return n;
	}
	leaf(1);
	return leaf(2);
}

COUNTER(in_line);
static inline __attribute__((always_inline)) long in_line(long n)
{
	CALLED(in_line);
	passes += n;
	return leaf(n);
}

COUNTER(in_line_outer);
static inline __attribute__((always_inline)) long in_line_outer(long n)
{
	CALLED(in_line_outer);
	return in_line(n) + in_line(n + 1);
}

/* Inlined into itself as often as the compiler likes. */
COUNTER(self_inlined);
static long self_inlined(long n)
{
	CALLED(self_inlined);
	passes++;
	return n > 0 ? self_inlined(n - 1) + 1 : 0;
}

struct large {
	long words[40];
};

COUNTER(many_arguments);
SEEN static struct large many_arguments(struct large a, double b, long c, long d, long e, long f,
					long g, long h, long i, long double j)
{
	CALLED(many_arguments);
	a.words[0] += (long)b + c + d + e + f + g + h + i + (long)j;
	leaf(a.words[0]);
	return a;
}

COUNTER(variadic);
SEEN static long variadic(long n, ...)
{
	__builtin_va_list list;
	double sum = 0;

	CALLED(variadic);
	__builtin_va_start(list, n);
	for (long i = 0; i < n; i++)
		sum += __builtin_va_arg(list, double);
	__builtin_va_end(list);
	return (long)sum;
}

static void shapes(long count)
{
	struct large large = { { 0 } };

	for (long i = 0; i < count; i++) {
		has_alloca(i);
		has_array(i);
		tail_caller(i);
		exits(i);
		in_line_outer(i);
		self_inlined(i % 20);
		large = many_arguments(large, 1.5, i, 2, 3, 4, 5, 6, 7, 8.5L);
		DIE_IF(variadic(3, 1.0, 2.0, (double)i) != i + 3);
	}
	printf("result %ld\n", large.words[0]);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = { { "shapes", shapes }, { NULL, NULL } };

	return scene_run(scenes, argc, argv);
}
