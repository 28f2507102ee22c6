/* SPDX-License-Identifier: MIT */
/*
 * block_extra.h - data that does not fit into a block's shadow word: sizes of 2 GiB and more,
 * and the allocation time of a sampled block.
 *
 * The word says by its size, HP_SHADOW_LARGE, that there is something here.
 */
#ifndef HP_PRELOAD_HEAP_BLOCK_EXTRA_H
#define HP_PRELOAD_HEAP_BLOCK_EXTRA_H

#include <stdbool.h>
#include <stdint.h>

struct hp_block_extra {
	uint64_t size;	/* bytes requested */
	uint64_t born;	/* ticks; 0 = the block is not sampled */
};

/* Replaces an existing entry of that address.  False = no room.  errno is kept. */
bool hp_block_extra_put(uintptr_t address, struct hp_block_extra what);

/* The entry of a block in use; false = there is none, and `what` is kept. */
bool hp_block_extra_look(uintptr_t address, struct hp_block_extra *what);

/* And removes it; without an entry, the size is HP_SHADOW_LARGE. */
struct hp_block_extra hp_block_extra_take(uintptr_t address);

/* Removes the entry. */
void hp_block_extra_wipe(void);

#endif
