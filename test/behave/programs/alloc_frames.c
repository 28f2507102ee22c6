/* SPDX-License-Identifier: MIT */
/*
 * alloc_frames.c - 90 functions whose frames have different sizes. argv[1] blocks of argv[2] bytes are
 * allocated by each. FRAME and EXTRA say how a build differs from another.
 */
#include <stdlib.h>

#ifndef EXTRA
#define EXTRA
#endif

static void *volatile kept;

static __attribute__((noinline)) void take(volatile char *room, size_t size)
{
	room[0] = 1;
	kept = malloc(size);
}

#define FIVE(x, a, b, c, d, e) x(a) x(b) x(c) x(d) x(e)
#define TEN(x, n) FIVE(x, n##0, n##1, n##2, n##3, n##4) FIVE(x, n##5, n##6, n##7, n##8, n##9)
#define ALL(x) \
	TEN(x, 1) \
	TEN(x, 2) TEN(x, 3) TEN(x, 4) TEN(x, 5) TEN(x, 6) TEN(x, 7) TEN(x, 8) TEN(x, 9)

#define CALL(n) f##n(size);
#define DEFINE(n) \
	static __attribute__((noinline)) void f##n(size_t size) \
	{ \
		volatile char room[FRAME(n)]; \
\
		EXTRA; \
		take(room, size); \
		room[1] = 1; \
	}

ALL(DEFINE);

int main(int argc, char **argv)
{
	size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

	while (count--) {
		ALL(CALL);
	}
	return 0;
}
