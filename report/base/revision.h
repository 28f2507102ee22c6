/* SPDX-License-Identifier: MIT */
/*
 * revision.h - the git revision of a folder, read from .git: git itself runs
 * what a repository's configuration names, which may be somebody else's.
 */
#ifndef HP_REPORT_BASE_REVISION_H
#define HP_REPORT_BASE_REVISION_H

#include <stdbool.h>

struct hp_revision {
	char sha[65];	/* hex digits */
	char ref[256];	/* refs/heads/NAME; "" = detached */
};

/* Of the innermost repository around the folder of `file`.  False = there is none. */
bool hp_revision_find(struct hp_revision *revision, const char *file);

#endif
