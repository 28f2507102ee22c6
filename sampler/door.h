/* SPDX-License-Identifier: MIT */
/*
 * door.h - the session's socket: who knocks gets the segment's descriptor.
 *
 * Let in are root, the user of this session, and members whatever user they
 * became since: one message of one byte with the descriptor, then it is closed.
 */
#ifndef HP_SAMPLER_DOOR_H
#define HP_SAMPLER_DOOR_H

#include "sampler/member.h"

/* Answers everybody who waits.  `socket` is listening and non-blocking. */
void hp_door_answer(int socket, int segment, struct hp_members *members);

#endif
