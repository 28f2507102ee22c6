/* SPDX-License-Identifier: MIT */
/*
 * shadow.h - which path a block was allocated on, and how large it was requested.
 *
 * The program's heap keeps its layout: for each HP_SHADOW_GRAIN bytes of address
 * space there is one word elsewhere, and no two blocks start within one grain.
 * Leaves of words are mapped when first written, and wiped in forked children:
 * a child's frees of its parent's blocks are not counted.
 *
 * The word of a block is written by the thread that allocated it and cleared by the
 * one that frees it, before the block can be allocated again. A second free finds it
 * cleared.
 */
#ifndef HP_PRELOAD_HEAP_SHADOW_H
#define HP_PRELOAD_HEAP_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/guest.h"

#define HP_SHADOW_LEAF 26	/* log2 of the address space that a leaf covers */
#define HP_SHADOW_LEAVES (1 << (47 - HP_SHADOW_LEAF))
#define HP_SHADOW_USUAL 5	/* grain of glibc: its smallest chunk has 32 bytes */
#define HP_SHADOW_LARGE \
	INT32_MAX	/* of hp_shadow_word.size: see block_extra.h; fits into an instruction */

/* 0 = no block of ours starts here. */
struct hp_shadow_word {
	uint32_t site;	/* offset / HP_LINE */
	uint32_t size;	/* bytes requested */
};

/* Hidden here, too: otherwise the compiler reads them through a table. */
#pragma GCC visibility push(hidden)
extern struct hp_shadow_word **hp_shadow_leaves;
extern uint32_t
	hp_shadow_grain;	/* log2 of the bytes that no two blocks share: HP_SHADOW_USUAL, else 3 */
#pragma GCC visibility pop

/*
 * Every word that is not 0, with the start address of its grain. Meanwhile the calling thread
 * writes no word.
 */
void hp_shadow_each(void (*each)(void *context, uintptr_t address, struct hp_shadow_word word),
		    void *context);

/* Sets all words to 0, as in a forked child. */
void hp_shadow_wipe(void);

/* Called once, before anything else.  False = no memory: live bytes are not known. */
bool hp_shadow_init(bool is_glibc);

/* A leaf for the address; NULL = none exists. */
struct hp_shadow_word *hp_shadow_leaf_new(uintptr_t address);

static inline struct hp_shadow_word *hp_shadow_in(struct hp_shadow_word *leaf, uintptr_t address)
{
	return leaf + ((address & ((UINT64_C(1) << HP_SHADOW_LEAF) - 1)) >> hp_shadow_grain);
}

/* The same for the usual grain; NULL = no leaf. */
static inline struct hp_shadow_word *hp_shadow_usual(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	struct hp_shadow_word *leaf;

	if (HP_UNLIKELY(address >> 47))
		return NULL;
	leaf = hp_shadow_leaves[address >> HP_SHADOW_LEAF];
	if (HP_UNLIKELY(!leaf))
		return NULL;
	return leaf + ((address & ((UINT64_C(1) << HP_SHADOW_LEAF) - 1)) >> HP_SHADOW_USUAL);
}

/* The place for the word of a block at `address`; NULL = none. */
static inline struct hp_shadow_word *hp_shadow_at(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	struct hp_shadow_word *leaf;

	if (HP_UNLIKELY(address >> 47))
		return NULL;
	leaf = hp_shadow_leaves[address >> HP_SHADOW_LEAF];
	if (HP_UNLIKELY(!leaf)) {
		leaf = hp_shadow_leaf_new(address);
		if (!leaf)
			return NULL;
	}
	return hp_shadow_in(leaf, address);
}

/* The word of a block that has one, for the usual grain. */
static inline struct hp_shadow_word *hp_shadow_known(const void *block)
{
	uintptr_t address = (uintptr_t)block;

	return hp_shadow_leaves[address >> HP_SHADOW_LEAF] +
	       ((address & ((UINT64_C(1) << HP_SHADOW_LEAF) - 1)) >> HP_SHADOW_USUAL);
}

/* The word of the block, if it may have one; else NULL. */
static inline struct hp_shadow_word *hp_shadow_find(const void *block)
{
	uintptr_t address = (uintptr_t)block;
	struct hp_shadow_word *leaf;

	if (HP_UNLIKELY(address >> 47))
		return NULL;
	leaf = hp_shadow_leaves[address >> HP_SHADOW_LEAF];
	return HP_LIKELY(leaf != NULL) ? hp_shadow_in(leaf, address) : NULL;
}

#endif
