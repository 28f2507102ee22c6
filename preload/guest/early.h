/* SPDX-License-Identifier: MIT */
/*
 * early.h - calls to our functions before the loader has finished.
 *
 * An IFUNC resolver runs while the loader relocates. It may call functions that
 * we interpose: in a library, before our own library is relocated (calls and
 * addresses through our tables are invalid), or in the executable, before
 * thread-local storage is initialised.
 *
 * So thread-local pointers do not use an offset that the loader writes into our
 * table, but one that we write (HP_THREAD_POINTER): the same two loads. While
 * it is 0, they read the thread control block, whose first word is its own
 * address (psABI for x86-64). The structs behind these pointers have their
 * gates and states where glibc's control block is 0 (HP_EARLY_ZERO), so they
 * read as unborn, and the call takes the slow path. That checks hp_is_early()
 * first, before touching errno or any function of the C library. The real
 * functions are looked up by hand.
 *
 * Such early calls are passed on and not recorded.
 */
#ifndef HP_PRELOAD_GUEST_EARLY_H
#define HP_PRELOAD_GUEST_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"

/* Only in the library: a unit test is a program, and sanitizers do not support these pointers. */
#if defined(__x86_64__) && defined(__LP64__) && defined(__PIC__) && !defined(__PIE__)
#define HP_HAS_EARLY 1
#else
#define HP_HAS_EARLY 0
#endif

/* In tcbhead_t of glibc 2.22 to 2.41: multiple_threads and gscope_flag, sysinfo, unused_vgetcpu_cache. */
#define HP_EARLY_ZERO(offset) ((offset) == 24 || (offset) == 32 || (offset) == 56 || (offset) == 60)

#if HP_HAS_EARLY

/*
 * Offsets from the thread pointer of hp_local and similar variables; 0 = early.
 * On its own cache line, since all threads read it.
 */
struct hp_early_offsets {
	uintptr_t local;
	uintptr_t heap;
	uintptr_t waiter;
	uintptr_t channel_thread;
	uintptr_t looper;
	uintptr_t streamer;
} __attribute__((aligned(64)));

extern HP_HIDDEN struct hp_early_offsets hp_early_offsets;

#define HP_THREAD_PLACE(type, name) (*(type * __seg_fs *)hp_early_offsets.name)

/* For hp_recorder.find (above.h): the loader has finished, so the offset is known. */
#define HP_EARLY_FIND(name) hp_early_note(&hp_early_offsets.name, &hp_##name##_pointer)

static inline void hp_early_note(uintptr_t *offset, const void *variable)
{
	uintptr_t thread = *(uintptr_t __seg_fs *)0;

	__atomic_store_n(offset, (uintptr_t)variable - thread, __ATOMIC_RELEASE);
}

/* False once the loader has finished; then the offsets are set. */
HP_HIDDEN bool hp_early_lasts(void);

static inline bool hp_is_early(void)
{
	return __builtin_expect(hp_early_offsets.local == 0, 0) && hp_early_lasts();
}

/* The next function after ours in the loader's order; NULL = none. */
HP_HIDDEN void *hp_early_find(const char *name, bool is_old);

#else

#define HP_THREAD_PLACE(type, name) hp_##name##_pointer
#define HP_EARLY_FIND(name) ((void)0)

static inline bool hp_is_early(void)
{
	return false;
}

static inline void *hp_early_find(const char *name, bool is_old)
{
	(void)name;
	(void)is_old;
	return 0;
}

#endif

/* A per-thread pointer: hp_`name`() reads it, hp_`name`_set() sets it. */
#define HP_THREAD_POINTER(type, name) \
	extern HP_HIDDEN __thread type *hp_##name##_pointer \
		__attribute__((tls_model("initial-exec"))); \
\
	static inline type *hp_##name(void) \
	{ \
		return HP_THREAD_PLACE(type, name); \
	} \
\
	static inline void hp_##name##_set(type *to) \
	{ \
		HP_THREAD_PLACE(type, name) = to; \
	}

#endif
