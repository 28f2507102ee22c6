/* SPDX-License-Identifier: MIT */
/*
 * hook_unload.c - interposes the ways in which a library is unloaded.
 *
 * Threads must forget addresses before something else is mapped there, and
 * another thread may open a library while this one closes one, so after dlclose
 * it is too late. But each object linked by gcc or clang calls __cxa_finalize
 * as its last destructor, inside dlclose and before it is unmapped: there its
 * functions are forgotten. Objects without that call, and those of another
 * namespace with its own C library, are searched after dlclose.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "preload/guest/absent.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/thread/module.h"

/* Exported by the C library, but in no header. */
void __cxa_finalize(void *object);

/*
 * Number of threads in dlclose. __cxa_finalize in the same thread checks it: at
 * the end of the program that is called for all objects, which stay loaded. A
 * destructor that leaves dlclose by a jump leaves this too high; then more is
 * forgotten than necessary.
 */
static _Atomic uint32_t closing;

HP_EXPORT void __cxa_finalize(void *object)
{
	if (hp_is_early()) {
		((void (*)(void *))hp_early_find("__cxa_finalize", false))(object);
		return;
	}
	hp_real()->__cxa_finalize(object);
	if (object && atomic_load_explicit(&closing, memory_order_relaxed)) {
		hp_absent_forget();
		hp_module_leaves((uintptr_t)object);
	}
}

HP_EXPORT int dlclose(void *handle)
{
	bool is_ours;
	int result, saved;

	if (hp_is_early())
		return ((int (*)(void *))hp_early_find("dlclose", false))(handle);
	is_ours = hp_self_is_me() || hp_is_confined();
	if (is_ours)
		atomic_fetch_add_explicit(&closing, 1, memory_order_relaxed);
	result = hp_real()->dlclose(handle);
	saved = errno;
	if (is_ours)
		atomic_fetch_sub_explicit(&closing, 1, memory_order_relaxed);
	hp_absent_forget();
	if (is_ours && result == 0)
		hp_module_sweep();
	errno = saved;
	return result;
}
