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

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/memlock.h"
#include "preload/guest/self.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define HP_ADDRESSES_LEAST (UINT64_C(1) << 30)	/* with less the program needs them itself */

struct hp_shadow_word **hp_shadow_leaves;
uint32_t hp_shadow_grain = HP_SHADOW_USUAL;

bool hp_shadow_init(bool is_glibc)
{
	struct rlimit limit;
	int saved = errno;

	hp_shadow_grain = is_glibc ? HP_SHADOW_USUAL : 3;
	if (hp_shadow_leaves)
		return true;
	/* RLIMIT_DATA is of all private memory that can be written, since Linux 4.7. */
	for (int i = 0; i < 2; i++) {
		if (syscall(SYS_prlimit64, 0, i ? RLIMIT_DATA : RLIMIT_AS, NULL, &limit) == 0 &&
		    limit.rlim_cur < HP_ADDRESSES_LEAST) {
			errno = saved;
			return false;
		}
	}
	hp_shadow_leaves =
		hp_memlock_map(HP_SHADOW_LEAVES * sizeof(*hp_shadow_leaves), MAP_NORESERVE);
	errno = saved;
	return hp_shadow_leaves != NULL;
}

HP_COLD struct hp_shadow_word *hp_shadow_leaf_new(uintptr_t address)
{
	uint64_t size =
		(UINT64_C(1) << (HP_SHADOW_LEAF - hp_shadow_grain)) * sizeof(struct hp_shadow_word);
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
	/* Release: who finds the leaf finds it mapped.  Another thread may have been faster. */
	if (leaf && !__atomic_compare_exchange_n(place, &other, leaf, false, __ATOMIC_RELEASE,
						 __ATOMIC_ACQUIRE)) {
		hp_memlock_unmap(leaf, size);
		leaf = other;
	}
	if (!leaf)
		hp_refused();
	errno = saved;
	return leaf;
}
