// SPDX-License-Identifier: MIT
//
// alloc_own_new.cc - a library with its own operator new and delete, in few forms: from its own
// arena, or (-DBY_MALLOC) from malloc. It ends the process if it receives foreign blocks.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

#ifndef ARENA
#define ARENA arena
#endif

#ifdef BY_MALLOC
static void *take(size_t size)
{
	return malloc(size);
}
static void give(void *block)
{
	free(block);
}
#else
static char ARENA[1 << 20] __attribute__((aligned(64)));
static size_t used;

static void *take(size_t size)
{
	if (size > sizeof(ARENA))
		return nullptr;
	size_t at = __atomic_fetch_add(&used, (size + 63) & ~size_t(63), __ATOMIC_RELAXED);
	return at + size <= sizeof(ARENA) ? ARENA + at : nullptr;
}

static void give(void *block)
{
	if (block && ((char *)block < ARENA || (char *)block >= ARENA + sizeof(ARENA))) {
		if (write(2, "not mine\n", 9)) {
		}
		_exit(9);
	}
}
#endif

void *operator new(size_t size)
{
	void *block = take(size);
	if (!block)
		throw std::bad_alloc();
	return block;
}

void operator delete(void *block) noexcept
{
	give(block);
}

void operator delete(void *block, size_t) noexcept
{
	give(block);
}
