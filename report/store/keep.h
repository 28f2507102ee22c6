/* SPDX-License-Identifier: MIT */
/*
 * keep.h - what the end of a session leaves behind: its run in the store.
 */
#ifndef HP_REPORT_STORE_KEEP_H
#define HP_REPORT_STORE_KEEP_H

#include <stdbool.h>

#include "report/section/core/report.h"

struct hp_keep {
	int fd;	/* of the segment */
	const char *facts;
	bool is_again;	/* it was saved when its root ended: replaces that file */
};

struct hp_keeping;

/*
 * Saves the run that `report` tells of, in two steps: what needs no names is written by another
 * thread, while the report is made, if there is another processor for it.  `keep` stays
 * where it is until the end.
 */
struct hp_keeping *hp_keep_begin(struct hp_report *report, const struct hp_keep *keep);

/*
 * All names, and cleans up.  What stands in the way is told in one line.  False = the run is
 * not kept.
 */
bool hp_keep_end(struct hp_keeping *keeping, hp_complain complain, void *context);

/*
 * Before names are asked for: where those are kept that all runs share, of the kernel and of
 * system libraries.
 */
void hp_keep_share(bool may_write);

#endif
