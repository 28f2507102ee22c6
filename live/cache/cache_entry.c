/* SPDX-License-Identifier: MIT */
/*
 * cache_entry.c - see cache_entry.h.
 */
#include "live/cache/cache_entry.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

#define MS UINT64_C(1000000)
#define REGULAR_NS (2500 * MS)	/* a request repeated within this time counts as regular */
#define RETRY_NS (4 * MS)	/* interval of checks for new names */
#define SLOTS_MAX 256

static bool is_same(const struct hp_request *a, const struct hp_request *b)
{
	return a->route == b->route && a->id == b->id && a->is_openmetrics == b->is_openmetrics &&
	       strcmp(a->query, b->query) == 0;
}

struct hp_cache_entry *hp_cache_entry_find(const struct hp_cache_entries *entries,
					   const struct hp_request *request)
{
	struct hp_cache_entry *entry = entries->first;

	while (entry && !is_same(&entry->request, request))
		entry = entry->next;
	return entry;
}

static void entry_free(struct hp_cache_entry *entry)
{
	hp_answer_drop(entry->answer);
	free(entry);
}

/* Evicts the least recently used entry without waiting clients. */
static void evict(struct hp_cache_entries *entries)
{
	struct hp_cache_entry **oldest = NULL, *entry;

	for (struct hp_cache_entry **at = &entries->first; *at; at = &(*at)->next)
		if (!(*at)->clients && (!oldest || (*at)->asked_ns < (*oldest)->asked_ns))
			oldest = at;
	if (!oldest)
		return;
	entry = *oldest;
	*oldest = entry->next;
	entries->count--;
	entry_free(entry);
}

struct hp_cache_entry *hp_cache_entry_make(struct hp_cache_entries *entries,
					   const struct hp_request *request)
{
	struct hp_cache_entry *entry = hp_cache_entry_find(entries, request);

	if (entry)
		return entry;
	if (entries->count >= SLOTS_MAX)
		evict(entries);
	entry = hp_xcalloc(1, sizeof(*entry));
	entry->request = *request;
	entry->next = entries->first;
	entries->first = entry;
	entries->count++;
	return entry;
}

void hp_cache_entry_touch(struct hp_cache_entry *entry, uint64_t now)
{
	entry->is_hot = entry->asked_ns && now - entry->asked_ns < REGULAR_NS;
	entry->asked_ns = now;
}

bool hp_cache_entry_is_regular(const struct hp_cache_entry *entry, uint64_t now)
{
	return entry->is_hot && now - entry->asked_ns < REGULAR_NS;
}

bool hp_cache_entries_has_regular(const struct hp_cache_entries *entries, uint64_t now)
{
	for (const struct hp_cache_entry *entry = entries->first; entry; entry = entry->next)
		if (hp_cache_entry_is_regular(entry, now))
			return true;
	return false;
}

const struct hp_cache_entry *hp_cache_entry_next(const struct hp_cache_entries *entries,
						 uint64_t now, bool is_regular_too,
						 uint64_t taken_ns)
{
	const struct hp_cache_entry *waited = NULL, *due = NULL;

	for (const struct hp_cache_entry *entry = entries->first; entry; entry = entry->next) {
		bool is_older = entry->answer && entry->answer->taken_ns != taken_ns;

		if (entry->clients && entry->retry_ns <= now &&
		    (!waited || entry->wanted_ns < waited->wanted_ns))
			waited = entry;
		if (is_regular_too && is_older && hp_cache_entry_is_regular(entry, now))
			due = entry;
	}
	return waited ? waited : due;
}

void hp_cache_entry_wait(struct hp_cache_entry *entry, const struct hp_client *client)
{
	struct hp_client *own = hp_xcalloc(1, sizeof(*own));

	*own = *client;
	if (!entry->clients)
		entry->wanted_ns = entry->asked_ns;
	own->next = entry->clients;
	entry->clients = own;
}

bool hp_cache_entry_is_patience_over(const struct hp_cache_entry *entry, uint64_t now)
{
	for (const struct hp_client *client = entry->clients; client; client = client->next)
		if (client->until_ns <= now)
			return true;
	return false;
}

void hp_cache_entry_put_off(struct hp_cache_entry *entry, uint64_t now)
{
	entry->retry_ns = now + RETRY_NS;
}

struct hp_client *hp_cache_entry_served(struct hp_cache_entry *entry, uint64_t now, bool is_whole)
{
	struct hp_client *taken = NULL;

	for (struct hp_client **at = &entry->clients, *client; (client = *at);) {
		if (!is_whole && client->until_ns > now) {
			at = &client->next;
			continue;
		}
		*at = client->next;
		client->next = taken;
		taken = client;
	}
	entry->retry_ns = 0;
	if (entry->clients)
		hp_cache_entry_put_off(entry, now);
	return taken;
}

void hp_cache_entries_forget(struct hp_cache_entries *entries)
{
	for (struct hp_cache_entry *entry = entries->first; entry; entry = entry->next) {
		hp_answer_drop(entry->answer);
		entry->answer = NULL;
	}
}

void hp_clients_call(struct hp_client *clients, struct hp_answer *answer)
{
	while (clients) {
		struct hp_client *client = clients;

		clients = client->next;
		client->done(client->context, hp_answer_hold(answer));
		free(client);
	}
}

bool hp_cache_entries_pop(struct hp_cache_entries *entries, struct hp_client **clients)
{
	struct hp_cache_entry *entry = entries->first;

	if (!entry)
		return false;
	entries->first = entry->next;
	entries->count--;
	*clients = entry->clients;
	entry_free(entry);
	return true;
}
