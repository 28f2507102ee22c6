/* SPDX-License-Identifier: MIT */
/*
 * glib.c - finds GLib's functions behind our stand-ins.
 *
 * Not at the start, as those of the C library: most programs have no GLib, and a
 * search that fails allocates.  Where a plugin brought it with it, for itself
 * alone, the next one in the order of search is none: then it is asked by its name.
 */
#include "preload/lock/glib.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/guest/guest.h"
#include "preload/heap/heap.h"

static struct hp_glib table;
static _Atomic int is_filled;

/* By variables, not by sibling calls: see real.c. */
static void find(void *place, void *handle, const char *name)
{
	void *address = dlsym(handle, name);

	memcpy(place, &address, sizeof(address));
}

static HP_COLD void fill(void)
{
	struct hp_heap_local *was = hp_heap_pause();
	void *handle = RTLD_NEXT, *probe;
	struct hp_glib found;
	int saved = errno;

	find(&probe, RTLD_NEXT, "g_mutex_lock");
	/* Not closed again: a NOLOAD handle is one more reference, and the stand-ins keep it. */
	if (!probe)
		handle = dlopen("libglib-2.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
#define X(ret, name, args) find(&found.name, handle, #name);
	HP_GLIB_LIST(X)
#undef X
	/* Two threads may come here at once, and write the same. */
	table = found;
	atomic_store_explicit(&is_filled, 1, memory_order_release);
	errno = saved;
	hp_heap_go_on(was);
}

const struct hp_glib *hp_glib(void)
{
	if (HP_UNLIKELY(!atomic_load_explicit(&is_filled, memory_order_acquire)))
		fill();
	return &table;
}
