/* SPDX-License-Identifier: MIT */
/*
 * hook_file.c - stand-ins of locks on files, flock, lockf and fcntl, and of the
 * lock of a stream, flockfile.
 *
 * A lock on a file is the file's, by device and inode, whatever descriptor it was
 * asked by.  It is released by close, by the process's end, or in part, so how
 * long it is held is not told, nor who had it: that may be another program.  A
 * call that would wait is tried without waiting first; so it is known to wait
 * before it does, and costs one more system call then.
 *
 * The lock of a stream can be taken again by who has it.  What stdio does
 * itself it does inside of the C library, and is not seen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/lock/lock.h"
#include "preload/thread/process.h"

#define HP_NO_ADDRESS (UINT64_C(1) << 63)	/* no object has an address with it */

void hp_lock_file_name(int fd, char *name, size_t room)
{
	char link[40];
	ssize_t length;
	int saved = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = hp_is_confined() ? -1 : syscall(SYS_readlinkat, AT_FDCWD, link, name, room - 1);
	name[length > 0 ? length : 0] = 0;
	errno = saved;
}

/* What the file is instead of an address. */
static uintptr_t address_of(int fd)
{
	struct stat stat;
	int saved = errno;
	bool is_known = !hp_is_confined() && fstat(fd, &stat) == 0;

	if (!is_known && !hp_is_confined() && errno != EBADF)
		hp_refused();
	errno = saved;
	return is_known ? hp_lock_hash(stat.st_ino ^ (uint64_t)stat.st_dev << 40) | HP_NO_ADDRESS
			: 0;
}

static struct hp_use *use_of(struct hp_lock_call *call, int fd, bool is_shared, uintptr_t caller)
{
	if (HP_UNLIKELY(hp_lock_is_off()))
		return NULL;
	*call = (struct hp_lock_call){ .address = address_of(fd),
				       .caller = caller,
				       .kind = HP_LOCK_FILE,
				       .side = is_shared ? HP_SIDE_READ : HP_SIDE_WRITE,
				       .fd = fd };
	return call->address ? hp_lock_use(call) : NULL;
}

static bool is_taken(int error)
{
	return error == EAGAIN || error == EACCES;
}

/* Calls that may wait are cancellation points, also where they do not wait. */
#define TESTED(attempt) (hp_real()->pthread_testcancel(), attempt)

/* The attempt is made: it waits by `block` if it is taken. */
#define WAY_LOCK_END(use, call, block) \
	struct hp_wait wait; \
\
	if (result == 0) { \
		if (use) \
			(use)->count++; \
		return 0; \
	} \
	if (!is_taken(errno)) \
		return result; \
	errno = saved; \
	hp_wait_begin(&wait, use, call); \
	result = block; \
	saved = errno; \
	hp_wait_told(&wait, result == 0); \
	errno = saved; \
	return result

#define WAY_TRY_END(use) \
	if ((use) && result == 0) \
		(use)->count++; \
	else if ((use) && is_taken(errno)) \
		(use)->failed++; \
	return result

/* Tries by `attempt`, and waits by `block` if it is taken. */
#define WAY_LOCK(use, call, attempt, block) \
	int result, saved = errno; \
\
	if (!(use)) \
		return block; \
	result = attempt; \
	WAY_LOCK_END(use, call, block)

#define WAY_TRY(use, attempt) \
	int result = attempt; \
\
	WAY_TRY_END(use)

HP_EXPORT int flock(int fd, int operation)
{
	int what = operation & ~LOCK_NB;
	struct hp_lock_call call;
	struct hp_use *use;

	if (what != LOCK_SH && what != LOCK_EX)
		return hp_real()->flock(fd, operation);
	use = use_of(&call, fd, what == LOCK_SH, HP_CALLER);
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
	use = use_of(&call, fd, false, HP_CALLER); \
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

/* The command that asks for the same and does not wait. */
static int tried(int command)
{
	return command == F_SETLKW ? F_SETLK : command == F_OFD_SETLKW ? F_OFD_SETLK : command;
}

/*
 * struct flock and struct flock64 are the same where the library runs: 64 bits.
 * The record is read after the kernel has: a bad pointer is EFAULT, as without us.
 */
static int lock_record(int fd, int command, struct flock *record, int (*real)(int, int, ...),
		       uintptr_t caller)
{
	bool is_try = command == F_SETLK || command == F_OFD_SETLK;
	int saved = errno, result;
	struct hp_lock_call call;
	struct hp_use *use;

	if (HP_UNLIKELY(hp_lock_is_off()))
		return real(fd, command, record);
	if (!is_try)
		hp_real()->pthread_testcancel();
	result = real(fd, tried(command), record);
	if ((result != 0 && !is_taken(errno)) ||
	    (record->l_type != F_RDLCK && record->l_type != F_WRLCK))
		return result;
	use = use_of(&call, fd, record->l_type == F_RDLCK, caller);
	if (is_try) {
		WAY_TRY_END(use);
	}
	if (!use && result != 0)
		return real(fd, command, record);
	WAY_LOCK_END(use, &call, real(fd, command, record));
}

/* The argument is a number or a pointer: a register in either case. */
#define FCNTL(real) \
	va_list list; \
	void *argument; \
\
	va_start(list, command); \
	argument = va_arg(list, void *); \
	va_end(list); \
	if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || \
	    command == F_OFD_SETLKW) \
		return lock_record(fd, command, argument, real, HP_CALLER); \
	return hp_channel_control(real, fd, command, argument)

HP_EXPORT int fcntl(int fd, int command, ...)
{
	FCNTL(hp_real()->fcntl);
}

HP_EXPORT int fcntl64(int fd, int command, ...)
{
	FCNTL(hp_real()->fcntl64);
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
