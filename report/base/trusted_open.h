/* SPDX-License-Identifier: MIT */
/*
 * trusted_open.h - opens a file to be written, but through no link that another user has laid.
 *
 * In a folder where everybody may make files and remove only his own (/tmp), a link may stand
 * where the report is to go, and lead to a file of ours.  There a link is followed only if it is our
 * own, root's or the folder's owner's, in all parts of the path, whatever fs.protected_symlinks says.
 */
#ifndef HP_REPORT_BASE_TRUSTED_OPEN_H
#define HP_REPORT_BASE_TRUSTED_OPEN_H

#include <sys/types.h>

/* open(2), close-on-exec; -1 and errno, EACCES for such a link. */
int hp_trusted_open(const char *path, int flags, mode_t mode);

#endif
