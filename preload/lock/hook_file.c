/* SPDX-License-Identifier: MIT */
/*
 * hook_file.c - stand-ins of locks on files (file.h), flock and lockf, and of the
 * lock of a stream, flockfile.  That of fcntl is in preload/channel/hook_fcntl.c.
 *
 * The lock of a stream is recursive. stdio's own locking inside the C library
 * is not recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/file.h"
#include "preload/lock/lock.h"

/* Calls that may wait are cancellation points, even if they do not wait. */
#define TESTED(attempt) (hp_real()->pthread_testcancel(), attempt)

/* Tries with `attempt`, and waits with `block` if it is taken. */
#define WAY_LOCK(use, call, attempt, block) \
	int result, saved = errno; \
\
	if (!(use)) \
		return block; \
	result = attempt; \
	HP_FILE_LOCK_END(use, call, block)

#define WAY_TRY(use, attempt) \
	int result = attempt; \
\
	HP_FILE_TRY_END(use)

HP_EXPORT int flock(int fd, int operation)
{
	int what = operation & ~LOCK_NB;
	struct hp_lock_call call;
	struct hp_use *use;

	if (what != LOCK_SH && what != LOCK_EX)
		return hp_real()->flock(fd, operation);
	use = hp_file_use(&call, fd, what == LOCK_SH, HP_CALLER);
	if (operation & LOCK_NB) {
		WAY_TRY(use, hp_real()->flock(fd, operation));
	}
	WAY_LOCK(use, &call, hp_real()->flock(fd, operation | LOCK_NB),
		 hp_real()->flock(fd, operation));
}

#define LOCKF(real) \
	struct hp_lock_call call; \
	struct hp_use *use; \
\
	if (command != F_LOCK && command != F_TLOCK) \
		return real(fd, command, length); \
	use = hp_file_use(&call, fd, false, HP_CALLER); \
	if (command == F_TLOCK) { \
		WAY_TRY(use, real(fd, F_TLOCK, length)); \
	} \
	WAY_LOCK(use, &call, TESTED(real(fd, F_TLOCK, length)), real(fd, F_LOCK, length))

HP_EXPORT int lockf(int fd, int command, off_t length)
{
	LOCKF(hp_real()->lockf);
}

HP_EXPORT int lockf64(int fd, int command, off64_t length)
{
	LOCKF(hp_real()->lockf64);
}

/* --- streams --- */

HP_EXPORT void flockfile(FILE *stream)
{
	struct hp_lock_call call = { .address = (uintptr_t)stream,
				     .caller = HP_CALLER,
				     .kind = HP_LOCK_STREAM };
	struct hp_use *use = hp_lock_is_off() ? NULL : hp_lock_use(&call);
	struct hp_wait wait;

	if (!use) {
		hp_real()->flockfile(stream);
		return;
	}
	if (hp_real()->ftrylockfile(stream) == 0) {
		hp_lock_got_more(hp_waiter(), use, call.address, call.caller, HP_GOT_RECURSIVE);
		return;
	}
	hp_wait_begin(&wait, use, &call);
	hp_real()->flockfile(stream);
	hp_wait_end(&wait, &call, true);
}

HP_EXPORT int ftrylockfile(FILE *stream)
{
	struct hp_lock_call call = { .address = (uintptr_t)stream,
				     .caller = HP_CALLER,
				     .kind = HP_LOCK_STREAM };
	struct hp_use *use = hp_lock_is_off() ? NULL : hp_lock_use(&call);
	int result = hp_real()->ftrylockfile(stream);

	if (use && result == 0)
		hp_lock_got_more(hp_waiter(), use, call.address, call.caller,
				 HP_GOT_TRIED | HP_GOT_RECURSIVE);
	else if (use)
		use->failed++;
	return result;
}

HP_EXPORT void funlockfile(FILE *stream)
{
	struct hp_release release;
	bool is_ours = !hp_lock_is_off() && hp_lock_release(&release, (uintptr_t)stream);

	hp_real()->funlockfile(stream);
	if (is_ours)
		hp_lock_released(&release);
}
