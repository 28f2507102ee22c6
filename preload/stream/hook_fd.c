/* SPDX-License-Identifier: MIT */
/*
 * hook_fd.c - stand-ins for functions that create descriptors for reading events:
 * timerfd, signalfd, inotify.
 *
 * They are read with read(), which reports these descriptors to us
 * (hp_channel_tell).
 */
#include <errno.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "preload/channel/channel.h"
#include "preload/channel/timer.h"
#include "preload/guest/real.h"
#include "preload/stream/stream.h"

static int opened(int fd, enum hp_stream_kind kind, uintptr_t caller)
{
	const struct hp_stream_wish wish = { .kind = kind,
					     .origin = HP_STREAM_OPENED,
					     .caller = caller };
	int saved;

	if (fd < 0 || !hp_stream_is_wanted || hp_is_early())
		return fd;
	saved = errno;
	if (hp_stream_is_on() && hp_stream_opens(hp_stream_fd_key(fd), &wish))
		hp_channel_tell(fd);
	errno = saved;
	return fd;
}

HP_EXPORT int timerfd_create(int clock, int flags)
{
	int fd = hp_real()->timerfd_create(clock, flags);

	hp_timer_made(fd, clock);
	return opened(fd, HP_STREAM_TIMER, HP_CALLER);
}

/* With a descriptor, it changes that descriptor's events. */
HP_EXPORT int signalfd(int fd, const sigset_t *signals, int flags)
{
	int result = hp_real()->signalfd(fd, signals, flags);

	return fd >= 0 ? result : opened(result, HP_STREAM_SIGNAL, HP_CALLER);
}

HP_EXPORT int inotify_init(void)
{
	return opened(hp_real()->inotify_init(), HP_STREAM_INOTIFY, HP_CALLER);
}

HP_EXPORT int inotify_init1(int flags)
{
	return opened(hp_real()->inotify_init1(flags), HP_STREAM_INOTIFY, HP_CALLER);
}
