/* SPDX-License-Identifier: MIT */
/*
 * record.c - see record.h.
 */
#include "preload/guest/record.h"

#include <stdbool.h>

#include "preload/guest/claim.h"
#include "preload/guest/self.h"

static void *record_of(const struct hp_records *records, const void *user)
{
	return *(void *const *)((const char *)user + records->record_at);
}

static void **next_of(const struct hp_records *records, void *user)
{
	return (void **)((char *)user + records->next_at);
}

/* It has the last owner's contents and tables. */
static bool claim(struct hp_record *record)
{
	return hp_claim(&record->state, HP_FREE, HP_TAKEN);
}

/* The record's user in this process; NULL = none. */
static void *user_of(const struct hp_records *records, const void *record)
{
	/* Acquire: hp_record_add published it complete. */
	void *user = atomic_load_explicit(records->users, memory_order_acquire);

	while (user && record_of(records, user) != record)
		user = *next_of(records, user);
	return user;
}

static struct hp_record *free_take(const struct hp_records *records, const _Atomic uint64_t *list,
				   void **user)
{
	struct hp_free_node *node;
	uint64_t at;

	while ((node = hp_free_list_pop(records->ended))) {
		*user = (char *)node - records->ended_at;
		HP_ASSERT(record_of(records, *user));
		if (claim(record_of(records, *user)))
			return record_of(records, *user);
	}
	if (!hp_free_list_walk(records->ended))
		return NULL;
	at = atomic_load_explicit(list, memory_order_acquire);
	for (struct hp_record *record; at; at = record->next) {
		record = hp_segment_at(&hp_segment, at, records->size);
		if (!record)
			break;
		if (!claim(record))
			continue;
		hp_free_list_unused(records->ended);
		*user = user_of(records, record);
		return record;
	}
	return NULL;
}

void *hp_record_get(const struct hp_records *records, _Atomic uint64_t *list, void **user)
{
	struct hp_record *record = free_take(records, list, user);
	uint64_t offset;

	if (record)
		return record;
	*user = NULL;
	offset = hp_segment_take(&hp_segment, records->room, HP_LINE);
	record = hp_segment_at(&hp_segment, offset, records->room);
	if (!record)
		return NULL;
	/* Relaxed: nobody finds it before it is in the list. */
	atomic_store_explicit(&record->state, HP_TAKEN, memory_order_relaxed);
	record->process = hp_segment_offset(&hp_segment, hp_self->process);
	hp_list_push(list, offset, &record->next);
	return record;
}

void hp_record_add(const struct hp_records *records, void *user)
{
	void **next = next_of(records, user);

	HP_ASSERT(record_of(records, user));
	*next = atomic_load_explicit(records->users, memory_order_relaxed);
	/* Release: user_of() finds it complete. */
	while (!atomic_compare_exchange_weak_explicit(records->users, next, user,
						      memory_order_release, memory_order_relaxed))
		;
}

void hp_record_give(const struct hp_records *records, void *record, void *user)
{
	struct hp_record *given = record;

	HP_ASSERT(!user || record_of(records, user) == record);
	hp_claim_end(&given->state);
	if (user)
		hp_free_list_push(
			records->ended,
			(struct hp_free_node *)(void *)((char *)user + records->ended_at));
	else
		hp_free_list_unused(records->ended);
}
