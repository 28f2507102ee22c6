/* SPDX-License-Identifier: MIT */
/*
 * above.h - the only upward calls: callbacks of the folders above for process
 * events.
 *
 * The code that starts the library, makes the process's record or ends it must
 * notify all recorders, but cannot name them, since they depend on it. So they
 * are in a table defined by preload/hook/above.c. It is constant: hooks run
 * before our constructors, so nothing can be registered.
 *
 * Only for slow paths; code that runs at each call, allocation or lock is
 * called directly. The table holds addresses that the loader relocates, so it
 * must not be read early (early.h); HP_ABOVE() ensures that.
 */
#ifndef HP_PRELOAD_GUEST_ABOVE_H
#define HP_PRELOAD_GUEST_ABOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "segment/setting.h"

struct hp_local;
struct hp_process;

#define HP_RECORDERS_MAX 15

/* NULL = nothing to do. */
struct hp_recorder {
	/* The loader has finished: HP_EARLY_FIND of the recorder's thread pointer. */
	void (*find)(void);

	/*
	 * The library starts and will record; is it the session's first
	 * process? And the last step of the start.
	 */
	void (*configure)(const struct hp_settings *settings, bool is_first);
	void (*started)(void);

	/* The process has its record.  The calling thread is its only one. */
	void (*opened)(void);

	/* The record was taken over from an ended process: its contents are folded. */
	void (*fold)(struct hp_process *process);

	/* The record's threads ended with their image: their records are free. */
	void (*free)(struct hp_process *process);

	/* Starts recording the calling thread's calls, or (NULL) stops. */
	void (*bind)(struct hp_local *calls);

	/* A module was unloaded: all threads forget addresses in it. */
	void (*forget)(uintptr_t begin, uintptr_t end);

	/*
	 * The calling thread may no longer read the clock and stops recording,
	 * or may read it again.
	 */
	void (*silence)(bool is_silent);

	/* The calling thread may sleep now, for time to pass or the disk. */
	void (*sleeps)(void);

	/*
	 * It begins a wait for a condition, a semaphore or a mutex, or ends it; only if
	 * hp_lock_tells (preload/lock/lock.h).  `lock`: the mutex, held by `holder`; 0 = none.
	 */
	void (*parks)(bool is_over, uintptr_t lock, uint32_t holder);

	/* A descriptor was read from, is about to be closed: see hp_channel_tell(). */
	void (*read)(int fd, const void *buffer, size_t size);
	void (*closed)(int fd);

	/* A wait reported that a descriptor in preload/loop/connecting.h is writable, or failed. */
	void (*connected)(int fd, bool is_failed);

	/* The process ends or execs; the exec failed. */
	void (*end)(bool is_exec);
	void (*go_on)(void);

	/*
	 * It drops privileges (preload/thread/level.h) and is about to leave
	 * the segment; it has left, and everything known about the segment must
	 * be forgotten; it has entered another one.
	 */
	void (*drop)(void);
	void (*dropped)(void);
	void (*entered)(void);

	/*
	 * It ends with the calling thread, which releases its records. Have all
	 * threads stopped recording?
	 */
	void (*leave)(void);
	bool (*is_left)(const struct hp_process *process);
};

struct hp_above {
	/* Joins or makes the session; false = this process is not to be recorded, or cannot be. */
	bool (*start)(void);
	/* Enters the segment of the process's current level. 0 or -errno. */
	int (*enter)(void);
	/* NULL-terminated, in the order of the folders */
	const struct hp_recorder *recorders[HP_RECORDERS_MAX + 1];
};

extern HP_HIDDEN const struct hp_above hp_above;

#define HP_ABOVE(what, ...) \
	do { \
		const struct hp_recorder *const *each_ = hp_above.recorders; \
\
		for (; !hp_is_early() && *each_; each_++) \
			if ((*each_)->what) \
				(*each_)->what(__VA_ARGS__); \
	} while (0)

#endif
