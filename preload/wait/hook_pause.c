/* SPDX-License-Identifier: MIT */
/*
 * hook_pause.c - stand-ins for calls that only wait: for time, and for the disk.
 *
 * All but thrd_sleep's shape are cancellation points, like the real functions.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/wait/offcpu_note.h"

#define WAIT(type, on, real) \
	type result; \
\
	HP_ABOVE(sleeps); \
	HP_OFFCPU_NOTED(result = hp_real()->real, on, HP_OFFCPU_NO_FD); \
	return result

/* ---- time ---- */

HP_EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	WAIT(int, HP_ON_SLEEP, nanosleep(time, left));
}

HP_EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			      struct timespec *left)
{
	WAIT(int, HP_ON_SLEEP, clock_nanosleep(clock, flags, time, left));
}

HP_EXPORT int usleep(useconds_t us)
{
	WAIT(int, HP_ON_SLEEP, usleep(us));
}

HP_EXPORT unsigned sleep(unsigned seconds)
{
	WAIT(unsigned, HP_ON_SLEEP, sleep(seconds));
}

HP_EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left)
{
	WAIT(int, HP_ON_SLEEP, thrd_sleep(time, left));
}

/* ---- the disk ---- */

HP_EXPORT int fsync(int fd)
{
	WAIT(int, HP_ON_DISK, fsync(fd));
}

HP_EXPORT int fdatasync(int fd)
{
	WAIT(int, HP_ON_DISK, fdatasync(fd));
}

HP_EXPORT int syncfs(int fd)
{
	WAIT(int, HP_ON_DISK, syncfs(fd));
}

HP_EXPORT void sync(void)
{
	HP_ABOVE(sleeps);
	HP_OFFCPU_NOTED(hp_real()->sync(), HP_ON_DISK, HP_OFFCPU_NO_FD);
}

HP_EXPORT int sync_file_range(int fd, off64_t from, off64_t size, unsigned flags)
{
	WAIT(int, HP_ON_DISK, sync_file_range(fd, from, size, flags));
}

HP_EXPORT int msync(void *address, size_t size, int flags)
{
	WAIT(int, HP_ON_DISK, msync(address, size, flags));
}
