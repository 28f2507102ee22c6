/* SPDX-License-Identifier: MIT */
/*
 * spare.h - records that ended threads left, without a look at those of all who live.
 *
 * Records of a kind are in a list of the process.  10 000 threads that begin one after
 * the other, stay, and are followed by as many would take 100 million steps through it for one
 * that is free.  So what an ended thread used is on a stack, and the list is walked only
 * while there may be records in it that nobody of this process had.
 *
 * Who has a record is told by its state alone.  What is on the stack may have been taken
 * otherwise: then it is dropped, and comes back when it is given back.
 *
 * The stack is Treiber's (IBM RJ 5118, 1986) with a count beside the address, so that one that was
 * taken and came back is not taken for the one that was there.  No lock, for signal handlers, too.
 */
#ifndef HP_PRELOAD_GUEST_SPARE_H
#define HP_PRELOAD_GUEST_SPARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_SPARE_ADDRESS ((UINT64_C(1) << 48) - 1)

/* In what a thread has of a record; never given back to the system once it was on a stack. */
struct hp_spare {
	_Atomic(struct hp_spare *) next;
	_Atomic uint32_t is_on;	/* the stack */
};

struct hp_spares {
	_Atomic uint64_t top;	/* address, and above it how often it changed */
	_Atomic uint32_t is_walked;	/* no record that nobody had is free in the list */
};

/* After the state says that it is free. */
static inline void hp_spare_push(struct hp_spares *spares, struct hp_spare *spare)
{
	uint64_t top, then;

	/* Who takes it down just now looks at the state after this was seen, or we see that. */
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

/* NULL = none.  The state says whether it is free still. */
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

/* Of a record that nobody had: the list is to be walked again. */
static inline void hp_spare_unused(struct hp_spares *spares)
{
	atomic_exchange(&spares->is_walked, 0);
}

/* False = a walk would be in vain.  Who finds one says so with hp_spare_unused. */
static inline bool hp_spare_walk(struct hp_spares *spares)
{
	return !atomic_load_explicit(&spares->is_walked, memory_order_relaxed) &&
	       !atomic_exchange(&spares->is_walked, 1);
}

#define HP_SPARE_OF(type, spare) ((type *)(void *)((char *)(spare)-offsetof(type, ended)))

#endif
