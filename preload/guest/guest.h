/* SPDX-License-Identifier: MIT */
/*
 * guest.h - attributes used by the whole library.
 *
 * Folder: preload/guest - living inside a foreign process: its memory,
 *   functions, loader and filters. Independent of the recorded sections.
 * May use: segment segment/layout unwind util
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
/* Of a few ns: at the start of a cache line, a pair of them takes 0.4 ns less than anywhere. */
#define HP_AT_LINE __attribute__((aligned(64)))

/*
 * The return address of an interposed function: the place in the program to
 * which it is attributed.
 */
#define HP_CALLER ((uintptr_t)__builtin_return_address(0))

#endif
