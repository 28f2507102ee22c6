/* SPDX-License-Identifier: MIT */
/*
 * pages.c - see pages.h.
 *
 * A starting thread needs a dozen small pieces, and separate mappings would be system calls that
 * make all threads of the process wait.  So small ones are cut off a larger mapping, a slab.
 * The rest of it is described by one word, its first unit and the number of units, so taking a
 * piece is one compare-exchange.  There are two kinds of pieces:
 *
 *   pages   each can be unmapped by itself
 *   parts   lines; what a thread takes when it starts shares pages, since each page is a fault,
 *           and thousands of threads that start at once wait for each other's faults
 */
#include "preload/guest/pages.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/free_list.h"
#include "preload/guest/memlock.h"
#include "preload/guest/self.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23	/* Linux 5.14; earlier ones refuse it */
#endif

#define HP_RESERVE (UINT64_C(16) << 20)	/* costs address space, and memory only for the used part */
#define HP_RESERVE_WIPED (256 * HP_PAGE)	/* number of threads */
#define SLAB_SIZE (64 * (uint64_t)HP_PAGE)
#define SLABS_FEW 2	/* that are not populated at once */
#define PIECE_MAX UINT64_C(16)	/* pages; larger ones are mapped */
#define REST_BITS 13	/* units left, below the number of the first */
#define TOUCH_MAX 2	/* pages of a piece that will all be written */

static struct {
	char *pages;
	char *wiped;
	_Atomic uint64_t used;
	_Atomic uint64_t used_wiped;
} reserve;

void hp_pages_reserve(void)
{
	reserve.pages = hp_pages(HP_RESERVE);
	reserve.wiped = hp_pages(HP_RESERVE_WIPED);
	if (reserve.wiped &&
	    syscall(SYS_madvise, reserve.wiped, HP_RESERVE_WIPED, MADV_WIPEONFORK) != 0)
		reserve.wiped = NULL;
}

bool hp_pages_are_reserved(void)
{
	return reserve.pages != NULL;
}

static void *take(char *pages, uint64_t size, _Atomic uint64_t *used, uint64_t wanted)
{
	uint64_t at;

	wanted = (wanted + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	if (!pages || wanted > size)
		return NULL;
	at = atomic_fetch_add_explicit(used, wanted, memory_order_relaxed);
	if (at <= size - wanted)
		return pages + at;
	/* The rest may suffice for a smaller piece. */
	atomic_fetch_sub_explicit(used, wanted, memory_order_relaxed);
	return NULL;
}

static uint64_t pages_of(uint64_t size)
{
	return (size + HP_PAGE - 1) / HP_PAGE;
}

static_assert(SLAB_SIZE / HP_LINE < 1 << REST_BITS, "the rest of a slab fits in its bits");

/* Its address, divided by `unit`. */
static uint64_t piece_of(_Atomic uint64_t *rest, uint64_t wanted)
{
	uint64_t left = atomic_load_explicit(rest, memory_order_relaxed), then;

	do {
		if ((left & ((1 << REST_BITS) - 1)) < wanted)
			return 0;
		then = left + (wanted << REST_BITS) - wanted;
		/* Relaxed: nobody has written there. */
	} while (!atomic_compare_exchange_weak_explicit(rest, &left, then, memory_order_relaxed,
							memory_order_relaxed));
	return left >> REST_BITS;
}

static void *slab_map(bool is_wiped)
{
	void *pages = hp_memlock_map(SLAB_SIZE, 0);

	if (pages && is_wiped && syscall(SYS_madvise, pages, SLAB_SIZE, MADV_WIPEONFORK) != 0) {
		hp_memlock_unmap(pages, SLAB_SIZE);
		return NULL;
	}
	return pages;
}

struct slab {
	_Atomic uint64_t rest;	/* of the newest mapping; 0 = nothing */
	_Atomic uint32_t
		is_mapping;	/* a thread is getting the next one; in its forked child, forever */
	uint32_t count;	/* mapped so far; written while is_mapping */
	uint32_t unit;	/* bytes */
	bool is_wiped;
};

/*
 * The first slabs may never be full; later ones belong to many threads, which will use all of
 * their pages. One call takes a fourth of the time of as many faults.
 */
static void slab_populate(const struct slab *slab, void *pages)
{
	if (slab->count > SLABS_FEW)
		syscall(SYS_madvise, pages, SLAB_SIZE, MADV_POPULATE_WRITE);
}

static struct slab pages_slab = { .unit = HP_PAGE };
static struct slab parts_slab = { .unit = HP_LINE };
static struct slab wiped_slab = { .unit = HP_LINE, .is_wiped = true };

/* NULL = no room for a slab, or another thread is mapping one: then a separate mapping for this
 * piece will do. Changes errno. */
static void *piece(struct slab *slab, uint64_t size)
{
	uint64_t wanted = (size + slab->unit - 1) / slab->unit;
	uint64_t at = piece_of(&slab->rest, wanted);

	if (at || atomic_exchange_explicit(&slab->is_mapping, 1, memory_order_acquire))
		return (void *)(uintptr_t)(at * slab->unit);
	at = piece_of(&slab->rest, wanted);
	if (!at && (at = (uintptr_t)slab_map(slab->is_wiped) / slab->unit)) {
		slab->count++;
		if (slab != &pages_slab)
			slab_populate(slab, (void *)(uintptr_t)(at * slab->unit));
		/* The rest of the previous one is never used. */
		atomic_store_explicit(
			&slab->rest, (at + wanted) << REST_BITS | (SLAB_SIZE / slab->unit - wanted),
			memory_order_relaxed);
	}
	atomic_store_explicit(&slab->is_mapping, 0, memory_order_release);
	return (void *)(uintptr_t)(at * slab->unit);
}

/*
 * Small tables are read before anything is in them. For a read the kernel maps its zero page, and
 * the first write causes a second fault, which interrupts all other processors of the process.
 */
static void touch(char *pages, uint64_t count)
{
	for (uint64_t i = 0; i < count && count <= TOUCH_MAX; i++)
		*(volatile char *)(pages + i * HP_PAGE) = 0;
}

/* Its first byte on each page. */
static void touch_part(char *part, uint64_t size)
{
	*(volatile char *)part = 0;
	for (char *page = part - (uintptr_t)part % HP_PAGE + HP_PAGE; page < part + size;
	     page += HP_PAGE)
		*(volatile char *)page = 0;
}

void *hp_pages(uint64_t size)
{
	int saved = errno;
	void *pages = NULL;

	if (hp_is_confined()) {
		pages = take(reserve.pages, HP_RESERVE, &reserve.used, size);
	} else {
		if (pages_of(size) <= PIECE_MAX)
			pages = piece(&pages_slab, size);
		if (!pages)
			pages = hp_memlock_map(size, 0);
	}
	if (pages)
		touch(pages, pages_of(size));
	else
		hp_refused();
	errno = saved;
	return pages;
}

void hp_pages_release(void *pages, uint64_t size)
{
	int saved = errno;

	if (hp_is_confined())
		return;
	hp_memlock_unmap(pages, size);
	errno = saved;
}

void *hp_pages_record(struct hp_free_list *list, size_t size, size_t node_at)
{
	struct hp_free_node *node = hp_free_list_pop(list);
	char *page;

	if (node)
		return (char *)node - node_at;
	page = hp_pages(HP_PAGE);
	for (size_t at = size; page && at + size <= HP_PAGE; at += size)
		hp_free_list_push(list, (struct hp_free_node *)(void *)(page + at + node_at));
	return page;
}

/* The last one that was returned: a process needs one at its start and one at its end. */
static char *_Atomic lent;

char *hp_page_borrow(void)
{
	char *page = atomic_exchange_explicit(&lent, NULL, memory_order_acquire);

	return page ? page : hp_pages(HP_PAGE);
}

void hp_page_return(char *page)
{
	char *none = NULL;

	/* Release: its next user does not find our stores after its own. */
	if (page && !atomic_compare_exchange_strong_explicit(
			    &lent, &none, page, memory_order_release, memory_order_relaxed))
		hp_pages_release(page, HP_PAGE);
}

bool hp_pages_table(void *table, uint64_t size, bool is_wiped)
{
	char **at = table, *none = NULL, *made;
	int saved = errno;

	/* Acquire, here and below: its zeroes come with the pointer. */
	if (__atomic_load_n(at, __ATOMIC_ACQUIRE))
		return true;
	if (hp_is_confined())
		return false;
	made = hp_pages(size);
	if (made && is_wiped && syscall(SYS_madvise, made, size, MADV_WIPEONFORK) != 0) {
		hp_refused();
		hp_pages_release(made, size);
		made = NULL;
	}
	if (made &&
	    !__atomic_compare_exchange_n(at, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		hp_pages_release(made, size);
	errno = saved;
	return made || __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

void *hp_part(uint64_t size)
{
	int saved = errno;
	char *part = hp_is_confined() ? NULL : piece(&parts_slab, size);

	if (!part)
		part = hp_pages(size);
	else
		touch_part(part, size);
	errno = saved;
	return part;
}

/* A page of its own. Changes errno. */
static void *page_wiped(void)
{
	void *page = hp_memlock_map(HP_PAGE, 0);

	if (page && syscall(SYS_madvise, page, HP_PAGE, MADV_WIPEONFORK) != 0) {
		hp_memlock_unmap(page, HP_PAGE);
		page = NULL;
	}
	return page;
}

void *hp_part_wiped(uint64_t size)
{
	int saved = errno;
	void *part;

	if (hp_is_confined())
		part = take(reserve.wiped, HP_RESERVE_WIPED, &reserve.used_wiped, HP_PAGE);
	else if (!(part = piece(&wiped_slab, size)))
		part = page_wiped();
	if (!part)
		hp_refused();
	errno = saved;
	return part;
}
