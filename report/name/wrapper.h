/* SPDX-License-Identifier: MIT */
/*
 * wrapper.h - functions that only pass a request on, and so explain nothing.
 */
#ifndef HP_REPORT_NAME_WRAPPER_H
#define HP_REPORT_NAME_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if `pattern`, of `length` bytes, matches the function: `*` matches any
 * text, and the pattern may end before parameters or template arguments.
 */
bool hp_wrapper_matches(const char *pattern, size_t length, const char *name);

/* Functions of the C++ or Rust library: their allocations are attributed to the caller. */
bool hp_wrapper_is_library(const char *name);

/*
 * Functions of the C++ library, GLib and others that wrap the C library's
 * locks, conditions, threads and sleeps: waits are attributed to the caller.
 */
bool hp_wrapper_waits(const char *name);

/*
 * Functions whose callers are the same in all programs: main, and the C
 * library's functions that call main and threads.
 */
bool hp_wrapper_is_outermost(const char *name);

/* Functions between a thread's start and its own first function. */
bool hp_wrapper_is_plumbing(const char *name);

/* True for a function that allocates or frees memory: malloc, operator new, ... */
bool hp_wrapper_allocates(const char *name);

#endif
