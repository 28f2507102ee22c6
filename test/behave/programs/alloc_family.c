/* SPDX-License-Identifier: MIT */
/*
 * alloc_family.c - every function of the malloc family, in known numbers.
 *
 *   alloc_family [N [kindly]]   prints "allocs N frees N bytes N"
 *
 * "kindly" omits failing calls: valgrind counts a realloc that was refused.
 */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long allocs, frees, bytes;
static int is_kind;
static volatile size_t most = SIZE_MAX / 2;

static void *made(void *block, size_t size)
{
	if (!block)
		abort();
	memset(block, 0x5a, size);
	allocs++;
	bytes += size;
	return block;
}

static void gone(void *block)
{
	free(block);
	frees++;
}

static void aligned(size_t size)
{
	void *block;

	if (posix_memalign(&block, 4096, size) != 0 || (uintptr_t)block % 4096)
		abort();
	gone(made(block, size));
	block = made(aligned_alloc(64, size), size);
	if ((uintptr_t)block % 64)
		abort();
	gone(block);
	gone(made(memalign(1 << 16, size), size));
	gone(made(valloc(size), size));
	if (posix_memalign(&block, 3, size) != EINVAL)
		abort();
}

static void moved(size_t size)
{
	char *block = made(malloc(size), size);

	for (int i = 1; i < 5; i++) {
		frees++;
		block = made(realloc(block, size * (size_t)i * 100), size * (size_t)i * 100);
	}
	errno = 0;
	if (!is_kind && (realloc(block, most) || errno != ENOMEM))
		abort();
	frees++;
	block = made(reallocarray(block, size, 3), size * 3);
	if (!is_kind && (reallocarray(block, most, 3) || errno != ENOMEM))
		abort();
	if (realloc(block, 0))
		abort();
	frees++;
	gone(made(realloc(NULL, size), size));
}

static void refused(void)
{
	errno = 0;
	if (malloc(most) || errno != ENOMEM || calloc(most, 4))
		abort();
	free(NULL);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? atoi(argv[1]) : 100;
	char text[96];
	int length;

	is_kind = argc > 2;
	for (int i = 1; i <= turns; i++) {
		size_t size = (size_t)i;
		void *block = made(malloc(size), size);

		if (malloc_usable_size(block) < size)
			abort();
		gone(made(calloc(size, 3), size * 3));
		gone(block);
		made(malloc(size), size);	/* stays */
		aligned(size);
		moved(size);
		if (!is_kind)
			refused();
	}
	errno = 77;
	free(made(malloc(5000000), 5000000));
	frees++;
	if (errno != 77)
		abort();
	length = snprintf(text, sizeof(text), "allocs %lu frees %lu bytes %lu\n", allocs, frees,
			  bytes);
	return write(1, text, (size_t)length) != length;
}
