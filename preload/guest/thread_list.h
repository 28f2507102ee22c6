/* SPDX-License-Identifier: MIT */
/*
 * thread_list.h - the structs that a recorder keeps per thread in the process's
 * own memory. They are never unmapped: an ended thread leaves its struct to a
 * later one.
 *
 * A forked child finds wiped pages zeroed: they are free, and the list ends
 * after the first one.
 */
#ifndef HP_PRELOAD_GUEST_THREAD_LIST_H
#define HP_PRELOAD_GUEST_THREAD_LIST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* In each struct, as `node`. */
struct hp_thread_node {
	struct hp_thread_node *next;	/* list of the process */
	_Atomic uint32_t state;	/* enum hp_state; 0 = HP_FREE */
};

struct hp_thread_list {
	_Atomic(struct hp_thread_node *) first;
};

/* The struct that contains the node; NULL for NULL. */
#define HP_THREAD_OF(type, at) ((type *)hp_thread_of((at), offsetof(type, node)))

static inline void *hp_thread_of(struct hp_thread_node *node, size_t node_at)
{
	return node ? (char *)node - node_at : NULL;
}

/* Acquire: hp_thread_list_add published them complete. */
static inline struct hp_thread_node *hp_thread_list_first(struct hp_thread_list *list)
{
	return atomic_load_explicit(&list->first, memory_order_acquire);
}

/* One that an ended thread left; NULL = none. */
struct hp_thread_node *hp_thread_list_free(struct hp_thread_list *list);

/* Adds a complete struct, which the caller has. */
void hp_thread_list_add(struct hp_thread_list *list, struct hp_thread_node *node);

/* A free struct or a new wiped one of `size` bytes, with its node at `node_at`; NULL = no memory. */
void *hp_thread_list_get(struct hp_thread_list *list, size_t size, size_t node_at);

/* The thread has ended. */
void hp_thread_list_give(struct hp_thread_node *node);

#endif
