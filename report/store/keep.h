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

/*
 * Saves the run that `report` tells of; cleans up.  What stands in the way is
 * told in one line.  False = it is not kept.
 */
bool hp_keep(struct hp_report *report, const struct hp_keep *keep, hp_complain complain,
	     void *context);

/* Before names are asked for: where what all runs share is kept, the kernel's names. */
void hp_keep_share(void);

#endif
