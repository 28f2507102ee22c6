/* SPDX-License-Identifier: MIT */
/*
 * slot.c - see slot.h.
 */
#include "live/cache/slot.h"

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

struct hp_slot *hp_slot_find(const struct hp_slots *slots, const struct hp_request *request)
{
	struct hp_slot *slot = slots->first;

	while (slot && !is_same(&slot->request, request))
		slot = slot->next;
	return slot;
}

static void slot_free(struct hp_slot *slot)
{
	hp_answer_drop(slot->answer);
	free(slot);
}

/* Evicts the least recently used entry without waiting clients. */
static void evict(struct hp_slots *slots)
{
	struct hp_slot **oldest = NULL, *slot;

	for (struct hp_slot **at = &slots->first; *at; at = &(*at)->next)
		if (!(*at)->clients && (!oldest || (*at)->asked_ns < (*oldest)->asked_ns))
			oldest = at;
	if (!oldest)
		return;
	slot = *oldest;
	*oldest = slot->next;
	slots->count--;
	slot_free(slot);
}

struct hp_slot *hp_slot_make(struct hp_slots *slots, const struct hp_request *request)
{
	struct hp_slot *slot = hp_slot_find(slots, request);

	if (slot)
		return slot;
	if (slots->count >= SLOTS_MAX)
		evict(slots);
	slot = hp_xcalloc(1, sizeof(*slot));
	slot->request = *request;
	slot->next = slots->first;
	slots->first = slot;
	slots->count++;
	return slot;
}

void hp_slot_touch(struct hp_slot *slot, uint64_t now)
{
	slot->is_hot = slot->asked_ns && now - slot->asked_ns < REGULAR_NS;
	slot->asked_ns = now;
}

bool hp_slot_is_regular(const struct hp_slot *slot, uint64_t now)
{
	return slot->is_hot && now - slot->asked_ns < REGULAR_NS;
}

bool hp_slots_has_regular(const struct hp_slots *slots, uint64_t now)
{
	for (const struct hp_slot *slot = slots->first; slot; slot = slot->next)
		if (hp_slot_is_regular(slot, now))
			return true;
	return false;
}

const struct hp_slot *hp_slot_next(const struct hp_slots *slots, uint64_t now, bool is_regular_too,
				   uint64_t taken_ns)
{
	const struct hp_slot *waited = NULL, *due = NULL;

	for (const struct hp_slot *slot = slots->first; slot; slot = slot->next) {
		bool is_older = slot->answer && slot->answer->taken_ns != taken_ns;

		if (slot->clients && slot->retry_ns <= now &&
		    (!waited || slot->wanted_ns < waited->wanted_ns))
			waited = slot;
		if (is_regular_too && is_older && hp_slot_is_regular(slot, now))
			due = slot;
	}
	return waited ? waited : due;
}

void hp_slot_wait(struct hp_slot *slot, const struct hp_client *client)
{
	struct hp_client *own = hp_xcalloc(1, sizeof(*own));

	*own = *client;
	if (!slot->clients)
		slot->wanted_ns = slot->asked_ns;
	own->next = slot->clients;
	slot->clients = own;
}

bool hp_slot_is_patience_over(const struct hp_slot *slot, uint64_t now)
{
	for (const struct hp_client *client = slot->clients; client; client = client->next)
		if (client->until_ns <= now)
			return true;
	return false;
}

void hp_slot_put_off(struct hp_slot *slot, uint64_t now)
{
	slot->retry_ns = now + RETRY_NS;
}

struct hp_client *hp_slot_served(struct hp_slot *slot, uint64_t now, bool is_whole)
{
	struct hp_client *taken = NULL;

	for (struct hp_client **at = &slot->clients, *client; (client = *at);) {
		if (!is_whole && client->until_ns > now) {
			at = &client->next;
			continue;
		}
		*at = client->next;
		client->next = taken;
		taken = client;
	}
	slot->retry_ns = 0;
	if (slot->clients)
		hp_slot_put_off(slot, now);
	return taken;
}

void hp_slots_forget(struct hp_slots *slots)
{
	for (struct hp_slot *slot = slots->first; slot; slot = slot->next) {
		hp_answer_drop(slot->answer);
		slot->answer = NULL;
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

bool hp_slots_pop(struct hp_slots *slots, struct hp_client **clients)
{
	struct hp_slot *slot = slots->first;

	if (!slot)
		return false;
	slots->first = slot->next;
	slots->count--;
	*clients = slot->clients;
	slot_free(slot);
	return true;
}
