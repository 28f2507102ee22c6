/* SPDX-License-Identifier: MIT */
/*
 * memlock.c - see memlock.h.
 */
#include "preload/guest/bulky.h"
#include "preload/guest/memlock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/self.h"

#define RANGES_MAX 1024	/* further ones are locked with the program's */
#define RANGE_MIN 32768	/* bytes; smaller ones are not worth an entry */

#define ZONE (UINT64_C(1) << 38)	/* bytes below the segment, for our own mappings */
#define STEP (UINT64_C(1) << 30)	/* attempts to skip the program's mappings */
#define TRIES 8
#define HP_HUGE (UINT64_C(1) << 21)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000	/* Linux 4.17 */
#endif

struct range {
	_Atomic uintptr_t begin;	/* 0 = unused */
	_Atomic uintptr_t end;
};

HP_SCRATCH static struct range ranges[RANGES_MAX];
static _Atomic size_t used;	/* entries from here on were never used */
static _Atomic bool locks_future;	/* the program requested MCL_FUTURE */
static _Atomic uintptr_t place;	/* of the next mapping of ours */

/* Raises `used` before note() returns, so that a later search finds the entry. */
static void use(size_t i)
{
	size_t before = atomic_load_explicit(&used, memory_order_relaxed);

	while (before <= i &&
	       !atomic_compare_exchange_weak_explicit(&used, &before, i + 1, memory_order_release,
						      memory_order_relaxed))
		;
}

static void note(uintptr_t begin, uint64_t size)
{
	if (size < RANGE_MIN)
		return;
	for (size_t i = 0; i < RANGES_MAX; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong_explicit(&ranges[i].begin, &none, begin,
							    memory_order_acq_rel,
							    memory_order_relaxed)) {
			/* Release: mlockall() in another thread finds this range's end, or 0. */
			atomic_store_explicit(&ranges[i].end, begin + size, memory_order_release);
			use(i);
			return;
		}
	}
}

/* A range that only begins here is kept: it is a slab, and this is its first piece (pages.c). */
static void forget(uintptr_t begin, uint64_t size)
{
	size_t end = atomic_load_explicit(&used, memory_order_acquire);

	for (size_t i = 0; i < end; i++) {
		if (atomic_load_explicit(&ranges[i].begin, memory_order_relaxed) != begin ||
		    atomic_load_explicit(&ranges[i].end, memory_order_relaxed) != begin + size)
			continue;
		atomic_store_explicit(&ranges[i].end, 0, memory_order_relaxed);
		atomic_store_explicit(&ranges[i].begin, 0, memory_order_release);
		return;
	}
}

static uintptr_t place_first(void)
{
	uintptr_t segment = (uintptr_t)hp_segment.header;

	return (segment - (segment / 4 < ZONE ? segment / 4 : ZONE)) & ~(HP_HUGE - 1);
}

void hp_memlock_span(uintptr_t *begin, uintptr_t *end)
{
	*begin = place_first();
	*end = atomic_load_explicit(&place, memory_order_relaxed);
}

/*
 * Uses addresses that the kernel would not choose: a program may unmap a part
 * of its memory and map something else there with MAP_FIXED, which would
 * destroy a mapping that the kernel had placed there for us. Searches upward
 * from far below the segment and skips the program's mappings.
 */
static uintptr_t place_next(uint64_t size)
{
	uintptr_t segment = (uintptr_t)hp_segment.header, least = place_first();
	uintptr_t known = atomic_load_explicit(&place, memory_order_relaxed), at;

	size = (size + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	do {
		at = known;
		if (at < least || at >= segment || size > segment - at)
			at = least;
	} while (!atomic_compare_exchange_weak_explicit(
		&place, &known, at + size, memory_order_relaxed, memory_order_relaxed));
	return at;
}

/* Maps pages away from the program's, if there is room; MAP_FAILED = refused. */
static void *map(uint64_t size, int protection, int flags)
{
	void *pages;

	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	for (int i = 0; hp_segment.header && i < TRIES; i++) {
		/* The second attempt is far beyond the obstacle. */
		uintptr_t at = place_next(size + (i ? STEP : 0)) + (i ? STEP : 0);

		/* Before Linux 4.17 the address is only a hint. */
		pages = (void *)syscall(SYS_mmap, at, size, protection, flags | MAP_FIXED_NOREPLACE,
					-1, 0);
		if (pages != MAP_FAILED || errno != EEXIST)
			return pages;
	}
	return (void *)syscall(SYS_mmap, NULL, size, protection, flags, -1, 0);
}

void *hp_memlock_map(uint64_t size, int flags)
{
	bool unlock = atomic_load_explicit(&locks_future, memory_order_relaxed);
	int protection = PROT_READ | PROT_WRITE;
	/* With PROT_NONE the kernel cannot populate it while it is still locked. */
	void *pages = map(size, unlock ? PROT_NONE : protection, flags);

	if (pages == MAP_FAILED)
		return NULL;
	if (unlock && (syscall(SYS_munlock, pages, size) != 0 ||
		       syscall(SYS_mprotect, pages, size, protection) != 0)) {
		syscall(SYS_munmap, pages, size);
		return NULL;
	}
	/*
	 * Little of the reserved MiB is used. A core file has holes there, but
	 * a core written to a pipe (Ubuntu's apport, systemd-coredump) contains
	 * every zero. A refusal of madvise is ignored.
	 */
	if (flags & MAP_NORESERVE)
		syscall(SYS_madvise, pages, size, MADV_DONTDUMP);
	note((uintptr_t)pages, size);
	return pages;
}

void hp_memlock_unmap(void *pages, uint64_t size)
{
	forget((uintptr_t)pages, size);
	syscall(SYS_munmap, pages, size);
}

void hp_memlock_next(uintptr_t at, uintptr_t limit, uintptr_t *begin, uintptr_t *end)
{
	uintptr_t b = (uintptr_t)hp_segment.header, e = b + hp_segment_addresses(&hp_segment);

	*begin = *end = limit;
	for (size_t i = 0; i <= RANGES_MAX; i++) {
		if (b && e > at && b < *begin) {
			*begin = b;
			*end = e;
		}
		if (i == RANGES_MAX)
			return;
		b = atomic_load_explicit(&ranges[i].begin, memory_order_acquire);
		e = atomic_load_explicit(&ranges[i].end, memory_order_acquire);
	}
}

void hp_memlock_future_set(bool locks)
{
	atomic_store(&locks_future, locks);
}

bool hp_memlock_future(void)
{
	return atomic_load(&locks_future);
}
