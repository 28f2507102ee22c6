/* SPDX-License-Identifier: MIT */
/*
 * hook_fcntl.c - stand-ins of fcntl: locks on files, and its effects on descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/file.h"
#include "preload/lock/lock.h"

/* The same command without waiting. */
static int tried(int command)
{
	return command == F_SETLKW ? F_SETLK : command == F_OFD_SETLKW ? F_OFD_SETLK : command;
}

/*
 * struct flock and struct flock64 are the same where the library runs: 64 bits.
 * The record is read after the kernel has read it: a bad pointer gives EFAULT, as without the
 * library.
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
	if ((result != 0 && !hp_file_is_taken(errno)) ||
	    (record->l_type != F_RDLCK && record->l_type != F_WRLCK))
		return result;
	use = hp_file_use(&call, fd, record->l_type == F_RDLCK, caller);
	if (is_try) {
		HP_FILE_TRY_END(use);
	}
	if (!use && result != 0)
		return real(fd, command, record);
	HP_FILE_LOCK_END(use, &call, real(fd, command, record));
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
