/* SPDX-License-Identifier: MIT */
/*
 * newer.h - definitions missing from the oldest supported headers (Debian 11:
 * Linux 5.10, glibc 2.31). Whether the running kernel or C library has the
 * feature is checked where it is used.
 */
#ifndef HP_SEGMENT_NEWER_H
#define HP_SEGMENT_NEWER_H

#include <features.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

/* Linux 5.9; the same number on all architectures, as for every call since 5.1. */
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef SYS_close_range
#define SYS_close_range __NR_close_range
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#if !__GLIBC_PREREQ(2, 34)
int close_range(unsigned first, unsigned last, int flags);
void closefrom(int first);
#endif
#if !__GLIBC_PREREQ(2, 35)
int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *timeout,
		 const sigset_t *mask);
#endif

/*
 * perf_event_attr.inherit_thread of Linux 5.13, by position: bit 35 of the
 * flags, the 64 bits after read_format. Its name does not exist in older
 * headers.
 */
#pragma GCC poison inherit_thread
#define HP_PERF_INHERIT_THREAD (UINT64_C(1) << 35)
#define HP_PERF_FLAGS_AT (offsetof(struct perf_event_attr, read_format) + sizeof(uint64_t))

static inline bool hp_perf_inherits_threads(const struct perf_event_attr *attr)
{
	uint64_t flags;

	memcpy(&flags, (const char *)attr + HP_PERF_FLAGS_AT, sizeof(flags));
	return flags & HP_PERF_INHERIT_THREAD;
}

static inline void hp_perf_inherit_threads(struct perf_event_attr *attr, bool only)
{
	uint64_t flags;

	memcpy(&flags, (const char *)attr + HP_PERF_FLAGS_AT, sizeof(flags));
	flags = only ? flags | HP_PERF_INHERIT_THREAD : flags & ~HP_PERF_INHERIT_THREAD;
	memcpy((char *)attr + HP_PERF_FLAGS_AT, &flags, sizeof(flags));
}

#endif
