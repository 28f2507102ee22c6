/* SPDX-License-Identifier: MIT */
/*
 * leak_map.h - the process's memory as leak.c sees it: writable memory, and the
 * parts of it that are not roots.
 */
#ifndef HP_PRELOAD_HEAP_LEAK_MAP_H
#define HP_PRELOAD_HEAP_LEAK_MAP_H

#include <stdbool.h>
#include <stdint.h>

#define HP_LEAK_RANGES 8192	/* mappings; with more, nothing is reported */
#define HP_LEAK_ROOM 4096
#define HP_LEAK_HOLES \
	256	/* ranges excluded from the roots, apart from blocks with their own mapping */

struct hp_leak_range {
	uintptr_t begin, end;
	bool is_shared;	/* of a file, or of other processes: may end before its mapping does */
	bool is_heap;	/* memory from brk */
	bool is_libc;	/* data of the C library: only complete blocks are known there */
};

struct hp_leak_hole {
	uintptr_t begin, end;
};

struct hp_leak_map {
	struct hp_leak_range *ranges;	/* by address */
	uint32_t count;
	uint32_t hole_count;
	char *room;	/* HP_LEAK_ROOM bytes, to read into */
	struct hp_leak_hole holes[HP_LEAK_HOLES];
};

/* Reads /proc/self/maps into `map`, whose ranges have room.  False = it cannot be read, or is too long. */
bool hp_leak_map_read(struct hp_leak_map *map);

/* Ours, the stack below `sp`, stacks of ended threads, and the heap.  False = too many. */
bool hp_leak_map_cut(struct hp_leak_map *map, uintptr_t sp);

/* glibc's own memory around a block at `at`, that the heap does not have.  False = too many. */
bool hp_leak_map_cut_block(struct hp_leak_map *map, uintptr_t at);

/* The range that holds the address; NULL = none, so it cannot be read. */
const struct hp_leak_range *hp_leak_map_find(const struct hp_leak_map *map, uintptr_t address);

/* Threads of this process; 0 = not known. */
uint32_t hp_leak_map_threads(const struct hp_leak_map *map);

#endif
