/* SPDX-License-Identifier: MIT */
/*
 * glib.c - finds GLib's functions behind our stand-ins: preload/guest/absent.h.
 */
#include "preload/lock/glib.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "preload/guest/absent.h"
#include "preload/guest/guest.h"

bool hp_glib_is_without;

static struct hp_glib table;
static _Atomic uint64_t filled;	/* hp_absent_generation then */

/* A program may test whether a function exists, find ours, and call it: returns NULL or false,
 * and does nothing. */
static void *nothing(void)
{
	return NULL;
}

static void find(void *place, const void *beside, const char *name)
{
	void *address = hp_absent_find_beside(name, beside);

	if (!address)
		address = (void *)(uintptr_t)nothing;

	memcpy(place, &address, sizeof(address));
}

/* Two threads may be here at once, and write the same. After an object was unloaded, GLib may be
 * a different one. */
static HP_COLD void fill(uint64_t generation)
{
	void *one = hp_absent_find("g_mutex_lock", 0);
	struct hp_glib found;

	if (!table.g_mutex_lock || one != (void *)(uintptr_t)table.g_mutex_lock) {
#define X(ret, name, args) find(&found.name, one, #name);
		HP_GLIB_LIST(X)
#undef X
		table = found;
	}
	atomic_store_explicit(&filled, generation, memory_order_release);
}

const struct hp_glib *hp_glib(void)
{
	uint64_t now = atomic_load_explicit(&hp_absent_generation, memory_order_relaxed);

	if (HP_UNLIKELY(atomic_load_explicit(&filled, memory_order_acquire) != now))
		fill(now);
	return &table;
}
