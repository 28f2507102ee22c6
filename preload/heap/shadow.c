/* SPDX-License-Identifier: MIT */
/*
 * shadow.c - the directory of leaves.
 */
#include "preload/heap/shadow.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/memlock.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define HP_ADDRESSES_MIN (UINT64_C(1) << 30)	/* with less, the program needs it itself */

#define NOTED_MAX 1024	/* leaves, each for 64 MiB of addresses, that are found without a search */

HP_BULKY static _Atomic uint32_t noted[NOTED_MAX];	/* their places in the directory */
static _Atomic uint32_t noted_count;

struct hp_shadow_word **hp_shadow_leaves;
uint32_t hp_shadow_grain = HP_SHADOW_USUAL;

bool hp_shadow_init(bool is_glibc)
{
	struct rlimit limit;
	int saved = errno;

	hp_shadow_grain = is_glibc ? HP_SHADOW_USUAL : 3;
	if (hp_shadow_leaves)
		return true;
	/* Since Linux 4.7, RLIMIT_DATA covers all private writable memory. */
	for (int i = 0; i < 2; i++) {
		if (syscall(SYS_prlimit64, 0, i ? RLIMIT_DATA : RLIMIT_AS, NULL, &limit) == 0 &&
		    limit.rlim_cur < HP_ADDRESSES_MIN) {
			errno = saved;
			return false;
		}
	}
	hp_shadow_leaves =
		hp_memlock_map(HP_SHADOW_LEAVES * sizeof(*hp_shadow_leaves), MAP_NORESERVE);
	errno = saved;
	return hp_shadow_leaves != NULL;
}

static uint64_t leaf_size(void)
{
	return (UINT64_C(1) << (HP_SHADOW_LEAF - hp_shadow_grain)) * sizeof(struct hp_shadow_word);
}

/* Reading the whole directory would take longer than the actual work. */
static void note(uintptr_t address)
{
	uint32_t at = atomic_fetch_add_explicit(&noted_count, 1, memory_order_relaxed);

	if (at < NOTED_MAX)
		atomic_store_explicit(&noted[at], (uint32_t)(address >> HP_SHADOW_LEAF),
				      memory_order_release);
}

/* The place of a leaf in the directory, the first one with *at = 0; -1 = no more. */
static int32_t next_leaf(uint32_t *at)
{
	uint32_t count = atomic_load_explicit(&noted_count, memory_order_acquire);
	bool is_all = count > NOTED_MAX;

	while (hp_shadow_leaves && *at < (is_all ? HP_SHADOW_LEAVES : count)) {
		uint32_t place =
			is_all ? *at : atomic_load_explicit(&noted[*at], memory_order_acquire);

		++*at;
		if (hp_shadow_leaves[place])
			return (int32_t)place;
	}
	return -1;
}

struct visit {
	void (*each)(void *context, uintptr_t address, struct hp_shadow_word word);
	void *context;
};

static void visit_page(const struct visit *visit, const struct hp_shadow_word *words,
		       uintptr_t address)
{
	for (uint32_t i = 0; i < HP_PAGE / sizeof(*words); i++)
		if (words[i].site)
			visit->each(visit->context, address + ((uintptr_t)i << hp_shadow_grain),
				    words[i]);
}

/* Pages that were never written are not read: that would allocate them. */
static void visit_leaf(const struct visit *visit, uint32_t place, unsigned char *there)
{
	const char *leaf = (const char *)hp_shadow_leaves[place];
	uintptr_t address = (uintptr_t)place << HP_SHADOW_LEAF;
	const uint64_t piece = (uint64_t)HP_PAGE * HP_PAGE, size = leaf_size();
	const uint64_t covered = (HP_PAGE / sizeof(struct hp_shadow_word)) << hp_shadow_grain;

	for (uint64_t at = 0; at < size; at += piece) {
		uint64_t bytes = size - at < piece ? size - at : piece;

		if (syscall(SYS_mincore, leaf + at, bytes, there) != 0)
			return;
		for (uint64_t i = 0; i < bytes / HP_PAGE; i++, address += covered)
			if (there[i] & 1)
				visit_page(visit, (const void *)(leaf + at + i * HP_PAGE), address);
	}
}

void hp_shadow_each(void (*each)(void *context, uintptr_t address, struct hp_shadow_word word),
		    void *context)
{
	const struct visit visit = { each, context };
	unsigned char *there = hp_pages(HP_PAGE);
	int saved = errno;
	int32_t place;

	for (uint32_t at = 0; there && (place = next_leaf(&at)) >= 0;)
		visit_leaf(&visit, (uint32_t)place, there);
	if (there)
		hp_pages_release(there, HP_PAGE);
	errno = saved;
}

void hp_shadow_wipe(void)
{
	int saved = errno;
	int32_t place;

	for (uint32_t at = 0; (place = next_leaf(&at)) >= 0;)
		syscall(SYS_madvise, hp_shadow_leaves[place], leaf_size(), MADV_DONTNEED);
	errno = saved;
}

HP_COLD struct hp_shadow_word *hp_shadow_leaf_new(uintptr_t address)
{
	uint64_t size = leaf_size();
	struct hp_shadow_word **place = &hp_shadow_leaves[address >> HP_SHADOW_LEAF];
	struct hp_shadow_word *leaf, *other = NULL;
	int saved = errno;

	if (hp_is_confined())
		return NULL;
	leaf = hp_memlock_map(size, MAP_NORESERVE);
	if (leaf && syscall(SYS_madvise, leaf, size, MADV_WIPEONFORK) != 0) {
		hp_memlock_unmap(leaf, size);
		leaf = NULL;
	}
	/*
	 * Release: a thread that finds the leaf finds it mapped.  Another thread may have been
	 * faster.
	 */
	if (leaf && !__atomic_compare_exchange_n(place, &other, leaf, false, __ATOMIC_RELEASE,
						 __ATOMIC_ACQUIRE)) {
		hp_memlock_unmap(leaf, size);
		leaf = other;
	} else if (leaf) {
		note(address);
	}
	if (!leaf)
		hp_refused();
	errno = saved;
	return leaf;
}
