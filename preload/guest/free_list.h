/* SPDX-License-Identifier: MIT */
/*
 * free_list.h - a free list of records of ended threads, so that none of the live
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
#ifndef HP_PRELOAD_GUEST_FREE_LIST_H
#define HP_PRELOAD_GUEST_FREE_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/assert.h"

#define HP_FREE_LIST_ADDRESS ((UINT64_C(1) << 48) - 1)

/* Embedded in a thread's part of a record; never unmapped once it was on a stack. */
struct hp_free_node {
	_Atomic(struct hp_free_node *) next;
	_Atomic uint32_t is_on;	/* the stack */
};

struct hp_free_list {
	_Atomic uint64_t top;	/* address, and in the upper bits a count of its changes */
	_Atomic uint32_t is_walked;	/* the list has no free record that was never used */
};

/* After the state is set to free. */
static inline void hp_free_list_push(struct hp_free_list *list, struct hp_free_node *node)
{
	uint64_t top, then;

	/* A thread that pops it either checks the state after this, or we see its pop. */
	HP_ASSERT(((uintptr_t)node & ~HP_FREE_LIST_ADDRESS) == 0);
	if (atomic_exchange(&node->is_on, 1))
		return;
	top = atomic_load_explicit(&list->top, memory_order_relaxed);
	do {
		atomic_store_explicit(
			&node->next, (struct hp_free_node *)(uintptr_t)(top & HP_FREE_LIST_ADDRESS),
			memory_order_relaxed);
		then = (uint64_t)(uintptr_t)node |
		       ((top & ~HP_FREE_LIST_ADDRESS) + HP_FREE_LIST_ADDRESS + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&list->top, &top, then, memory_order_release, memory_order_relaxed));
}

/* NULL = none. Check the state: it may not be free any more. */
static inline struct hp_free_node *hp_free_list_pop(struct hp_free_list *list)
{
	uint64_t top = atomic_load_explicit(&list->top, memory_order_acquire), then;
	struct hp_free_node *node;

	do {
		node = (struct hp_free_node *)(uintptr_t)(top & HP_FREE_LIST_ADDRESS);
		if (!node)
			return NULL;
		then = (uint64_t)(uintptr_t)atomic_load_explicit(&node->next,
								 memory_order_relaxed) |
		       ((top & ~HP_FREE_LIST_ADDRESS) + HP_FREE_LIST_ADDRESS + 1);
	} while (!atomic_compare_exchange_weak_explicit(
		&list->top, &top, then, memory_order_acq_rel, memory_order_acquire));
	atomic_exchange(&node->is_on, 0);
	return node;
}

/* A never-used record exists: the list must be walked again. */
static inline void hp_free_list_unused(struct hp_free_list *list)
{
	atomic_exchange(&list->is_walked, 0);
}

/* False = a walk would find nothing. After finding one, call hp_free_list_unused. */
static inline bool hp_free_list_walk(struct hp_free_list *list)
{
	return !atomic_load_explicit(&list->is_walked, memory_order_relaxed) &&
	       !atomic_exchange(&list->is_walked, 1);
}

#define HP_FREE_LIST_OF(type, node) ((type *)(void *)((char *)(node)-offsetof(type, ended)))

#endif
