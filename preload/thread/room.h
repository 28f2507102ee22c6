/* SPDX-License-Identifier: MIT */
/*
 * room.h - identifies processes that map only a part of the segment, for the
 * sampler.
 */
#ifndef HP_PRELOAD_THREAD_ROOM_H
#define HP_PRELOAD_THREAD_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Call once at the start of an image, in its own process. */
void hp_room_init(void);

/*
 * Pid of the owner of this memory, as the sampler sees it. HP_HOLDER_UNSEEN =
 * in a vfork child, in another PID namespace, without /proc, or if system calls
 * are forbidden. Preserves errno.
 */
uint32_t hp_room_holder(void);

/* This process has the pid that it sees for the sampler, too, as far as is known. */
bool hp_room_is_seen(void);

/*
 * After hp_segment_narrow: the sampler looks now, and so notices this process's end at once. Others
 * get little room until then.  Preserves errno.
 */
void hp_room_tell(void);

/* False = a forked child that must not read records (hp_segment_stay_narrow). Preserves errno. */
bool hp_room_may_look(void);

#endif
