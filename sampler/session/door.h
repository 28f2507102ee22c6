/* SPDX-License-Identifier: MIT */
/*
 * door.h - the session's socket: a caller gets the descriptor of a segment.
 *
 * A writer gets the one of its own trust level. Writers are all processes of this session's
 * user and those of other users that members have started, but none with more rights than
 * ours.  Root and our user
 * may read. One message of one byte with the descriptor (readers get one for each segment), then
 * the connection is closed.
 */
#ifndef HP_SAMPLER_SESSION_DOOR_H
#define HP_SAMPLER_SESSION_DOOR_H

#include "sampler/session/member.h"

/*
 * Without a free descriptor or memory, no connection can be accepted, and the socket stays
 * readable. So it is not polled for a while.
 */
#define HP_DOOR_SPARES 2	/* the caller's connection, and a file that identifies it */
#define HP_DOOR_GUESTS 16

struct hp_door {
	int socket;	/* listening and non-blocking */
	int lobby;	/* the same, but not polled: processes only let us know of them there; -1 = none */
	int spares[HP_DOOR_SPARES];	/* descriptors to sacrifice when others run out; -1 = none */
	int epoll;
	uint64_t data;	/* of its event */
	uint64_t due_ns;	/* when the next one is tried; 0 = it is polled */
	/* Other users, by id: when the time that answering them took will have been paid for. */
	uint64_t guests_ns[HP_DOOR_GUESTS];
};

void hp_door_init(struct hp_door *door, int epoll, uint64_t data);

/*
 * Answers those in the queue, for a while: anybody may connect as often as he likes, and the rest of
 * our work must go on. Beyond his share of our time, another user gets no answer.
 */
void hp_door_answer(struct hp_door *door, struct hp_members *members);

/*
 * From now on, processes that opened the segment themselves let us know of them without waking us.
 * Most have ended when we look.
 */
void hp_door_open_lobby(struct hp_door *door, const struct hp_segment *segment);

/* Admits those in the lobby that still live. */
void hp_door_look(struct hp_door *door, struct hp_members *members);

/* Listens again when it is time. */
void hp_door_do(struct hp_door *door, uint64_t now_ns);

#endif
