/* SPDX-License-Identifier: MIT */
/*
 * room.c - see room.h.
 */
#include "preload/thread/room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/self.h"
#include "segment/rights.h"
#include "segment/segment.h"

static uint32_t image;	/* pid of the process that loaded us; its children have a copy */

void hp_room_init(void)
{
	image = (uint32_t)getpid();
}

bool hp_room_is_seen(void)
{
	uint32_t of_sampler = hp_segment_room(&hp_segment)->pid_namespace;

	return !hp_is_confined() && of_sampler &&
	       hp_rights_namespace(AT_FDCWD, "/proc/self/ns/pid") == of_sampler;
}

uint32_t hp_room_holder(void)
{
	int saved = errno;
	uint32_t pid = hp_is_confined() ? 0 : (uint32_t)getpid();
	/* A vfork child ends before the memory that it shares. */
	bool is_owner = pid && (pid == image || hp_self_is_me());

	pid = is_owner && hp_room_is_seen() ? pid : HP_HOLDER_UNSEEN;
	errno = saved;
	return pid;
}

/* It waits for the word to change, and checks for other requests each time it wakes up. */
void hp_room_tell(void)
{
	int saved = errno;

	if (!hp_is_confined())
		syscall(SYS_futex, &hp_segment.header->end_word, FUTEX_WAKE, INT_MAX, NULL, NULL,
			0);
	errno = saved;
}

bool hp_room_may_look(void)
{
	int saved = errno;
	bool may_look = true;

	if (!hp_segment_is_narrow(&hp_segment))
		return true;
	if (hp_room_is_seen())
		may_look = hp_segment_stay_narrow(&hp_segment, (uint32_t)getpid(),
						  (uint32_t)getppid());
	else
		may_look = hp_segment_stay_narrow(&hp_segment, HP_HOLDER_UNSEEN, HP_HOLDER_UNSEEN);
	hp_room_tell();
	errno = saved;
	return may_look;
}
