/* SPDX-License-Identifier: MIT */
/*
 * file.h - locks on files, for their stand-ins.
 *
 * A lock on a file belongs to the file, by device and inode, whatever descriptor
 * was used. It is released by close, by the process's end, or in part, so hold
 * time and holder, which may be another program, are unknown. A waiting call is
 * first tried without waiting; so its wait is known beforehand, at the cost of
 * one more system call.
 */
#ifndef HP_PRELOAD_LOCK_FILE_H
#define HP_PRELOAD_LOCK_FILE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/guest.h"
#include "preload/lock/lock.h"

/* Writes a file lock's name, at most `room` bytes with the terminator; "" = unknown. */
void hp_lock_file_name(int fd, char *name, size_t room);

/*
 * The file's identity, instead of an address; 0 = unknown.  Asking the kernel costs a third of a
 * lock, so the answer is kept until the descriptor is closed or replaced.  Not all ways to do that
 * are visible (a system call instruction of the program's own, io_uring), so the kernel is asked
 * again from time to time; if the file is another one, nothing is kept from then on.
 */
uintptr_t hp_file_address(int fd);

#define HP_FILE_FDS 4096	/* above these, the kernel is asked each time */
extern HP_HIDDEN _Atomic int hp_file_kept_end;	/* no file is kept from here on */

/* It is about to be closed, or has been replaced. */
void hp_file_forget_known(int fd);

static HP_HOT void hp_file_forget(int fd)
{
	if (HP_UNLIKELY(fd >= 0 &&
			fd < atomic_load_explicit(&hp_file_kept_end, memory_order_relaxed)))
		hp_file_forget_known(fd);
}

/* Keeps no answers from now on. */
void hp_file_keep_none(void);

/* The use for a call on the file of `fd`; NULL = not recorded. */
static inline struct hp_use *hp_file_use(struct hp_lock_call *call, int fd, bool is_shared,
					 uintptr_t caller)
{
	if (HP_UNLIKELY(hp_lock_is_off()))
		return NULL;
	*call = (struct hp_lock_call){ .address = hp_file_address(fd),
				       .caller = caller,
				       .kind = HP_LOCK_FILE,
				       .side = is_shared ? HP_SIDE_READ : HP_SIDE_WRITE,
				       .fd = fd };
	return call->address ? hp_lock_use(call) : NULL;
}

static inline bool hp_file_is_taken(int error)
{
	return error == EAGAIN || error == EACCES;
}

/* After the attempt: waits with `block` if it is taken. */
#define HP_FILE_LOCK_END(use, call, block) \
	struct hp_wait wait; \
\
	if (result == 0) { \
		if (use) \
			(use)->count++; \
		return 0; \
	} \
	if (!hp_file_is_taken(errno)) \
		return result; \
	errno = saved; \
	hp_wait_begin(&wait, use, call); \
	result = block; \
	saved = errno; \
	hp_wait_told(&wait, result == 0); \
	errno = saved; \
	return result

#define HP_FILE_TRY_END(use) \
	if ((use) && result == 0) \
		(use)->count++; \
	else if ((use) && hp_file_is_taken(errno)) \
		(use)->failed++; \
	return result

#endif
