/* SPDX-License-Identifier: MIT */
/*
 * hook_limit.c - stand-ins of what limits a process's own addresses.
 *
 * The segment is mapped whole, 1 GiB, before it is used: addresses, no memory.  A program that
 * limits its addresses to less than it has mapped could map nothing more, so a shell's `ulimit -v`
 * would leave it without any.  Then we give back what of the segment is not used yet, but for the
 * share that we take at a start under such a limit.  While it lives nobody of the session gets more.
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/thread/room.h"
#include "segment/segment.h"

#define HP_ROOM_LEAST (UINT64_C(1) << 20)	/* what a segment has that is left so much only */

/* The limit is set already: what we hold too much for a moment is not asked for again. */
static void give_back(void)
{
	struct rlimit limit;
	uint64_t most, least;
	int saved = errno;

	if (!hp_segment.header || hp_is_confined() ||
	    syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) != 0)
		return;
	if (limit.rlim_cur != RLIM_INFINITY)
		hp_segment_unreserve(&hp_segment);
	most = limit.rlim_cur / HP_SEGMENT_SHARE;
	least = atomic_load_explicit(&hp_segment.header->used, memory_order_relaxed) +
		HP_ROOM_LEAST;
	if (limit.rlim_cur != RLIM_INFINITY && most < hp_segment.size)
		hp_segment_narrow(&hp_segment, most > least ? most : least, hp_room_holder());
	errno = saved;
}

static int set(int result, int resource)
{
	if (result == 0 && resource == RLIMIT_AS)
		give_back();
	return result;
}

HP_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return set(hp_real()->setrlimit(resource, limit), (int)resource);
}

HP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return set(hp_real()->setrlimit64(resource, limit), (int)resource);
}

HP_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
		      struct rlimit *old)
{
	return set(hp_real()->prlimit(pid, resource, limit, old), limit ? (int)resource : -1);
}

HP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
			struct rlimit64 *old)
{
	return set(hp_real()->prlimit64(pid, resource, limit, old), limit ? (int)resource : -1);
}
