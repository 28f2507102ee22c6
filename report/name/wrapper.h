/* SPDX-License-Identifier: MIT */
/*
 * wrapper.h - functions that hand on what they are asked for, and are nobody's answer.
 */
#ifndef HP_REPORT_NAME_WRAPPER_H
#define HP_REPORT_NAME_WRAPPER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if `pattern`, of `length` bytes, means the function: `*` stands for any text, and the
 * pattern's end for the name's, its parameters' or its template's.
 */
bool hp_wrapper_matches(const char *pattern, size_t length, const char *name);

/* Functions of C++'s library: what they allocate is whose who called them. */
bool hp_wrapper_is_library(const char *name);

/*
 * Functions of C++'s library, of GLib and others that lead to the C library's locks, conditions,
 * threads and sleeps: whose wait it is says their caller.
 */
bool hp_wrapper_waits(const char *name);

/* What calls these is the same in all programs: main, and what the C library calls it and threads by. */
bool hp_wrapper_is_outermost(const char *name);

/* Between a function and the thread that it is the first of. */
bool hp_wrapper_is_plumbing(const char *name);

/* True for a function that gives out memory or takes it back: malloc, operator new, ... */
bool hp_wrapper_allocates(const char *name);

#endif
