/* SPDX-License-Identifier: MIT */
/*
 * pages.c - see pages.h.
 */
#include "preload/guest/pages.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/memlock.h"
#include "preload/guest/self.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define HP_RESERVE (UINT64_C(16) << 20)	/* costs address space, and what is used of it */
#define HP_RESERVE_WIPED (256 * HP_PAGE)	/* as many threads */

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
	/* What is left may do for less. */
	atomic_fetch_sub_explicit(used, wanted, memory_order_relaxed);
	return NULL;
}

void *hp_pages(uint64_t size)
{
	int saved = errno;
	void *pages = hp_is_confined() ? take(reserve.pages, HP_RESERVE, &reserve.used, size)
				       : hp_memlock_map(size, 0);

	if (!pages)
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

void *hp_pages_wiped(void)
{
	int saved = errno;
	void *page;

	if (hp_is_confined()) {
		page = take(reserve.wiped, HP_RESERVE_WIPED, &reserve.used_wiped, HP_PAGE);
		if (!page)
			hp_refused();
		return page;
	}
	page = hp_pages(HP_PAGE);
	if (page && syscall(SYS_madvise, page, HP_PAGE, MADV_WIPEONFORK) != 0) {
		hp_pages_release(page, HP_PAGE);
		hp_refused();
		page = NULL;
	}
	errno = saved;
	return page;
}
