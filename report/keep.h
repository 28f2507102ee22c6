/* SPDX-License-Identifier: MIT */
/*
 * keep.h - what the end of a session leaves behind: its run in the store.
 */
#ifndef HP_REPORT_KEEP_H
#define HP_REPORT_KEEP_H

#include <stdbool.h>

#include "report/report.h"

/*
 * Saves the run that `report` tells of, whose segment is behind `fd`, with the
 * facts in `text`; cleans up.  What stands in the way is told in one line.
 * False = it is not kept.
 */
bool hp_keep(struct hp_report *report, int fd, const char *text, hp_complain complain,
	     void *context);

#endif
