/* SPDX-License-Identifier: MIT */
/*
 * cold.c - 8000 functions that do nothing, in random order, 200 calls of each: more than caches
 * hold of our data.
 */
#include <stdint.h>

#define FUNCTIONS 8000
#define CALLS (200 * FUNCTIONS)

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

/* Their addresses. */
static char code[FUNCTIONS][16];

static __attribute__((noinline)) void nothing(void *function)
{
	__cyg_profile_func_enter(function, 0);
	__cyg_profile_func_exit(function, 0);
}

int main(void)
{
	uint32_t seed = 1;

	for (int i = 0; i < CALLS; i++) {
		seed = seed * 1664525 + 1013904223;
		nothing(code[(uint64_t)seed * FUNCTIONS >> 32]);
	}
	return 0;
}
