/* SPDX-License-Identifier: MIT */
/*
 * tids.h - a set of thread IDs.
 */
#ifndef HP_SAMPLER_BASE_TIDS_H
#define HP_SAMPLER_BASE_TIDS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_tids {
	uint32_t *slots;	/* open addressing, 0 = empty */
	uint32_t room;	/* a power of two, or 0 */
	uint32_t count;
};

/* True if it is new. False also if memory runs out. */
bool hp_tids_add(struct hp_tids *tids, uint32_t tid);
bool hp_tids_has(const struct hp_tids *tids, uint32_t tid);

/* Empties it. */
void hp_tids_release(struct hp_tids *tids);

#endif
