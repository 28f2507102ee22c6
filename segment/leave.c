/* SPDX-License-Identifier: MIT */
/*
 * leave.c - a process that drops privileges leaves the segment and enters the
 * one of its new level.
 *
 * Leaving replaces the shared mapping with a private one of the same contents
 * at the same address. So other threads of the process can continue whatever
 * they are doing in it, and nobody else sees it. The private mapping is made in
 * advance, while the descriptor is open, and is inaccessible: it costs address
 * space but no memory, and moving it over the shared one is a single system
 * call.
 *
 * Entering maps the records of the new segment after the old ones, at the old
 * start plus their offset, and the header page over the old header. No two
 * segments of a session use the same offset, so old and new offsets both stay
 * valid, and the start of the segment does not move.
 *
 * The address space for that is also reserved in advance. If a limit prevents
 * it, the contents are copied and the new segment is mapped elsewhere.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment/segment.h"

static uint64_t up_to_page(uint64_t bytes)
{
	return (bytes + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
}

/* ---- leaving ---- */

static bool move_spare(struct hp_segment *segment)
{
	uint64_t size = segment->size < segment->spare_size ? segment->size : segment->spare_size;
	void *spare = segment->spare;

	if (!spare)
		return false;
	segment->spare = NULL;
	return mprotect(spare, size, PROT_READ | PROT_WRITE) == 0 &&
	       mremap(spare, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, segment->header) !=
		       MAP_FAILED;
}

/* Replaces [from, to) with a private copy; everything beyond `filled` is zero. */
static bool copy_over(struct hp_segment *segment, uint64_t from, uint64_t to, uint64_t filled)
{
	char *place = (char *)segment->header + from;
	uint64_t size = to - from;
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (copy == MAP_FAILED)
		return false;
	madvise(copy, size, MADV_DONTDUMP);
	if (filled > from)
		memcpy(copy, place, (filled < to ? filled : to) - from);
	if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED)
		return true;
	munmap(copy, size);
	return false;
}

/* Only safe when single-threaded: other threads might find zeroes where an address was. */
static bool empty(const struct hp_segment *segment, uint64_t from, uint64_t to)
{
	return mmap((char *)segment->header + from, to - from, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool make_private(struct hp_segment *segment)
{
	uint64_t used = up_to_page(atomic_load(&segment->header->used)), size = segment->size;
	uint64_t first = segment->records_at;

	if (first == 0)
		return move_spare(segment) || copy_over(segment, 0, size, used) ||
		       empty(segment, 0, size);
	/* The records first: a thread that finds them private still finds the header. */
	return (copy_over(segment, first, size, used) || empty(segment, first, size)) &&
	       (copy_over(segment, 0, HP_PAGE, HP_PAGE) || empty(segment, 0, HP_PAGE));
}

bool hp_segment_leave(struct hp_segment *segment)
{
	int saved = errno;
	bool is_done = segment->is_private || make_private(segment);

	segment->is_private |= is_done;
	errno = saved;
	return is_done;
}

/* ---- entering ---- */

static bool map_fixed(void *place, uint64_t size, int fd, uint64_t from)
{
	return mmap(place, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)from) !=
	       MAP_FAILED;
}

/*
 * Maps at the same start. The records of levels are disjoint, so this only
 * covers reserved addresses or (begin 0) the same segment.
 */
static bool enter_here(struct hp_segment *segment, int fd, uint64_t begin, uint64_t size)
{
	char *base = (char *)segment->header;

	if (size > segment->span || !map_fixed(base + begin, size - begin, fd, begin))
		return false;
	madvise(base + begin, size - begin, MADV_DONTDUMP);
	/* The header last: a thread that reads `used` there finds the records mapped. */
	__atomic_store_n(&segment->size, size, __ATOMIC_SEQ_CST);
	segment->records_at = begin;
	if (begin == 0)
		return true;
	if (map_fixed(base, HP_PAGE, fd, 0)) {
		madvise(base, HP_PAGE, MADV_DONTDUMP);
		return true;
	}
	/* It is still private and keeps handing out the same offsets. */
	empty(segment, begin, size);
	return false;
}

static bool enter_elsewhere(struct hp_segment *segment, int fd, uint64_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return false;
	madvise(base, size, MADV_DONTDUMP);
	/* The old mapping stays: something may still hold addresses in it. */
	segment->header = base;
	segment->size = size;
	segment->records_at = 0;
	segment->span = 0;
	return true;
}

int hp_segment_enter(struct hp_segment *segment, int fd, bool may_move)
{
	int saved = errno, error = -EPROTO;
	uint64_t begin, size;

	if (hp_segment_level_of(fd, segment->header, &begin, &size)) {
		bool is_done = enter_here(segment, fd, begin, size);

		if (!is_done && may_move)
			is_done = enter_elsewhere(segment, fd, size);
		error = is_done ? 0 : -ENOMEM;
	}
	if (!error)
		segment->is_private = false;
	errno = saved;
	return error;
}
