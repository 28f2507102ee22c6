/* SPDX-License-Identifier: MIT */
/*
 * find_object.h - glibc's _dl_find_object (2.35), which the headers of older ones do not have.
 *
 * It takes no lock, so any thread and a signal handler may call it. The symbol is weak: on an
 * older glibc its address is NULL. Source: glibc's manual, "Dynamic Linker Introspection".
 */
#ifndef HP_UTIL_FIND_OBJECT_H
#define HP_UTIL_FIND_OBJECT_H

struct link_map;

/* glibc's struct dl_find_object. */
struct hp_find_object {
	unsigned long long int flags;
	void *map_start;
	void *map_end;
	struct link_map *link_map;
	void *eh_frame;
	unsigned long long int reserved[7];
};

/* 0 = found; -1 = no object is mapped at the address. */
extern int hp_find_object(void *address, struct hp_find_object *result) __asm__("_dl_find_object")
	__attribute__((weak));

#endif
