/* SPDX-License-Identifier: MIT */
/*
 * visible.h - our functions of optional libraries (absent.h) are not found by programs that look
 * whether they have such a library.
 *
 * A weak reference or dlsym(RTLD_DEFAULT) finds our uv_queue_work in a program without libuv, which
 * then may take another path.  So, at our start:
 *
 * - Weak references of loaded objects to such a function are null again, unless another object
 *   has it.
 * - Functions that do nothing of their own without HOTPATH_LOOP_CALLBACKS are hidden in our table
 *   of symbols, if any object may look names up (that costs 30 us).  References that the loader has
 *   bound by then stay: they pass calls on.  Later ones get the library's.
 *
 * Still found: GLib's and liburing's functions by dlsym(RTLD_DEFAULT) and by weak references of
 * objects that dlopen opens, since their libraries may be opened that way, too.
 */
#ifndef HP_PRELOAD_GUEST_VISIBLE_H
#define HP_PRELOAD_GUEST_VISIBLE_H

#include <stdbool.h>

/* Once, by the constructor. */
void hp_visible_begin(bool exchanges_callbacks);

#endif
