/* SPDX-License-Identifier: MIT */
/*
 * open.c - see open.h.
 *
 * fcntl.h is not included: it may define open() under another name or inline.
 */
#include "sampler/base/open.h"

#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/open_mode.h"

#define HP_REPLACES __attribute__((visibility("default"), used))

HP_REPLACES int open(const char *path, int flags, ...);
HP_REPLACES int open64(const char *path, int flags, ...) __attribute__((alias("open")));

static hp_opener *the_opener;

void hp_open_by(hp_opener *opener)
{
	the_opener = opener;
}

int open(const char *path, int flags, ...)
{
	va_list rest;

	va_start(rest, flags);
	int mode = hp_open_mode(flags, rest);
	va_end(rest);
	if (the_opener)
		return the_opener(path, flags, mode, __builtin_return_address(0));
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
