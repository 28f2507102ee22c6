/* SPDX-License-Identifier: MIT */
/*
 * open.h - an open() of this executable's own, which the code of another object can take over.
 *
 * The C library's open() is overridden for all objects of a process only by the executable. The
 * report needs that for elfutils (report/elf/debug_open.c), also in a copy of our process.
 */
#ifndef HP_SAMPLER_BASE_OPEN_H
#define HP_SAMPLER_BASE_OPEN_H

/* `caller` is the address that the call returns to. Returns as open() does. */
typedef int hp_opener(const char *path, int flags, int mode, const void *caller);

/* Only while there is one thread. From now on it handles every call of open() and open64(). */
void hp_open_by(hp_opener *opener);

#endif
