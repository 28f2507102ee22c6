/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - counts calls in the simplest possible way, as a reference for the
 * tests: one counter for each (function, place its entry hook is called from).
 *
 * The place tells inlined copies apart: the hook of a function that was inlined
 * is called from inside another one.  At the end a text file named by ORACLE is
 * written: "M begin end bias path" for each module, "C function place count".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* dl_iterate_phdr */
#endif
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS (1 << 20)	/* a power of two, far above the number of call places */

struct slot {
	_Atomic uint64_t key;	/* 0 = free */
	uintptr_t function;
	uintptr_t place;
	_Atomic uint64_t count;
};

static struct slot slots[SLOTS];

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

/* Compilers may let two functions share the call of the hook: both make the key. */
static uint64_t key_of(uintptr_t function, uintptr_t place)
{
	return (place << 20 ^ function) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

__attribute__((visibility("default"))) void __cyg_profile_func_enter(void *function,
								     void *call_site)
{
	uintptr_t place = (uintptr_t)__builtin_return_address(0);
	uint64_t key = key_of((uintptr_t)function, place), seen;
	size_t i = key >> 44;

	(void)call_site;
	for (;; i = (i + 1) % SLOTS) {
		seen = atomic_load_explicit(&slots[i].key, memory_order_relaxed);
		if (seen == key)
			break;
		if (!seen &&
		    (atomic_compare_exchange_strong(&slots[i].key, &seen, key) || seen == key))
			break;
	}
	slots[i].function = (uintptr_t)function;
	slots[i].place = place;
	atomic_fetch_add_explicit(&slots[i].count, 1, memory_order_relaxed);
}

__attribute__((visibility("default"))) void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)function;
	(void)call_site;
}

static int write_module(struct dl_phdr_info *info, size_t size, void *file)
{
	uintptr_t begin = UINTPTR_MAX, end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + phdr->p_vaddr < begin)
			begin = info->dlpi_addr + phdr->p_vaddr;
		if (info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz > end)
			end = info->dlpi_addr + phdr->p_vaddr + phdr->p_memsz;
	}
	fprintf(file, "M %lx %lx %lx %s\n", begin, end, (unsigned long)info->dlpi_addr,
		*info->dlpi_name ? info->dlpi_name : "/proc/self/exe");
	return 0;
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("ORACLE");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	dl_iterate_phdr(write_module, file);
	for (size_t i = 0; i < SLOTS; i++)
		if (slots[i].count)
			fprintf(file, "C %lx %lx %llu\n", slots[i].function, slots[i].place,
				(unsigned long long)slots[i].count);
	fclose(file);
}
