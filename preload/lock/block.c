/* SPDX-License-Identifier: MIT */
/*
 * block.c - where the memory of a lock was allocated.
 *
 * Many locks are created without a call: a std::mutex, or zeroed memory. The
 * first user is often a library function shared by all of them, so such a lock on
 * the heap is identified by the place that allocated its block, if allocations
 * are recorded: the innermost call on that path from the object that uses the
 * lock. operator new and the like are in another object.
 *
 * The block is in use, so its word and its path do not change.
 */
#include "preload/guest/readable.h"
#include "preload/guest/self.h"
#include "preload/heap/block_extra.h"
#include "preload/heap/heap.h"
#include "preload/heap/shadow.h"
#include "preload/lock/lock.h"
#include "preload/thread/module.h"

#define HP_STEPS_MAX 64	/* calls on the path */

/*
 * glibc's header of a block has the requested size rounded up by less than a chunk. The program is
 * about to use the lock at `address`, so its page is readable.
 */
static bool is_glibc_block(uintptr_t block, uintptr_t address, uint32_t size)
{
	uint64_t word, usable;
	uintptr_t header = block - sizeof(word);

	if (header / HP_PAGE != address / HP_PAGE && !hp_readable(header, sizeof(word)))
		return false;
	word = ((const volatile uint64_t *)block)[-1];
	usable = (word & ~UINT64_C(7)) - (word & 2 ? 16 : 8);	/* 2: it is mapped alone */
	return usable >= size && usable - size < 32;
}

/*
 * Where the block in this grain begins, at `address` or before; 0 = not known. glibc's grain has
 * two places where a block may begin: returns the candidate that fits, if only one does. The word
 * of a sampled or very large block has no size: its entry is kept by the block's exact address.
 */
static uintptr_t block_in(uintptr_t grain, uintptr_t address, uint32_t size,
			  struct hp_block_extra *extra)
{
	bool has_second = hp_shadow_grain == HP_SHADOW_USUAL && address >= grain + 16;
	bool is_first, is_second;

	if (size == HP_SHADOW_LARGE) {
		if (hp_block_extra_look(grain, extra))
			return grain;
		return has_second && hp_block_extra_look(grain + 16, extra) ? grain + 16 : 0;
	}
	extra->size = size;
	if (hp_shadow_grain != HP_SHADOW_USUAL)
		return grain;
	is_first = is_glibc_block(grain, address, size);
	is_second = has_second && is_glibc_block(grain + 16, address, size);
	if (is_first == is_second)
		return 0;
	return is_first ? grain : grain + 16;
}

/* The allocation path of the block that contains `address`; NULL = unknown. */
static const struct hp_step *step_of_block(uintptr_t address, uintptr_t most,
					   struct hp_lock_block *block)
{
	uintptr_t grain = UINT64_C(1) << hp_shadow_grain;
	uintptr_t base = address & ~(grain - 1);

	for (uintptr_t far = 0; far <= most && far <= base; far += grain) {
		const struct hp_shadow_word *place = hp_shadow_find((void *)(base - far));
		struct hp_block_extra extra = { .size = 0 };
		const struct hp_site *site;
		uintptr_t begin;

		if (!place || !place->site)
			continue;
		/* The block begins somewhere in its grain. */
		if (place->size != HP_SHADOW_LARGE && address - (base - far) >= place->size + grain)
			return NULL;
		begin = block_in(base - far, address, place->size, &extra);
		if (begin) {
			if (address - begin >= extra.size)
				return NULL;
			block->inside = address - begin;
		}
		block->size = extra.size < UINT32_MAX ? (uint32_t)extra.size : 0;
		site = hp_segment_at(&hp_segment, (uint64_t)place->site * HP_LINE, sizeof(*site));
		return site ? (const struct hp_step *)((char *)hp_segment.header +
						       (uint64_t)site->step *
							       sizeof(struct hp_step))
			    : NULL;
	}
	return NULL;
}

uintptr_t hp_lock_allocated_at(uintptr_t address, uintptr_t user, uintptr_t most,
			       struct hp_lock_block *block)
{
	const struct hp_step *step = NULL;

	*block = (struct hp_lock_block){ .inside = HP_NO_PLACE };
	if (hp_heap_is_wanted && hp_shadow_leaves)
		step = step_of_block(address, most, block);
	const struct hp_module *module = step ? hp_module_of(user) : NULL;
	for (int i = 0; module && i < HP_STEPS_MAX; i++) {
		if (step->object == module->object / HP_LINE)
			return step->address + module->bias;
		if (!step->caller)
			return 0;
		step = (const struct hp_step *)((char *)hp_segment.header +
						(uint64_t)step->caller * sizeof(*step));
	}
	return 0;
}
