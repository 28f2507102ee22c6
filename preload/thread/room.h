/* SPDX-License-Identifier: MIT */
/*
 * room.h - who maps a part of the segment only, for the sampler to ask about.
 */
#ifndef HP_PRELOAD_THREAD_ROOM_H
#define HP_PRELOAD_THREAD_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* The image has begun; in its own process, once. */
void hp_room_init(void);

/*
 * Pid of the process whose memory this is, as the sampler sees it.  HP_HOLDER_UNSEEN = in a vfork
 * child, in another PID namespace, without /proc, where system calls are forbidden.  Keeps errno.
 */
uint32_t hp_room_holder(void);

/* False = this is a forked child that must not look at records (hp_segment_stay_narrow).  Keeps errno. */
bool hp_room_may_look(void);

#endif
