/* SPDX-License-Identifier: MIT */
/*
 * wide.c - see wide.h.
 */
#include "sampler/base/wide.h"

#include <stdint.h>
#include <sys/mman.h>

static size_t whole(size_t size)
{
	return (size + HP_WIDE_PAGE - 1) & ~(HP_WIDE_PAGE - 1);
}

void *hp_wide_new(size_t size)
{
	size_t kept = whole(size), room = kept + HP_WIDE_PAGE;
	uint8_t *start = mmap(NULL, room, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	if (start == MAP_FAILED)
		return NULL;
	before = whole((uintptr_t)start) - (uintptr_t)start;
	if (before)
		munmap(start, before);
	if (before != HP_WIDE_PAGE)
		munmap(start + before + kept, room - before - kept);
	madvise(start + before, kept, MADV_HUGEPAGE);
	return start + before;
}

void hp_wide_free(void *memory, size_t size)
{
	if (memory)
		munmap(memory, whole(size));
}
