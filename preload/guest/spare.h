/* SPDX-License-Identifier: MIT */
/*
 * spare.h - a free list of records of ended threads, so that none of the live
 * threads' records must be scanned.
 *
 * All records of a kind are in a list of the process. With 10 000 live threads,
 * starting as many again would take 100 million steps through it to find free
 * ones. So records of ended threads are on a stack, and the list is only walked
 * while it may contain records that this process never used.
 *
 * Only its state tells whether a record is free. A record on the stack may have
 * been taken otherwise: then it is dropped, and returns when it is freed.
 *
 * It is a Treiber stack (IBM RJ 5118, 1986) with a count beside the address
 * against the ABA problem. Lock-free, so signal handlers may use it.
 */
#ifndef HP_PRELOAD_GUEST_SPARE_H
#define HP_PRELOAD_GUEST_SPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_SPARE_ADDRESS ((UINT64_C(1) << 48) - 1)

/* Embedded in a thread's part of a record; never unmapped once it was on a stack. */
struct hp_spare {
	_Atomic(struct hp_spare *) next;
	_Atomic uint32_t is_on;	/* the stack */
};

struct hp_spares {
	_Atomic uint64_t top;	/* address, and in the upper bits a count of its changes */
	_Atomic uint32_t is_walked;	/* the list has no free record that was never used */
};

/* After the state is set to free. */
static inline void hp_spare_push(struct hp_spares *spares, struct hp_spare *spare)
{
	uint64_t top, then;

	/* A thread that pops it either checks the state after this, or we see its pop. */
	if (atomic_exchange(&spare->is_on, 1))
		return;
	top = atomic_load_explicit(&spares->top, memory_order_relaxed);
	do {
		atomic_store_explicit(&spare->next,
				      (struct hp_spare *)(uintptr_t)(top & HP_SPARE_ADDRESS),
				      memory_order_relaxed);
		then = (uint64_t)(uintptr_t)spare |
		       ((top & ~HP_SPARE_ADDRESS) + HP_SPARE_ADDRESS + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&spares->top, &top, then, memory_order_release, memory_order_relaxed));
}

/* NULL = none. Check the state: it may not be free any more. */
static inline struct hp_spare *hp_spare_pop(struct hp_spares *spares)
{
	uint64_t top = atomic_load_explicit(&spares->top, memory_order_acquire), then;
	struct hp_spare *spare;

	do {
		spare = (struct hp_spare *)(uintptr_t)(top & HP_SPARE_ADDRESS);
		if (!spare)
			return NULL;
		then = (uint64_t)(uintptr_t)atomic_load_explicit(&spare->next,
								 memory_order_relaxed) |
		       ((top & ~HP_SPARE_ADDRESS) + HP_SPARE_ADDRESS + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&spares->top, &top, then, memory_order_acq_rel, memory_order_acquire));
	atomic_exchange(&spare->is_on, 0);
	return spare;
}

/* A never-used record exists: the list must be walked again. */
static inline void hp_spare_unused(struct hp_spares *spares)
{
	atomic_exchange(&spares->is_walked, 0);
}

/* False = a walk would find nothing. After finding one, call hp_spare_unused. */
static inline bool hp_spare_walk(struct hp_spares *spares)
{
	return !atomic_load_explicit(&spares->is_walked, memory_order_relaxed) &&
	       !atomic_exchange(&spares->is_walked, 1);
}

#define HP_SPARE_OF(type, spare) ((type *)(void *)((char *)(spare)-offsetof(type, ended)))

#endif
