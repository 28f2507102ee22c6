/* SPDX-License-Identifier: MIT */
/*
 * registers.h - calls with patterns in the registers that must be kept: see registers.c.
 */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <setjmp.h>
#include <stdint.h>
#include <sys/types.h>

/* Calls it if it exists: a weak one may not. `al` is what a caller of a variadic function may
 * have there. */
long call(const char *name, void *function, const long *args, int al);

/* The same for a function that does not return here, but through `save`, which was called with
 * `buffer`. */
void call_jump(const char *name, void *function, const long *args, void *save, void *buffer);

/* In a child that it ends, with this status. */
void call_end(const char *name, void *function, int status);

/* A child's status reports wrong calls. */
void count_child(pid_t pid);

/* How many calls were wrong so far. */
int wrong_calls(void);

#define CALL_AL(al, name, ...) \
	call(#name, (void *)(uintptr_t)name, (const long[6]){ __VA_ARGS__ }, al)
#define CALL(name, ...) CALL_AL(0, name, __VA_ARGS__)
#define P(x) ((long)(uintptr_t)(x))

/* registers_io.c: descriptors, processes, jumps. */
void descriptors(void);
void endings(void);
void jumps(void);
void messages(void);

/* registers_uring.c: liburing's. */
void uring(void);

/* registers_uv.c: libuv's. */
void uv(void);

/* registers_glib.c: GLib's, ours, and old versions of the C library's. */
void glib(void);
void own(void);
void old_conditions(void);

#endif
