/* SPDX-License-Identifier: MIT */
/*
 * alloc_pairs.c - alloc_pairs N: N malloc/free pairs in eight depths and sizes,
 * some held for a while; then the KiB that are resident.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *held[64];
static void *volatile passing;
static volatile int one = 1;

static __attribute__((noinline)) void at_depth(unsigned depth, unsigned n)
{
	if (depth) {
		at_depth(depth - 1, n);
	} else if (n % 4) {
		passing = malloc(n % 8 * 24 + one);
		free(passing);
	} else {
		free(held[n / 4 % 64]);
		held[n / 4 % 64] = malloc(n % 64 + 1);
	}
	one = 1;
}

static long resident(void)
{
	char line[256];
	long kib = 0;
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = atol(line + 6);
	if (status)
		fclose(status);
	return kib;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000;

	for (long i = 0; i < count; i++)
		at_depth((unsigned)(i >> 3 & 7), (unsigned)i);
	printf("%ld\n", resident());
	return 0;
}
