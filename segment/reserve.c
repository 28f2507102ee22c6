/* SPDX-License-Identifier: MIT */
/*
 * reserve.c - address space behind the segment, for the segments of other levels (leave.c).
 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "segment/segment.h"

uint64_t hp_segment_level_size(uint64_t session_size)
{
	uint64_t most = (HP_SIZE_MAX - session_size) / HP_LEVELS_MAX, size = session_size / 4;

	size = size < most ? size : most;
	size = size > HP_SIZE_MIN ? size : HP_SIZE_MIN;
	return size & ~(uint64_t)(HP_PAGE - 1);
}

/* Address space that the segments of all levels take together; `begin` of hp_levels, of this one. */
static uint64_t span_of(uint64_t size, uint64_t begin)
{
	uint64_t each = begin && begin < size ? size - begin : hp_segment_level_size(size);

	return size + HP_LEVELS_MAX * each;
}

static bool is_allowed(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 &&
	       (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur / HP_SEGMENT_SHARE);
}

static bool map_reserved(struct hp_segment *segment, uint64_t size, uint64_t begin)
{
	uint64_t span = span_of(size, begin);
	const int flags = MAP_PRIVATE | MAP_NORESERVE;
	char *base, *spare;

	if (!is_allowed(span + size))
		return false;
	base = mmap(NULL, span + size, PROT_NONE, flags | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		return false;
	spare = base + span;
	/* Moving the mapping would take the kernel 0.1 ms, since it is large; its few pages come back. */
	if (mmap(spare, size, PROT_NONE, flags | MAP_FIXED, segment->fd, 0) == MAP_FAILED ||
	    mmap(base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, segment->fd, 0) ==
		    MAP_FAILED) {
		munmap(base, span + size);
		return false;
	}
	madvise(base, span + size, MADV_DONTDUMP);
	segment->header = (struct hp_header *)(void *)base;
	segment->size = size;
	segment->span = span;
	segment->spare = spare;
	segment->spare_size = size;
	return true;
}

bool hp_segment_reserve(struct hp_segment *segment)
{
	int saved = errno;
	struct hp_header *before = segment->header;
	bool is_done = segment->fd >= 0 && !segment->span &&
		       map_reserved(segment, segment->size, hp_segment_levels(segment)->begin);

	if (is_done)
		munmap(before, segment->size);
	errno = saved;
	return is_done;
}

bool hp_segment_map_reserved(struct hp_segment *segment, uint64_t size)
{
	int saved = errno;
	uint64_t begin;
	bool is_done =
		pread(segment->fd, &begin, sizeof(begin),
		      HP_LEVELS_AT + offsetof(struct hp_levels, begin)) == (ssize_t)sizeof(begin) &&
		map_reserved(segment, size, begin);

	errno = saved;
	return is_done;
}

uint64_t hp_segment_addresses(const struct hp_segment *segment)
{
	uint64_t size = segment->span > segment->size ? segment->span : segment->size;

	if (segment->spare)
		size = (uint64_t)((const char *)segment->spare - (const char *)segment->header) +
		       segment->spare_size;
	return size;
}

void hp_segment_unreserve(struct hp_segment *segment)
{
	int saved = errno;
	uint64_t all = hp_segment_addresses(segment), size = segment->size;

	segment->spare = NULL;
	segment->span = 0;
	if (all > size)
		munmap((char *)segment->header + size, all - size);
	errno = saved;
}
