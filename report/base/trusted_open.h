/* SPDX-License-Identifier: MIT */
/*
 * trusted_open.h - opens a file for writing without following other users'
 * links.
 *
 * In a sticky world-writable folder (/tmp), another user may have put a link
 * where the report should go, pointing to one of our files. There a link is
 * followed only if we, root or the folder's owner own it. This holds for every
 * component of the path, whatever fs.protected_symlinks says.
 */
#ifndef HP_REPORT_BASE_TRUSTED_OPEN_H
#define HP_REPORT_BASE_TRUSTED_OPEN_H

#include <sys/types.h>

/* open(2), close-on-exec; -1 and errno, EACCES for such a link. */
int hp_trusted_open(const char *path, int flags, mode_t mode);

#endif
