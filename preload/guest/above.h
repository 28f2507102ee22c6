/* SPDX-License-Identifier: MIT */
/*
 * above.h - the one way up: what the folders above do when something happens to
 * the process.
 *
 * Whoever starts the library, makes the process's record or ends it must tell all
 * recorders, and may not name them, since they use what it has.  So they are in a
 * table, which preload/hook/above.c defines.  It is constant: hooks run before
 * our constructors, so nothing can be registered.
 *
 * For slow paths alone; what runs at each call, allocation or lock is called
 * directly.  The table holds addresses, which the loader makes absolute, so it
 * must not be read while it is early (early.h): HP_ABOVE() sees to that.
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

#define HP_RECORDERS_MOST 8

/* NULL = nothing is to be done. */
struct hp_recorder {
	/* The loader is done: HP_EARLY_FIND of the recorder's thread pointer. */
	void (*find)(void);

	/* The library starts and will record; of the session's first process?  And the last thing of it. */
	void (*configure)(const struct hp_settings *settings, bool is_first);
	void (*started)(void);

	/* The process has its record.  The calling thread is its only one. */
	void (*opened)(void);

	/* The record is that of an ended process: what is in it is folded. */
	void (*fold)(struct hp_process *process);

	/* The threads of the record are gone with their image: what they had is free. */
	void (*free)(struct hp_process *process);

	/* The calling thread's calls are recorded from now on, or (NULL) no more. */
	void (*bind)(struct hp_local *calls);

	/* A module is gone: all threads forget what they know by addresses in it. */
	void (*forget)(uintptr_t begin, uintptr_t end);

	/* The calling thread may read no clock from now on, and records nothing; or it may again. */
	void (*silence)(bool is_silent);

	/* The calling thread may sleep now, for time to pass or the disk. */
	void (*sleeps)(void);

	/* The process ends, or becomes another image; it does not, after all. */
	void (*end)(bool is_exec);
	void (*go_on)(void);

	/*
	 * It gives up rights (preload/thread/level.h), and is about to leave the segment; it has left, and all
	 * that is known of the segment is to be forgotten; it has entered another one.
	 */
	void (*drop)(void);
	void (*dropped)(void);
	void (*entered)(void);

	/* It ends with the calling thread, which gives back what it has.  Does none record any more? */
	void (*leave)(void);
	bool (*is_left)(const struct hp_process *process);
};

struct hp_above {
	/* Joins or makes the session; false = this process is not to be recorded, or cannot be. */
	bool (*start)(void);
	/* Enters the segment of the level that the process is of now.  0 or -errno. */
	int (*enter)(void);
	const struct hp_recorder
		*recorders[HP_RECORDERS_MOST + 1];	/* up to a NULL, in the order of the folders */
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
