/* SPDX-License-Identifier: MIT */
/*
 * behalf.h - files that a recorded process names are opened on behalf of its
 * user.
 *
 * elfutils opens files deep inside any lookup of debug information. So the
 * user is set for the thread around such lookups, and hp_behalf_open()
 * (also elfutils', report/elf/debug_open.c) looks it up.
 */
#ifndef HP_REPORT_BASE_BEHALF_H
#define HP_REPORT_BASE_BEHALF_H

#include "util/user.h"

/* Sets the thread's user; returns the previous one, for hp_behalf_end(). */
struct hp_user hp_behalf_begin(struct hp_user user);
void hp_behalf_end(struct hp_user before);

/*
 * A regular file, opened for reading without blocking; -1 and errno, ENOENT if
 * it is something else. `flags` are added.
 */
int hp_behalf_open(const char *path, int flags);

/* The same for any kind of file. */
int hp_behalf_open_any(const char *path, int flags);

#endif
