/* SPDX-License-Identifier: MIT */
/*
 * hook_usage.c - interposes getrusage and times: children's usage without our
 * helper.
 *
 * The helper is an orphan, so nobody's figures include it. We wait for the child
 * that creates it, and the kernel adds its usage to that of the program's
 * children: some 100 us, and the program's resident size at that time as the
 * maximum. The wait returned these values, and they are subtracted here.
 *
 * A forked child starts from zero, in hp_self as in the kernel. A vfork child
 * reads its parent's hp_self; negative results become 0.
 *
 * Not covered: the largest resident size once there were other children, since
 * a maximum cannot be subtracted; raw system calls and /proc; and the image
 * after an exec of the session's first process.
 */
#include <stdint.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"

#define SECOND_US 1000000

static uint64_t us_of(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * SECOND_US + (uint64_t)time->tv_usec;
}

/* Returns the rest, us. */
static uint64_t time_take(struct timeval *from, const struct timeval *ours)
{
	uint64_t all = us_of(from), part = us_of(ours), left = all > part ? all - part : 0;

	*from = (struct timeval){ (time_t)(left / SECOND_US), (suseconds_t)(left % SECOND_US) };
	return left;
}

static uint64_t count_take(long *from, long ours)
{
	*from = *from > ours ? *from - ours : 0;
	return (uint64_t)*from;
}

static void take(struct rusage *usage, const struct rusage *ours)
{
	uint64_t left = time_take(&usage->ru_utime, &ours->ru_utime);

	left |= time_take(&usage->ru_stime, &ours->ru_stime);
	left |= count_take(&usage->ru_minflt, ours->ru_minflt);
	left |= count_take(&usage->ru_majflt, ours->ru_majflt);
	left |= count_take(&usage->ru_inblock, ours->ru_inblock);
	left |= count_take(&usage->ru_oublock, ours->ru_oublock);
	left |= count_take(&usage->ru_nvcsw, ours->ru_nvcsw);
	left |= count_take(&usage->ru_nivcsw, ours->ru_nivcsw);
	if (!left)
		usage->ru_maxrss = 0;	/* no process runs without any of these */
}

/* There is something to subtract. */
static bool has_ours(void)
{
	return hp_self && hp_self->spent.ru_maxrss;
}

HP_EXPORT int getrusage(__rusage_who_t who, struct rusage *usage)
{
	int result = hp_real()->getrusage(who, usage);

	if (result == 0 && who == RUSAGE_CHILDREN && has_ours())
		take(usage, &hp_self->spent);
	return result;
}

/* Ticks are too coarse, so the rest is computed from getrusage, unless a filter may forbid that. */
HP_EXPORT clock_t times(struct tms *times)
{
	clock_t result = hp_real()->times(times);
	struct rusage usage;
	uint64_t tick_us;

	if (!times || !has_ours() || hp_is_confined() ||
	    hp_real()->getrusage(RUSAGE_CHILDREN, &usage) != 0)
		return result;
	tick_us = SECOND_US / (uint64_t)sysconf(_SC_CLK_TCK);
	times->tms_cutime =
		(clock_t)(time_take(&usage.ru_utime, &hp_self->spent.ru_utime) / tick_us);
	times->tms_cstime =
		(clock_t)(time_take(&usage.ru_stime, &hp_self->spent.ru_stime) / tick_us);
	return result;
}
