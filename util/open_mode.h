/* SPDX-License-Identifier: MIT */
/*
 * open_mode.h - the third argument of open(2), for functions that replace it.
 */
#ifndef HP_UTIL_OPEN_MODE_H
#define HP_UTIL_OPEN_MODE_H

#include <linux/fcntl.h>
#include <stdarg.h>
#include <stdbool.h>

/* False if the call has no third argument. */
static inline bool hp_open_has_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

/* 0 = the call has none. `rest` begins at it. */
static inline int hp_open_mode(int flags, va_list rest)
{
	return hp_open_has_mode(flags) ? va_arg(rest, int) : 0;
}

#endif
