/* SPDX-License-Identifier: MIT */
/*
 * slot.h - questions that were asked lately, each with its answer and with those
 * who wait for it.
 *
 * Nothing here locks: picture.c's lock is held by the caller.
 */
#ifndef HP_LIVE_CACHE_SLOT_H
#define HP_LIVE_CACHE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "live/cache/picture.h"

struct hp_client {
	struct hp_client *next;
	hp_picture_done done;
	void *context;
	uint64_t until_ns;	/* so long it would rather wait for names */
};

struct hp_slot {
	struct hp_slot *next;
	struct hp_request request;
	struct hp_answer *answer;	/* NULL = none yet */
	struct hp_client *clients;
	uint64_t asked_ns;
	uint64_t wanted_ns;	/* since when its clients wait */
	uint64_t retry_ns;	/* not made again for them before, since names were missing; 0 = they were not */
	bool is_hot;	/* asked again, soon after */
};

struct hp_slots {
	struct hp_slot *first;
	size_t count;
};

/* NULL = it was not asked lately. */
struct hp_slot *hp_slot_find(const struct hp_slots *slots, const struct hp_request *request);

/* The same; made if need be, and then one that nobody waits for may have to go. */
struct hp_slot *hp_slot_make(struct hp_slots *slots, const struct hp_request *request);

/* Somebody asks. */
void hp_slot_touch(struct hp_slot *slot, uint64_t now);

/* Its answer is made again by itself. */
bool hp_slot_is_regular(const struct hp_slot *slot, uint64_t now);
bool hp_slots_has_regular(const struct hp_slots *slots, uint64_t now);

/*
 * The slot that was waited for longest; else, if wished, one that is asked
 * regularly and whose answer is not of the look at `taken_ns`.  In any other
 * order one that is always asked again could keep others waiting for good.
 * NULL = neither.
 */
const struct hp_slot *hp_slot_next(const struct hp_slots *slots, uint64_t now, bool is_regular_too,
				   uint64_t taken_ns);

/* A client more. */
void hp_slot_wait(struct hp_slot *slot, const struct hp_client *client);

/* One of its clients waits for names no longer. */
bool hp_slot_is_patience_over(const struct hp_slot *slot, uint64_t now);

/* Takes those clients out that do not wait for names, or no longer; all, if the answer is whole. */
struct hp_client *hp_slot_served(struct hp_slot *slot, uint64_t now, bool is_whole);

/* Puts off what waits for names. */
void hp_slot_put_off(struct hp_slot *slot, uint64_t now);

/* All answers are out of date; who waits goes on. */
void hp_slots_forget(struct hp_slots *slots);

/* Gives each the answer, which stays the caller's, and frees them.  Without the lock. */
void hp_clients_call(struct hp_client *clients, struct hp_answer *answer);

/* Takes out one slot and gives back who waited for it; false = there is none left. */
bool hp_slots_pop(struct hp_slots *slots, struct hp_client **clients);

#endif
