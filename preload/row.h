/* SPDX-License-Identifier: MIT */
/*
 * row.h - from a function's address to what is counted for it.
 *
 * All of this is the slow path: it runs once for each new (parent row,
 * function) of a thread.  The gate is shut while it runs.
 */
#ifndef HP_PRELOAD_ROW_H
#define HP_PRELOAD_ROW_H

#include "preload/local.h"

/* A tree has at most this many rows in one block; later ones are flat. */
#define HP_ROWS_MOST 65536

static inline uint64_t hp_slot_index(const struct hp_local *me, const struct hp_row *parent,
				     uintptr_t fn)
{
	/*
	 * Multiplicative hashing (Knuth, TAOCP 6.4).  The factor is one of the
	 * SplitMix64 generator; the golden ratio would fold functions that lie
	 * a multiple of 48 bytes apart onto each other (tried: half of 2000).
	 */
	return (((fn >> 4) ^ ((uintptr_t)parent << 13)) * UINT64_C(0xbf58476d1ce4e5b9)) >>
	       me->slot_shift;
}

/*
 * The slot of this call.  Makes row and function when they are new; when
 * nothing can be made any more, the slot of `<other>`.  Never NULL.
 */
const struct hp_slot *hp_row_find(struct hp_local *me, struct hp_row *parent, uintptr_t fn);

/* Tables, root row and `<other>`; what the block already holds is found.  False = no memory. */
bool hp_row_init(struct hp_local *me);

/* Gives the tables back; no other thread may know of them. */
void hp_row_release(struct hp_local *me);

/*
 * A module is gone: its addresses may become other functions.  Called by any
 * thread of the process, so `me` may be in use: it only ever changes a key into
 * HP_FORGOTTEN, which no address equals.
 */
#define HP_FORGOTTEN 3
void hp_row_forget(struct hp_local *me, uintptr_t begin, uintptr_t end);

/* Room in the segment for this thread, zeroed, at a multiple of HP_LINE; NULL = full. */
void *hp_row_take(struct hp_local *me, uint64_t size);

/* Carries what is above HP_CARRY in a group of a function's histogram, or in all. */
void hp_row_carry(struct hp_local *me, struct hp_function *function, unsigned group);
void hp_row_carry_all(struct hp_local *me, struct hp_function *function);

/* A group of a histogram that has no counters yet; NULL = the segment is full. */
uint32_t *hp_row_group(struct hp_local *me, uint32_t *offset);

#endif
