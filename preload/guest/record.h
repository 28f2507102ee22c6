/* SPDX-License-Identifier: MIT */
/*
 * record.h - the life cycle of a thread's record: calls, heap and locks each
 * keep one per thread in the segment.
 *
 * A record is TAKEN by one thread or FREE. The recorder also has a struct in
 * the process's own memory, the record's user, which outlives the thread: an
 * ended thread leaves both together to a later one. A record without a user is
 * from an earlier process, or one that a thread could not use.
 *
 *   get     a free record, else a new one: TAKEN, in the list of the segment
 *   add     its new user, for get to find
 *   give    the record is FREE; all of its tables belong to the next owner
 *
 * Any thread, in signal handlers too: lock-free, and nothing is unmapped.
 */
#ifndef HP_PRELOAD_GUEST_RECORD_H
#define HP_PRELOAD_GUEST_RECORD_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/free_list.h"

/* The beginning of each such record; see hp_block, hp_heap and hp_waiter. */
struct hp_record {
	uint64_t next;
	uint64_t process;
	_Atomic uint32_t state;
};

/* The records of one kind, and where their users keep the fields needed here. */
struct hp_records {
	struct hp_free_list *ended;	/* users whose threads have ended */
	_Atomic(void *) *users;	/* of this process */
	size_t size;	/* of a record, bytes, */
	size_t room;	/* and with what its owner keeps directly after it */
	size_t record_at;	/* in a user: pointer to its record, */
	size_t next_at;	/* pointer to the next user, */
	size_t ended_at;	/* and hp_free_node */
};

#define HP_RECORDS(free_list, user_head, record, user, field) \
	HP_RECORDS_WITH(sizeof(record), free_list, user_head, record, user, field)

#define HP_RECORDS_WITH(room_, free_list, user_head, record, user, field) \
	{ \
		.ended = (free_list), .users = (_Atomic(void *) *)(void *)(user_head), \
		.size = sizeof(record), .room = (room_), .record_at = offsetof(user, field), \
		.next_at = offsetof(user, next), .ended_at = offsetof(user, ended) \
	}

#define HP_RECORD_CHECK(record) \
	static_assert(offsetof(record, next) == offsetof(struct hp_record, next) && \
			      offsetof(record, process) == offsetof(struct hp_record, process) && \
			      offsetof(record, state) == offsetof(struct hp_record, state), \
		      "it begins as hp_record")

/*
 * A record for the calling thread, from `list` in the segment or added to it;
 * NULL = full. *user = the one that it had in this process; NULL = none, and the
 * caller adds one.
 */
void *hp_record_get(const struct hp_records *records, _Atomic uint64_t *list, void **user);

/* Publishes a complete user, which has its record. */
void hp_record_add(const struct hp_records *records, void *user);

/* Frees the record. `user` NULL = it has none. */
void hp_record_give(const struct hp_records *records, void *record, void *user);

#endif
