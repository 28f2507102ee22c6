/* SPDX-License-Identifier: MIT */
/*
 * thread_list.c - see thread_list.h.
 */
#include "preload/guest/thread_list.h"

#include "preload/guest/claim.h"
#include "preload/guest/pages.h"

struct hp_thread_node *hp_thread_list_free(struct hp_thread_list *list)
{
	struct hp_thread_node *node = hp_thread_list_first(list);

	while (node && !hp_claim(&node->state, HP_FREE, HP_TAKEN))
		node = node->next;
	return node;
}

void hp_thread_list_add(struct hp_thread_list *list, struct hp_thread_node *node)
{
	HP_ASSERT(!node->next && atomic_load(&node->state) == HP_FREE);
	/* Relaxed: nobody finds it before it is in the list. */
	atomic_store_explicit(&node->state, HP_TAKEN, memory_order_relaxed);
	node->next = atomic_load_explicit(&list->first, memory_order_relaxed);
	/* Release: who finds it finds it complete. */
	while (!atomic_compare_exchange_weak_explicit(&list->first, &node->next, node,
						      memory_order_release, memory_order_relaxed))
		;
}

void *hp_thread_list_get(struct hp_thread_list *list, size_t size, size_t node_at)
{
	struct hp_thread_node *node = hp_thread_list_free(list);
	char *made;

	if (node)
		return hp_thread_of(node, node_at);
	made = hp_part_wiped(size);
	if (made)
		hp_thread_list_add(list, (struct hp_thread_node *)(void *)(made + node_at));
	return made;
}

void hp_thread_list_give(struct hp_thread_node *node)
{
	/* Without a check of the state: fork may have wiped it.  Release: as in claim.h. */
	atomic_store_explicit(&node->state, HP_FREE, memory_order_release);
}
