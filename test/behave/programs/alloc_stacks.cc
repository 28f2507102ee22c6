/* SPDX-License-Identifier: MIT */
/*
 * alloc_stacks.cc - allocations on stacks that a path cache may confuse.
 *
 *   alloc_stacks N   prints "COUNT function ..." up to the function that is named
 *                    last there, for the paths of coroutines and exceptions
 *
 * A coroutine's stack is unmapped, and a smaller one mapped at its place: the
 * outer part of an earlier call's stack is unmapped now.  Exceptions leave frames
 * whose place is reused at once by other calls.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>

#define HIDDEN __attribute__((noinline, noclone))

static const size_t page = 4096, large = 64 * page, small = 16 * page;
static ucontext_t home, away;
static volatile int one = 1;
static volatile int levels;
static void *volatile kept;

static HIDDEN void leaf()
{
	kept = malloc(40);
	free(kept);
	one = 1;
}

static HIDDEN void nested(int depth)
{
	if (depth)
		nested(depth - 1);
	else
		leaf();
	one = 1;
}

static void body_large()
{
	nested(levels + 40);
	leaf();
	one = 1;
}

static void body_small()
{
	nested(levels);
	leaf();
	one = 1;
}

/* The stack ends `size` bytes above `at`; above it is nothing. */
static HIDDEN void coroutine(char *at, size_t size, void (*body)())
{
	if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != at)
		abort();
	getcontext(&away);
	away.uc_stack.ss_sp = at;
	away.uc_stack.ss_size = size;
	away.uc_link = &home;
	makecontext(&away, body, 0);
	swapcontext(&home, &away);
	munmap(at, large);
}

static HIDDEN void thrower(int how)
{
	char room[64];

	leaf();
	snprintf(room, sizeof(room), "%d", how);
	if (how % 3)
		throw std::runtime_error(room);
	leaf();
}

static HIDDEN void catcher(int how)
{
	try {
		thrower(how);
	} catch (const std::exception &e) {
		leaf();
	}
	nested(how % 4);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;
	char *at = static_cast<char *>(
		mmap(nullptr, 2 * large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));

	munmap(at, large);
	for (int i = 0; i < count; i++) {
		levels = i % 5;
		coroutine(at, large, body_large);
		coroutine(at, small, body_small);
		/* So that both end at one place, and the smaller one's frames are at the larger one's. */
		coroutine(at + large - small, small, body_small);
		coroutine(at, large, body_small);
		catcher(i);
	}
	printf("%d leaf body_small\n%d leaf body_large\n%d leaf catcher\n%d leaf thrower catcher\n",
	       3 * count, count, count - (count + 2) / 3, count + (count + 2) / 3);
	return 0;
}
