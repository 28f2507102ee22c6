/* SPDX-License-Identifier: MIT */
/*
 * hint.h - advice for the user, derived from recorded data.
 */
#ifndef HP_REPORT_VIEW_HINT_H
#define HP_REPORT_VIEW_HINT_H

#include "report/section/core/report.h"

/*
 * If functions of system headers make most of the calls: better flags, one or
 * two lines without newline at the end.  NULL: they do not, or there are so few
 * calls that it does not matter.  Free it.
 */
char *hp_hint_headers(struct hp_report *report);

#endif
