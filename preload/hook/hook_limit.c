/* SPDX-License-Identifier: MIT */
/*
 * hook_limit.c - interposes calls that limit a process's own address space and
 * descriptors.
 *
 * The whole segment of 1 GiB is mapped in advance: address space, not memory. A
 * program that limits its address space to less than it has mapped could map
 * nothing more, so a shell's `ulimit -v` would leave it without any. So we then
 * unmap the unused part of the segment, except for the share that we take when
 * starting under such a limit. While the process lives, nobody in the session
 * allocates beyond that.
 */
#include <assert.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/thread/level.h"
#include "preload/thread/process.h"
#include "preload/thread/room.h"
#include "segment/segment.h"

#define HP_ROOM_MIN (UINT64_C(1) << 20)	/* size of a segment reduced to this */
#define FEW_FILES 64	/* descriptors; with more, one is free */

static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "both are 64-bit");

/* The limit is already set: a brief excess of ours is not checked again. */
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
	least = atomic_load_explicit(&hp_segment.header->used, memory_order_relaxed) + HP_ROOM_MIN;
	if (limit.rlim_cur != RLIM_INFINITY && most < hp_segment.size &&
	    hp_segment_narrow(&hp_segment, most > least ? most : least, hp_room_holder()))
		hp_room_tell();
	errno = saved;
}

/*
 * A process that has just dropped rights joins its next segment at its next record, and needs a
 * descriptor for that. Sandboxes first forbid new ones: it has to join before.
 */
static void join_first(int resource, const struct rlimit *limit)
{
	int saved = errno;

	/* Its declaration promises that it is not NULL, but the kernel accepts NULL. */
	__asm__("" : "+r"(limit));
	if (resource == RLIMIT_NOFILE && limit && limit->rlim_cur < FEW_FILES &&
	    hp_segment.header && !hp_is_early() && !hp_is_confined() && hp_level_is_out())
		hp_self_open();
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
	join_first((int)resource, limit);
	return set(hp_real()->setrlimit(resource, limit), (int)resource);
}

HP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	join_first((int)resource, (const struct rlimit *)limit);
	return set(hp_real()->setrlimit64(resource, limit), (int)resource);
}

HP_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
		      struct rlimit *old)
{
	join_first((int)resource, limit);
	return set(hp_real()->prlimit(pid, resource, limit, old), limit ? (int)resource : -1);
}

HP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
			struct rlimit64 *old)
{
	join_first((int)resource, (const struct rlimit *)limit);
	return set(hp_real()->prlimit64(pid, resource, limit, old), limit ? (int)resource : -1);
}
