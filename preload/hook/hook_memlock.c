/* SPDX-License-Identifier: MIT */
/*
 * hook_memlock.c - see hook_memlock.h.
 *
 * The kernel refuses mlockall(MCL_CURRENT) if the whole address space is larger than RLIMIT_MEMLOCK
 * (mm/mlock.c), for processes without CAP_IPC_LOCK.  The same is asked here of what is not ours.
 *
 * Which mappings there are is read from /proc/self/maps; without it, and under a filter, the real
 * call is made, which locks ours, too.
 */
#include "preload/hook/hook_memlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/hook/hook_confine.h"
#include "preload/thread/process.h"
#include "preload/guest/real.h"

#define RANGES_MOST 1024 /* more are locked with the program's */
#define RANGE_LEAST 32768 /* bytes; what is smaller is not worth an entry */

#define ZONE (UINT64_C(1) << 38) /* bytes below the segment, for our own mappings */
#define STEP (UINT64_C(1) << 30) /* over what the program has there */
#define TRIES 8
#define HP_HUGE (UINT64_C(1) << 21)

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000 /* Linux 4.17 */
#endif

struct range {
	_Atomic uintptr_t begin; /* 0 = unused */
	_Atomic uintptr_t end;
};

static struct range ranges[RANGES_MOST];
static _Atomic bool locks_future;
static _Atomic uintptr_t place; /* of the next mapping of ours */

static void note(uintptr_t begin, uint64_t size)
{
	if (size < RANGE_LEAST)
		return;
	for (size_t i = 0; i < RANGES_MOST; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong_explicit(&ranges[i].begin, &none, begin,
							    memory_order_acq_rel,
							    memory_order_relaxed)) {
			/* Release: mlockall() in another thread finds an end that is this range's, or 0. */
			atomic_store_explicit(&ranges[i].end, begin + size, memory_order_release);
			return;
		}
	}
}

static void forget(uintptr_t begin)
{
	for (size_t i = 0; i < RANGES_MOST; i++) {
		if (atomic_load_explicit(&ranges[i].begin, memory_order_relaxed) != begin)
			continue;
		atomic_store_explicit(&ranges[i].end, 0, memory_order_relaxed);
		atomic_store_explicit(&ranges[i].begin, 0, memory_order_release);
		return;
	}
}

static uintptr_t place_first(void)
{
	uintptr_t segment = (uintptr_t)hp_segment.header;

	return (segment - (segment / 4 < ZONE ? segment / 4 : ZONE)) & ~(HP_HUGE - 1);
}

void hp_memlock_span(uintptr_t *begin, uintptr_t *end)
{
	*begin = place_first();
	*end = atomic_load_explicit(&place, memory_order_relaxed);
}

/*
 * A place that the kernel would not choose: a program may unmap a part of what it
 * has and map something else there with MAP_FIXED, and what the kernel gave us in
 * between would be gone.  Upward from far below the segment, which was mapped
 * where mappings go; what the program has there is stepped over.
 */
static uintptr_t place_next(uint64_t size)
{
	uintptr_t segment = (uintptr_t)hp_segment.header, least = place_first();
	uintptr_t known = atomic_load_explicit(&place, memory_order_relaxed), at;

	size = (size + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	do {
		at = known;
		if (at < least || at >= segment || size > segment - at)
			at = least;
	} while (!atomic_compare_exchange_weak_explicit(
		&place, &known, at + size, memory_order_relaxed, memory_order_relaxed));
	return at;
}

/* Pages apart from the program's, if there is room; MAP_FAILED = refused. */
static void *map(uint64_t size, int protection, int flags)
{
	void *pages;

	flags |= MAP_PRIVATE | MAP_ANONYMOUS;
	for (int i = 0; hp_segment.header && i < TRIES; i++) {
		/* The second time far behind what is in the way. */
		uintptr_t at = place_next(size + (i ? STEP : 0)) + (i ? STEP : 0);

		/* Before Linux 4.17 the address is a wish. */
		pages = (void *)syscall(SYS_mmap, at, size, protection, flags | MAP_FIXED_NOREPLACE,
					-1, 0);
		if (pages != MAP_FAILED || errno != EEXIST)
			return pages;
	}
	return (void *)syscall(SYS_mmap, NULL, size, protection, flags, -1, 0);
}

void *hp_memlock_map(uint64_t size, int flags)
{
	bool unlock = atomic_load_explicit(&locks_future, memory_order_relaxed);
	int protection = PROT_READ | PROT_WRITE;
	/* Without rights the kernel cannot fill it while it is locked still. */
	void *pages = map(size, unlock ? PROT_NONE : protection, flags);

	if (pages == MAP_FAILED)
		return NULL;
	if (unlock && (syscall(SYS_munlock, pages, size) != 0 ||
		       syscall(SYS_mprotect, pages, size, protection) != 0)) {
		syscall(SYS_munmap, pages, size);
		return NULL;
	}
	/*
	 * What is reserved is some MiB of which little is used.  A core file has holes there, but a core that goes
	 * through a pipe (Ubuntu's apport, systemd-coredump) has each of the zeroes.  Where it is refused it has.
	 */
	if (flags & MAP_NORESERVE)
		syscall(SYS_madvise, pages, size, MADV_DONTDUMP);
	note((uintptr_t)pages, size);
	return pages;
}

void hp_memlock_unmap(void *pages, uint64_t size)
{
	forget((uintptr_t)pages);
	syscall(SYS_munmap, pages, size);
}

/* The first of our ranges that ends behind `at`: *begin and *end; both `limit` if there is none below it. */
static void next_ours(uintptr_t at, uintptr_t limit, uintptr_t *begin, uintptr_t *end)
{
	uintptr_t b = (uintptr_t)hp_segment.header, e = b + hp_segment.size;

	*begin = *end = limit;
	for (size_t i = 0; i <= RANGES_MOST; i++) {
		if (b && e > at && b < *begin) {
			*begin = b;
			*end = e;
		}
		if (i == RANGES_MOST)
			return;
		b = atomic_load_explicit(&ranges[i].begin, memory_order_acquire);
		e = atomic_load_explicit(&ranges[i].end, memory_order_acquire);
	}
}

/* What is done with the program's own part of a mapping. */
struct visit {
	void (*part)(struct visit *visit, uintptr_t begin, uintptr_t end);
	uint64_t bytes;
	int flags; /* of mlock2 */
};

static void count(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	visit->bytes += end - begin;
}

/* What cannot be filled (no rights, a hole in a file) mlockall() passes over, too. */
static void lock_part(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	if (visit->flags == 0 || syscall(SYS_mlock2, begin, end - begin, visit->flags) != 0)
		syscall(SYS_mlock, begin, end - begin);
}

static void split(struct visit *visit, uintptr_t begin, uintptr_t end)
{
	while (begin < end) {
		uintptr_t ours, ours_end;

		next_ours(begin, end, &ours, &ours_end);
		if (ours > begin)
			visit->part(visit, begin, ours);
		begin = ours_end > begin ? ours_end : end;
	}
}

/* A line of maps in pieces: BEGIN-END and the rest. */
struct reading {
	uintptr_t values[2];
	int value; /* 0, 1: a number is read; 2: the rest of the line */
};

static void read_byte(struct reading *line, char c, struct visit *visit)
{
	if (c == '\n') {
		/* The kernel's own page for vsyscalls is no mapping of the process. */
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

/* False = the mappings are not known. */
static bool each_mapping(struct visit *visit)
{
	struct reading line = { .value = 0 };
	char text[1024]; /* the caller's stack may be a small one */
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

/* As the kernel would say without us: 0, or the error. */
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
	} else if (atomic_load(&locks_future)) {
		/* MCL_CURRENT alone ends MCL_FUTURE. */
		hp_real()->munlockall();
	}
	atomic_store(&locks_future, (flags & MCL_FUTURE) != 0);
	visit = (struct visit){ .part = lock_part,
				.flags = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0 };
	each_mapping(&visit);
	return 0;
}

HP_EXPORT int mlockall(int flags)
{
	int saved = errno, result;

	/* What the kernel refuses it refuses in its own way. */
	if (!hp_segment.header || hp_is_confined() || !(flags & (MCL_CURRENT | MCL_FUTURE)) ||
	    (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)))
		return hp_real()->mlockall(flags);
	if (flags & MCL_CURRENT) {
		result = lock_all(flags);
	} else {
		result = hp_real()->mlockall(flags);
		if (result == 0)
			atomic_store(&locks_future, true);
	}
	if (result == 0)
		errno = saved;
	return result;
}

HP_EXPORT int munlockall(void)
{
	int result = hp_real()->munlockall();

	if (result == 0)
		atomic_store(&locks_future, false);
	return result;
}
