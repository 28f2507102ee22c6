/* SPDX-License-Identifier: MIT */
/*
 * keep.h - saves a session's run in the store at its end.
 */
#ifndef HP_REPORT_STORE_KEEP_H
#define HP_REPORT_STORE_KEEP_H

#include <stdbool.h>

#include "report/section/core/report.h"

struct hp_keep {
	int fd;	/* of the segment */
	const char *facts;
	bool is_again;	/* saved before, when its root ended: replaces that file */
};

struct hp_keeping;

/*
 * Saves the run of `report` in two steps: if there is a second processor,
 * another thread writes the part without names while the report is made. `keep`
 * must not move until the end.
 */
struct hp_keeping *hp_keep_begin(struct hp_report *report, const struct hp_keep *keep);

/* Writes all names. A failure prints one line. False = the run is not kept. */
bool hp_keep_end(struct hp_keeping *keeping, hp_complain complain, void *context);

/* Removes older runs if it is kept, for which the disk may take a millisecond; frees `keeping`. */
void hp_keep_clean(struct hp_keeping *keeping);

/*
 * Call before looking up names: sets the folder of the caches that all runs
 * share, for names of the kernel and of system libraries.
 */
void hp_keep_share(bool may_write);

#endif
