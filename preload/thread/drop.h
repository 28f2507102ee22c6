/* SPDX-License-Identifier: MIT */
/*
 * drop.h - has this process given up rights (level.h)?  Then it leaves the segment.
 */
#ifndef HP_PRELOAD_THREAD_DROP_H
#define HP_PRELOAD_THREAD_DROP_H

/* After a call that may have changed the rights of the whole process, or (by number) of the calling thread. */
void hp_drop_look(void);
void hp_drop_look_at_thread(void);

/*
 * The same where nobody told of a call: on the first thread, if there is anything that it could give up.  What
 * was written since is then believed as little as what it writes now.
 */
void hp_drop_check(void);

#endif
