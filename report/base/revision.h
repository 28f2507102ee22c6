/* SPDX-License-Identifier: MIT */
/*
 * revision.h - the git revision of a folder, read from .git. Running git would
 * execute programs from the repository's configuration, which may belong to
 * someone else.
 */
#ifndef HP_REPORT_BASE_REVISION_H
#define HP_REPORT_BASE_REVISION_H

#include <stdbool.h>

struct hp_revision {
	char sha[65];	/* hex digits */
	char ref[256];	/* refs/heads/NAME; "" = detached */
};

/* For the innermost repository around the folder of `file`. False = none. */
bool hp_revision_find(struct hp_revision *revision, const char *file);

#endif
