/* SPDX-License-Identifier: MIT */
/*
 * hook_timer.c - the stand-in for the function that sets timerfds.
 */
#include <errno.h>
#include <sys/timerfd.h>

#include "preload/channel/channel.h"
#include "preload/channel/timer.h"
#include "preload/guest/real.h"

/* Only a call that went well says that there is memory behind `value`. */
HP_EXPORT int timerfd_settime(int fd, int flags, const struct itimerspec *value,
			      struct itimerspec *before)
{
	int result = hp_real()->timerfd_settime(fd, flags, value, before);
	int saved;

	if (result != 0 || !hp_timer_is_wanted || hp_is_early())
		return result;
	saved = errno;
	hp_timer_set(fd, flags, value);
	errno = saved;
	return result;
}
