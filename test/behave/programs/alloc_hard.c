/* SPDX-License-Identifier: MIT */
/*
 * alloc_hard.c - what allocators guarantee in odd cases; prints the results, so that two runs can
 * be compared.
 *
 *   alloc_hard odd              sizes of 0, sizes that overflow, alignments, mallopt, malloc_trim
 *   alloc_hard signal N         N signals whose handler allocates
 *   alloc_hard library FILE N   N times dlopen, use, dlclose
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile size_t huge = SIZE_MAX - 100;

static void say(const char *what, const void *block)
{
	printf("%s: %s, errno %d\n", what, block ? "block" : "NULL", errno);
	errno = 0;
}

static void aligned(size_t align)
{
	void *block = NULL;
	int error = posix_memalign(&block, align, 100);

	printf("align %zu: error %d, rest %zu\n", align, error, (uintptr_t)block % align);
	free(block);
	block = aligned_alloc(align, align * 2);
	printf("aligned_alloc %zu: rest %zu\n", align, (uintptr_t)block % align);
	free(block);
}

static int odd(void)
{
	char *block = malloc(50);

	errno = 0;
	say("malloc(0)", malloc(0));
	say("malloc(huge)", malloc(huge));
	say("calloc overflow", calloc(huge / 2, 3));
	say("reallocarray overflow", reallocarray(block, huge / 2, 3));
	say("realloc(huge)", realloc(block, huge));
	strcpy(block, "still there");
	puts(block);
	say("realloc to 0", realloc(block, 0));
	say("realloc(NULL, 0)", realloc(NULL, 0));
	for (size_t align = 16; align <= 1 << 21; align *= 8)
		aligned(align);
	printf("mallopt %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 16));
	block = malloc(1 << 20);
	free(block);
	printf("trim %d\n", malloc_trim(0) >= 0);
	/* With MALLOC_PERTURB_ the bytes of a new block are known. */
	block = malloc(200);
	printf("first byte %d\n", getenv("MALLOC_PERTURB_") ? (unsigned char)block[100] : 0);
	printf("usable %d\n", malloc_usable_size(block) >= 200);
	free(block);
	return 0;
}

static volatile sig_atomic_t handled;

static void handler(int signal_number)
{
	void *volatile block = malloc((size_t)signal_number + 1);

	free(block);
	handled++;
}

/* The signal comes from the program itself, between its own allocations: malloc is not interrupted. */
static int signals(int count)
{
	signal(SIGUSR1, handler);
	for (int i = 0; i < count; i++) {
		void *volatile block = malloc(16);

		raise(SIGUSR1);
		free(block);
	}
	printf("handled %d\n", (int)handled);
	return 0;
}

static int libraries(const char *file, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++) {
		void *library = dlopen(file, RTLD_NOW);
		int (*use)(int);

		if (!library)
			return 2;
		*(void **)&use = dlsym(library, "use");
		sum += use(i);
		dlclose(library);
	}
	printf("sum %d\n", sum);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 3)
		return libraries(argv[2], atoi(argv[3]));
	return argc > 2 ? signals(atoi(argv[2])) : odd();
}
