/* SPDX-License-Identifier: MIT */
/*
 * absent.h - the real functions behind stand-ins for libraries that a program may not have.
 *
 * We export such a function whether or not a library with it is loaded.  So the real one is looked up
 * when it is first called: in the object that calls, then in those that it needs, then in load
 * order.  That finds the caller's own library where two of one name are loaded, and one that
 * dlopen loaded for its caller alone.
 *
 * dlsym and dlopen are not used: they take a lock that the loader holds while constructors run, so a
 * constructor that waits for a thread which calls a stand-in would wait for ever.
 *
 *	static struct hp_absent uv_run_real = HP_ABSENT("uv_run");
 *	...
 *	int (*real)(void *, int) = hp_absent_real(&uv_run_real, HP_CALLER);
 *	if (!real)
 *		return UV_ENOSYS;	the library's own error
 *
 * All functions may be called by any thread and in signal handlers; errno is kept.
 */
#ifndef HP_PRELOAD_GUEST_ABSENT_H
#define HP_PRELOAD_GUEST_ABSENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/guest/guest.h"

/* What callers in one object call. */
struct hp_absent_found {
	struct hp_absent_found *next;	/* set once, as begin and end */
	uintptr_t begin, end;	/* of the callers' object */
	_Atomic uint64_t generation;	/* stored after `real`; not the present one = look again */
	_Atomic(void *) real;
};

/* One for each stand-in, static. */
struct hp_absent {
	const char *name;
	_Atomic(struct hp_absent_found *) found;
};

#define HP_ABSENT(name_) \
	{ \
		.name = name_ \
	}

/* Grows with each object that goes. */
extern HP_HIDDEN _Atomic uint64_t hp_absent_generation;

/* An object goes, or has gone: what was found is looked up again. */
static inline void hp_absent_forget(void)
{
	atomic_fetch_add_explicit(&hp_absent_generation, 1, memory_order_acq_rel);
}

/* The same without a cache; NULL = no loaded object has it. */
void *hp_absent_find(const char *name, uintptr_t caller);

void *hp_absent_meet(struct hp_absent *absent, uintptr_t caller);

/* The function that the code at `caller` would call without us; NULL = there is none. */
static inline void *hp_absent_real(struct hp_absent *absent, uintptr_t caller)
{
	struct hp_absent_found *found = atomic_load_explicit(&absent->found, memory_order_acquire);
	uint64_t now = atomic_load_explicit(&hp_absent_generation, memory_order_relaxed);

	for (; found; found = found->next)
		if (caller >= found->begin && caller < found->end &&
		    atomic_load_explicit(&found->generation, memory_order_acquire) == now)
			return atomic_load_explicit(&found->real, memory_order_relaxed);
	return hp_absent_meet(absent, caller);
}

/* Another function of the library that has `real`; NULL = it has none of that name. */
void *hp_absent_beside(const void *real, const char *name);

#endif
