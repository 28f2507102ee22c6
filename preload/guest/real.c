/* SPDX-License-Identifier: MIT */
/*
 * real.c - finds the functions behind our interposed ones.
 *
 * dlsym(RTLD_NEXT) identifies its caller by the return address, so it must not
 * be a sibling call: glibc would then see ld.so as the caller. Hence every
 * result goes through a variable here.
 */
#include "preload/guest/real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/guest/early.h"

struct hp_real hp_real_table;
_Atomic int hp_real_is_filled;
long (*hp_real_syscall)(long, ...);

static void fill(void *place, const char *name)
{
	void *address = hp_is_early() ? hp_early_find(name, false) : dlsym(RTLD_NEXT, name);

	memcpy(place, &address, sizeof(address));
}

/* Only glibc has it; without it there is one version. */
extern void *dlvsym(void *, const char *, const char *) __attribute__((weak));

/* In C libraries before 2.36, dlsym may find an old version (BZ 14932). */
static void fill_version(void *place, const char *name, const char *version, bool is_old)
{
	void *address = hp_is_early() ? hp_early_find(name, is_old)
			: dlvsym      ? dlvsym(RTLD_NEXT, name, version)
				      : NULL;

	if (!address && !hp_is_early())
		address = dlsym(RTLD_NEXT, name);
	memcpy(place, &address, sizeof(address));
}

__attribute__((cold)) const struct hp_real *hp_real_fill(void)
{
	if (hp_is_early() && hp_real_table.read)
		return &hp_real_table;	/* the second such call */
#define X(ret, name, args) fill(&hp_real_table.name, #name);
	HP_REAL_LIST(X)
	HP_REAL_CALLED(X)
#undef X
#define X(ret, name, old, args) \
	fill_version(&hp_real_table.name, #name, "GLIBC_2.3.2", false); \
	fill_version(&hp_real_table.old, #name, "GLIBC_2.2.5", true);
	HP_REAL_VERSIONS(X)
#undef X
	if (hp_is_early())
		return &hp_real_table;
	hp_real_syscall = hp_real_table.syscall;
	atomic_store_explicit(&hp_real_is_filled, 1, memory_order_release);
	return &hp_real_table;
}
