/* SPDX-License-Identifier: MIT */
/*
 * hook_memlock.c - interposes mlockall and munlockall
 * (preload/guest/memlock.h).
 *
 * The kernel refuses mlockall(MCL_CURRENT) if the whole address space is larger than RLIMIT_MEMLOCK
 * (mm/mlock.c), for processes without CAP_IPC_LOCK. The same is checked here for mappings other
 * than ours.
 *
 * The mappings are read from /proc/self/maps. Without it, or under a filter,
 * the real call is made, which also locks ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/memlock.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"

/* The action for the program's part of a mapping. */
struct visit {
	void (*part)(struct visit *visit, uintptr_t begin, uintptr_t end);
	uint64_t bytes;
	int flags;	/* of mlock2 */
};

static void count(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	visit->bytes += end - begin;
}

/* mlockall() also skips pages that cannot be populated (PROT_NONE, a hole in a file). */
static void lock_part(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	if (visit->flags == 0 || syscall(SYS_mlock2, begin, end - begin, visit->flags) != 0)
		syscall(SYS_mlock, begin, end - begin);
}

static void split(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	while (begin < end) {
		uintptr_t ours, ours_end;

		hp_memlock_next(begin, end, &ours, &ours_end);
		if (ours > begin)
			visit->part(visit, begin, ours);
		begin = ours_end > begin ? ours_end : end;
	}
}

/* A line of maps in pieces: BEGIN-END and the rest. */
struct reading {
	uintptr_t values[2];
	int value;	/* 0, 1: reading a number; 2: the rest of the line */
};

static void read_byte(struct reading *line, char c, struct visit *visit)
{
	if (c == '\n') {
		/* The kernel's vsyscall page is not a mapping of the process. */
		if (line->value == 2 && line->values[1] <= UINT64_C(1) << 56)
			split(visit, line->values[0], line->values[1]);
		*line = (struct reading){ .value = 0 };
	} else if (line->value == 2) {
		;
	} else if (c == '-' || c == ' ') {
		line->value++;
	} else {
		unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
		line->values[line->value] = line->values[line->value] << 4 | (digit & 15);
	}
}

/* False = the mappings are unknown. */
static bool each_mapping(struct visit *visit)
{
	struct reading line = { .value = 0 };
	char text[1024];	/* the caller's stack may be a small one */
	ssize_t length = -1;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	while ((length = syscall(SYS_read, fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < length; i++)
			read_byte(&line, text[i], visit);
	syscall(SYS_close, fd);
	return length == 0;
}

static bool may_lock_all(void)
{
	struct __user_cap_header_struct who = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct what[2] = { { 0, 0, 0 } };

	return syscall(SYS_capget, &who, what) == 0 &&
	       (what[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

/* The kernel's answer without our mappings: 0, or the error. */
static int is_refused(uint64_t bytes)
{
	struct rlimit limit;

	if (syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, NULL, &limit) != 0 || may_lock_all())
		return 0;
	if (limit.rlim_cur == 0)
		return EPERM;
	return limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur ? ENOMEM : 0;
}

static int lock_all(int flags)
{
	struct visit visit = { .part = count };
	int error;

	if (!each_mapping(&visit))
		return hp_real()->mlockall(flags);
	error = is_refused(visit.bytes);
	if (error) {
		errno = error;
		return -1;
	}
	if (flags & MCL_FUTURE) {
		if (hp_real()->mlockall(flags & ~MCL_CURRENT) != 0)
			return -1;
	} else if (hp_memlock_future()) {
		/* MCL_CURRENT without MCL_FUTURE clears the latter. */
		hp_real()->munlockall();
	}
	hp_memlock_future_set((flags & MCL_FUTURE) != 0);
	visit = (struct visit){ .part = lock_part,
				.flags = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0 };
	each_mapping(&visit);
	return 0;
}

HP_EXPORT int mlockall(int flags)
{
	int saved = errno, result;

	/* Let the kernel refuse it itself. */
	if (!hp_segment.header || hp_is_confined() || !(flags & (MCL_CURRENT | MCL_FUTURE)) ||
	    (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)))
		return hp_real()->mlockall(flags);
	if (flags & MCL_CURRENT) {
		result = lock_all(flags);
	} else {
		result = hp_real()->mlockall(flags);
		if (result == 0)
			hp_memlock_future_set(true);
	}
	if (result == 0)
		errno = saved;
	return result;
}

HP_EXPORT int munlockall(void)
{
	int result = hp_real()->munlockall();

	if (result == 0)
		hp_memlock_future_set(false);
	return result;
}
