/* SPDX-License-Identifier: MIT */
/*
 * absent.h - the real functions behind interposed functions of optional
 * libraries.
 *
 * We export such a function even if no library with it is loaded. So the real
 * one is looked up at the first call: in the calling object, then in its
 * dependencies, then in load order. That finds the caller's own library when
 * two of one name are loaded, and libraries that dlopen loaded privately.
 *
 * dlsym and dlopen are not used: they take a lock that the loader holds while
 * constructors run. A constructor that waits for a thread that calls an
 * interposed function would then deadlock.
 *
 *	static struct hp_absent uv_run_real = HP_ABSENT("uv_run");
 *	...
 *	int (*real)(void *, int) = hp_absent_real(&uv_run_real, HP_CALLER);
 *	if (!real)
 *		return UV_ENOSYS;	the library's own error
 *
 * Any thread and any signal handler may call these functions; errno is
 * preserved.
 */
#ifndef HP_PRELOAD_GUEST_ABSENT_H
#define HP_PRELOAD_GUEST_ABSENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/guest.h"

/* The function called from one object. */
struct hp_absent_found {
	struct hp_absent_found *next;	/* set once, as begin and end */
	uintptr_t begin, end;	/* of the callers' object, or the library */
	_Atomic uint64_t generation;	/* stored after `real`; outdated = look up again */
	_Atomic(void *) real;
};

/* One per interposed function, static. */
struct hp_absent {
	const char *name;
	_Atomic(struct hp_absent_found *) found;
};

#define HP_ABSENT(name_) \
	{ \
		.name = name_ \
	}

/*
 * For a list of interposed functions, X(result, name, arguments): what is known of each, its type,
 * and its declaration.  HP_ABSENT_FIND is the real one, for the caller of the stand-in; NULL = none.
 */
#define HP_ABSENT_REAL(ret, name, args) \
	static struct hp_absent name##_real = HP_ABSENT(#name); \
	typedef ret(*name##_type) args; \
	ret name args;
#define HP_ABSENT_FIND(name) ((name##_type)hp_absent_real(&name##_real, HP_CALLER))

/* Grows with each unloaded object. */
extern HP_HIDDEN _Atomic uint64_t hp_absent_generation;

/* An object is being or was unloaded: cached results become invalid. */
static inline void hp_absent_forget(void)
{
	atomic_fetch_add_explicit(&hp_absent_generation, 1, memory_order_acq_rel);
}

/* Without a cache, as hp_absent_real() and hp_absent_beside(). */
void *hp_absent_find(const char *name, uintptr_t caller);
void *hp_absent_find_beside(const char *name, const void *real);

void *hp_absent_meet(struct hp_absent *absent, uintptr_t caller);

/* What a look-up for this address found, if that is still valid; else NULL. */
static inline void *hp_absent_known(struct hp_absent *absent, uintptr_t at)
{
	struct hp_absent_found *found = atomic_load_explicit(&absent->found, memory_order_acquire);
	uint64_t now = atomic_load_explicit(&hp_absent_generation, memory_order_relaxed);

	for (; found; found = found->next)
		if (at >= found->begin && at < found->end &&
		    atomic_load_explicit(&found->generation, memory_order_acquire) == now)
			return atomic_load_explicit(&found->real, memory_order_relaxed);
	return NULL;
}

/* The function that the code at `caller` would call without us; NULL = none. */
static inline void *hp_absent_real(struct hp_absent *absent, uintptr_t caller)
{
	void *found = hp_absent_known(absent, caller);

	return found ? found : hp_absent_meet(absent, caller);
}

void *hp_absent_meet_beside(struct hp_absent *absent, const void *real);

/*
 * Another function of the library that contains `real`; NULL = not there. A function is looked up
 * either by this or by hp_absent_real(), not by both.
 */
static inline void *hp_absent_beside(struct hp_absent *absent, const void *real)
{
	void *found = hp_absent_known(absent, (uintptr_t)real);

	return found ? found : hp_absent_meet_beside(absent, real);
}

#endif
