/* SPDX-License-Identifier: MIT */
/*
 * debug_open.c - an open() for elfutils: opens files only and never blocks.
 *
 * The program's file names the place of its debug information: .gnu_debuglink,
 * .gnu_debugaltlink, the name of a .dwo or .dwp file, and the folder .debug
 * beside it. libdw opens whatever is there, and opening a pipe without a writer
 * blocks forever. It calls a callback for some of these files only, depending
 * on its version. So this open() overrides the C library's, as an executable's
 * own malloc does, for calls from elfutils, and opens with the rights of the
 * user who named the file (report/base/behalf.h). All other calls pass through:
 * a user may want `hotpath report` to read from a pipe.
 *
 * fcntl.h is not included: it may define open() under another name or inline.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "util/open_mode.h"

#define HP_REPLACES __attribute__((visibility("default"), used))

/* For a process whose executable is another one (sampler/base/open.h). */
HP_REPLACES int hp_debug_open(const char *path, int flags, int mode, const void *caller);

HP_REPLACES int open(const char *path, int flags, ...);
HP_REPLACES int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* Checks the name of the library that the call returns to. */
static bool is_elfutils(const void *caller)
{
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	const char *slash = strrchr(info.dli_fname, '/');
	const char *name = slash ? slash + 1 : info.dli_fname;

	return strncmp(name, "libdw", 5) == 0 || strncmp(name, "libelf", 6) == 0;
}

int hp_debug_open(const char *path, int flags, int mode, const void *caller)
{
	if (!hp_open_has_mode(flags) && (flags & O_ACCMODE) == O_RDONLY && is_elfutils(caller))
		return hp_behalf_open(path, flags);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list rest;

	va_start(rest, flags);
	int mode = hp_open_mode(flags, rest);
	va_end(rest);
	return hp_debug_open(path, flags, mode, __builtin_return_address(0));
}
