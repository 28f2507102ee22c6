/* SPDX-License-Identifier: MIT */
/*
 * guest.h - attributes that all of the library has in common.
 *
 * Folder: preload/guest - how to live inside a foreign process: its memory, its
 *   functions, its loader, its filters.  Knows nothing of what is recorded.
 * May use: segment segment/layout unwind
 */
#ifndef HP_PRELOAD_GUEST_GUEST_H
#define HP_PRELOAD_GUEST_GUEST_H

#include <stdint.h>

#define HP_LIKELY(x) __builtin_expect(!!(x), 1)
#define HP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define HP_EXPORT __attribute__((visibility("default")))
#define HP_HIDDEN __attribute__((visibility("hidden")))
#define HP_COLD __attribute__((cold, noinline))
#define HP_HOT inline __attribute__((always_inline))

/* The return address of a stand-in: the place in the program that it is told for. */
#define HP_CALLER ((uintptr_t)__builtin_return_address(0))

#endif
