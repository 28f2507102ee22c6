/* SPDX-License-Identifier: MIT */
/*
 * real.c - finds the functions behind our stand-ins.
 *
 * dlsym(RTLD_NEXT) tells its caller by the return address, so it must not be
 * called as a sibling call: glibc would then see ld.so as the caller.  Every
 * result goes through a variable here.
 */
#include "preload/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

static struct hp_real table;
static _Atomic int is_filled;

static void fill(void *place, const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	memcpy(place, &address, sizeof(address));
}

const struct hp_real *hp_real(void)
{
	if (!atomic_load_explicit(&is_filled, memory_order_acquire)) {
#define X(ret, name, args) fill(&table.name, #name);
		HP_REAL_LIST(X)
#undef X
		atomic_store_explicit(&is_filled, 1, memory_order_release);
	}
	return &table;
}
