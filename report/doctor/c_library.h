/* SPDX-License-Identifier: MIT */
/*
 * c_library.h - the glibc version that a file needs, and the one that a loader
 * provides.
 *
 * The loader ends a program before its first instruction if a preloaded library
 * needs a missing version of the C library. It happens when the library was
 * built on a newer system than the program's: in a container, a chroot, or with
 * a program that brings its own loader. So this checks it in advance.
 *
 * A version is 1000 * major + minor (2.36: 2036); 0 = none, or the file cannot be read.
 * Nothing in the files is trusted.
 */
#ifndef HP_REPORT_DOCTOR_C_LIBRARY_H
#define HP_REPORT_DOCTOR_C_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

#define HP_C_LIBRARY_TEXT 16	/* "2.36" */

/* The newest GLIBC_x.y that the file needs; optional versions do not count. */
unsigned hp_c_library_needed(const char *path);

/* The newest GLIBC_x.y that this C library has. */
unsigned hp_c_library_version(const char *path);

/* The libc.so.6 beside a program's loader, which is where glibc installs it.  False = none. */
bool hp_c_library_beside(const char *linker, char path[PATH_MAX]);

/* The libc.so.6 of the system in the folder `root`.  False = none. */
bool hp_c_library_in(const char *root, char path[PATH_MAX]);

/* The loader of this program, as passed to the kernel; "" = unknown. */
const char *hp_own_linker(void);

void hp_c_library_text(unsigned version, char text[HP_C_LIBRARY_TEXT]);

#endif
