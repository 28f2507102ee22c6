/* SPDX-License-Identifier: MIT */
/*
 * direct.h - mappings made by the process itself, not through its allocator: by call path,
 * and the remaining parts.
 *
 * Mappings that the C library makes for its own malloc and for stacks of threads, and the loader's,
 * do not call our stand-ins.
 */
#ifndef HP_PRELOAD_HEAP_DIRECT_H
#define HP_PRELOAD_HEAP_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/heap/path.h"
#include "segment/layout/process.h"
#include "segment/setting.h"

/* Maps are recorded in this process. */
extern bool hp_direct_is_wanted;

/* Where this library is mapped: its own calls are not recorded. */
extern struct hp_module hp_direct_own;

extern const struct hp_recorder hp_direct_recorder;

/* Before a call that unmaps: its number; 0 = nothing is known to be mapped. */
uint64_t hp_direct_number(void);

/* [begin, end) was unmapped by the call with that number.  errno is kept. */
void hp_direct_gone(uintptr_t begin, uintptr_t end, uint64_t number);

/* [begin, end) was mapped by the call with this frame; `kinds` are bits of enum hp_map_kind. */
void hp_direct_made(uintptr_t begin, uintptr_t end, uint32_t kinds,
		    const struct hp_path_frame *frame);

#endif
