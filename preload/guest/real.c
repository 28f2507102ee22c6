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
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/guest/dynamic.h"
#include "preload/guest/early.h"

#define OBJECTS_MAX 24

struct hp_real hp_real_table;
_Atomic int hp_real_is_filled;
long (*hp_real_syscall)(long, ...);

/* --- in libc, without dlsym --- */

/* The objects behind ours, in the loader's order, up to libc. Whoever fills it writes the same. */
static struct {
	struct hp_dynamic objects[OBJECTS_MAX];
	uint32_t count;	/* the last is libc; 0 = unknown */
} behind;

struct walk {
	bool is_behind;	/* our library */
	uint32_t count;
};

static int look_behind(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hp_dynamic object = hp_dynamic_read(info);
	struct walk *walk = data;

	(void)size;
	if (!walk->is_behind) {
		walk->is_behind = hp_dynamic_holds(&object, (uintptr_t)&hp_real_table);
		return 0;
	}
	/* Without its table nobody knows what it defines. */
	if (!object.hash || walk->count == OBJECTS_MAX)
		return 1;
	behind.objects[walk->count++] = object;
	if (strcmp(object.name, "libc.so.6") != 0)
		return 0;
	behind.count = walk->count;
	return 1;
}

uintptr_t hp_real_object(uint32_t i)
{
	return i < behind.count ? behind.objects[i].begin : 0;
}

/*
 * The loader searches in the same order, but dlsym takes several times as long, and two hundred
 * look-ups are much of what a short program waits for. NULL = another object defines it, or it
 * is no plain function: then dlsym finds it.
 */
static void *find_in_libc(const char *name)
{
	const ElfW(Sym) *symbol = NULL;
	uint32_t i = 0, hash = hp_dynamic_hash(name);

	for (; i < behind.count && !symbol; i++)
		symbol = hp_dynamic_symbol(&behind.objects[i], name, hash);
	if (!symbol || i < behind.count || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
		return NULL;
	return (void *)(behind.objects[i - 1].bias + symbol->st_value);
}

static void fill(void *place, const char *name)
{
	void *address = hp_is_early() ? hp_early_find(name, false) : find_in_libc(name);

	if (!address && !hp_is_early())
		address = dlsym(RTLD_NEXT, name);
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
	struct walk walk = { .count = 0 };

	if (hp_is_early() && hp_real_table.read)
		return &hp_real_table;	/* the second such call */
	if (!hp_is_early())
		dl_iterate_phdr(look_behind, &walk);
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
