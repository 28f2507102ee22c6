/* SPDX-License-Identifier: MIT */
/*
 * row.h - maps a function's address to its counters.
 *
 * All of this is the slow path: it runs once for each new (parent row,
 * function) of a thread.  The gate is shut while it runs.
 */
#ifndef HP_PRELOAD_CALL_ROW_H
#define HP_PRELOAD_CALL_ROW_H

#include "preload/call/local.h"
#include "util/hash.h"

/* A tree has at most this many rows in one block; later ones are flat. */
#define HP_ROWS_MAX 65536

/* No two rows of a segment have the same: they do not overlap, and are in fewer than 2^32 lines. */
static inline uint32_t hp_row_number(const void *row)
{
	return (uint32_t)((uintptr_t)row / sizeof(struct hp_row));
}

/*
 * The table that leads from a call to its row, in the thread's own memory: open
 * addressing, at most a fifth full. The row itself has the key, so a
 * counted call touches its place in the table, its row, and its function's gist.
 *
 * Multiplicative hashing of the function (Knuth, TAOCP 6.4), with the factor of
 * the SplitMix64 generator: the golden ratio would map functions a multiple
 * of 48 bytes apart to the same place (measured: half of 2000). Rows are
 * adjacent, so the parent's number gives one function different places; and
 * it is known last, so nothing slow follows it. The bits above the 32nd are as
 * good as the highest ones, and need no shift that depends on the table's size.
 */
static inline uint64_t hp_row_index(const struct hp_local *me, uint32_t above, uintptr_t fn)
{
	return ((fn * HP_HASH_FACTOR) >> 32 ^ above) & me->rows_last;
}

/*
 * A call whose function is on the path already goes to that row, but has its own
 * key: the key's place then holds an alias, a row in private memory whose gist has
 * `one_in` 0, which sends hooks to the slow path, and the row's address in `below`.
 */
extern struct hp_gist hp_row_alias_gist;

static inline struct hp_gist *hp_row_gist(const struct hp_row *row)
{
	return (struct hp_gist *)(uintptr_t)row->gist_at;
}

static inline struct hp_row *hp_row_meant(struct hp_row *row)
{
	return hp_row_gist(row) == &hp_row_alias_gist ? (struct hp_row *)(uintptr_t)row->below
						      : row;
}

static inline struct hp_function *hp_row_function(const struct hp_local *me,
						  const struct hp_row *row)
{
	return (struct hp_function *)(me->base + (uint64_t)row->function_near * HP_LINE);
}

/*
 * The row of this call, or its alias. Creates row and function if they are
 * new; if there is no room, returns the row of `<other>`. Never NULL.
 */
struct hp_row *hp_row_find(struct hp_local *me, struct hp_row *parent, uintptr_t fn);

/* A jump left the slow path halfway: no row is lost. */
void hp_row_recover(struct hp_local *me);

/* Tables, root row and `<other>`; existing records of the block are found.  False = no memory. */
bool hp_row_init(struct hp_local *me);

/* Frees the tables; no other thread may know them. */
void hp_row_release(struct hp_local *me);

/*
 * A module was unloaded: its addresses may become other functions.  Called by any
 * thread of the process, so `me` may be in use: it only ever sets HP_PARKED in a
 * function's address in a key, which no address of a program has.  Libraries that are
 * loaded at the same place again find their records by it, so a program that keeps
 * loading and unloading plugins takes room only once.
 */
#define HP_PARKED (UINT64_C(1) << 63)
void hp_row_forget(struct hp_local *me, uintptr_t begin, uintptr_t end);

/* Room in the segment for this thread, zeroed, at a multiple of HP_LINE; NULL = full. */
void *hp_row_take(struct hp_local *me, uint64_t size);

/* Carries values above HP_CARRY in one group of a function's histogram, or in all. */
void hp_row_carry(struct hp_local *me, struct hp_function *function, unsigned group);
void hp_row_carry_all(struct hp_local *me, struct hp_function *function);

/* A group of a histogram that has no counters yet; NULL = the segment is full. */
uint32_t *hp_row_group(struct hp_local *me, uint32_t *offset);

#endif
