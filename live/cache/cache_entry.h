/* SPDX-License-Identifier: MIT */
/*
 * cache_entry.h - cache entries: recent requests, each with its answer and its waiting
 * clients.
 *
 * No locking here: the caller holds cache.c's lock.
 */
#ifndef HP_LIVE_CACHE_CACHE_ENTRY_H
#define HP_LIVE_CACHE_CACHE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "live/cache/cache.h"

struct hp_client {
	struct hp_client *next;
	hp_cache_done done;
	void *context;
	uint64_t until_ns;	/* limit of its wait for names */
};

struct hp_cache_entry {
	struct hp_cache_entry *next;
	struct hp_request request;
	struct hp_answer *answer;	/* NULL = none yet */
	struct hp_client *clients;
	uint64_t asked_ns;
	uint64_t wanted_ns;	/* time since its clients have been waiting */
	uint64_t retry_ns;	/* not remade before this time, since names were missing; 0 = none were */
	bool is_hot;	/* requested regularly */
};

struct hp_cache_entries {
	struct hp_cache_entry *first;
	size_t count;
};

/* NULL = not requested recently. */
struct hp_cache_entry *hp_cache_entry_find(const struct hp_cache_entries *entries,
					   const struct hp_request *request);

/* The same; adds it if necessary, which may evict one without waiting clients. */
struct hp_cache_entry *hp_cache_entry_make(struct hp_cache_entries *entries,
					   const struct hp_request *request);

/* Records a request. */
void hp_cache_entry_touch(struct hp_cache_entry *entry, uint64_t now);

/* True if its answer is remade at each refresh. */
bool hp_cache_entry_is_regular(const struct hp_cache_entry *entry, uint64_t now);
bool hp_cache_entries_has_regular(const struct hp_cache_entries *entries, uint64_t now);

/*
 * The entry with the longest wait; else, on request, a regular one whose answer
 * is not from the refresh at `taken_ns`. In any other order a constantly
 * requested entry could starve others. NULL = neither.
 */
const struct hp_cache_entry *hp_cache_entry_next(const struct hp_cache_entries *entries,
						 uint64_t now, bool is_regular_too,
						 uint64_t taken_ns);

/* Adds a client. */
void hp_cache_entry_wait(struct hp_cache_entry *entry, const struct hp_client *client);

/* True if one of its clients no longer waits for names. */
bool hp_cache_entry_is_patience_over(const struct hp_cache_entry *entry, uint64_t now);

/* Removes the clients that do not, or no longer, wait for names; all if the answer is complete. */
struct hp_client *hp_cache_entry_served(struct hp_cache_entry *entry, uint64_t now, bool is_whole);

/* Postpones entries that wait for names. */
void hp_cache_entry_put_off(struct hp_cache_entry *entry, uint64_t now);

/* Invalidates all answers; clients keep waiting. */
void hp_cache_entries_forget(struct hp_cache_entries *entries);

/* Passes the answer, which the caller keeps, to each client and frees them. Without the lock. */
void hp_clients_call(struct hp_client *clients, struct hp_answer *answer);

/* Removes one entry and returns its waiting clients; false = none left. */
bool hp_cache_entries_pop(struct hp_cache_entries *entries, struct hp_client **clients);

#endif
