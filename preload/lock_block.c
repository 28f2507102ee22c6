/* SPDX-License-Identifier: MIT */
/*
 * lock_block.c - where the memory of a lock was allocated.
 *
 * Many locks are made by nobody: a std::mutex, one that was zeroed.  What used it
 * first is often a function of a library's that all of them go through, so such
 * a lock on the heap is told by the place that allocated its block, as far as
 * allocations are recorded.  Of that path it is the innermost call out of the
 * object that uses the lock: operator new and the like are in another one.
 *
 * The block is in use, so its word and its path stay as they are.
 */
#include "preload/heap.h"
#include "preload/lock.h"
#include "preload/module.h"
#include "preload/process.h"
#include "preload/shadow.h"

#define HP_BLOCK_MOST 65536	/* bytes: the lock is that near to the start of its block */
#define HP_STEPS_MOST 64	/* calls on the path */

/* The allocation path of the block that `address` is in; NULL = not known. */
static const struct hp_step *step_of_block(uintptr_t address)
{
	uintptr_t grain = UINT64_C(1) << hp_shadow_grain;
	uintptr_t base = address & ~(grain - 1);

	for (uintptr_t far = 0; far <= HP_BLOCK_MOST && far <= base; far += grain) {
		const struct hp_shadow_word *place = hp_shadow_find((void *)(base - far));
		const struct hp_site *site;

		if (!place || !place->site)
			continue;
		/* The block begins somewhere in its grain. */
		if (place->size != HP_SHADOW_LARGE && address - (base - far) >= place->size + grain)
			return NULL;
		site = hp_segment_at(&hp_segment, (uint64_t)place->site * HP_LINE, sizeof(*site));
		return site ? (const struct hp_step *)((char *)hp_segment.header +
						       (uint64_t)site->step *
							       sizeof(struct hp_step))
			    : NULL;
	}
	return NULL;
}

uintptr_t hp_lock_allocated_at(uintptr_t address, uintptr_t user)
{
	const struct hp_step *step =
		hp_heap_is_wanted && hp_shadow_leaves ? step_of_block(address) : NULL;
	const struct hp_module *module = step ? hp_module_of(user) : NULL;

	for (int i = 0; module && i < HP_STEPS_MOST; i++) {
		if (step->object == module->object / HP_LINE)
			return step->address + module->bias;
		if (!step->caller)
			return 0;
		step = (const struct hp_step *)((char *)hp_segment.header +
						(uint64_t)step->caller * sizeof(*step));
	}
	return 0;
}
