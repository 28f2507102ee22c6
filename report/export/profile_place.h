/* SPDX-License-Identifier: MIT */
/*
 * profile_place.h - the path of a run's profile: HOTPATH_PROFILE_DIR
 * (/tmp/hotpath), PID-NS, hp.json.gz, as in the crate hotpath. NS is the start
 * of the run in ns since the epoch.
 *
 * Writing it takes as long as the rest of the report, and a kept run can be
 * exported at any time.  So it is written only on request: by naming
 * functions-cpu in HOTPATH_REPORT, or by setting HOTPATH_PROFILE_DIR (`off`:
 * never).
 */
#ifndef HP_REPORT_EXPORT_PROFILE_PLACE_H
#define HP_REPORT_EXPORT_PROFILE_PLACE_H

#include "report/section/core/report.h"

/*
 * Creates the folder, private to its owner, and sets report->profile_path. Does
 * nothing without a requested profile or without samples. Prints a line on
 * failure.
 */
void hp_profile_place(struct hp_report *report, hp_complain complain, void *context);

/* The same for a profile that was requested otherwise; HOTPATH_PROFILE_DIR=off still means none. */
void hp_profile_place_asked(struct hp_report *report, hp_complain complain, void *context);

/* Writes the announced file; prints a line on failure. */
void hp_profile_keep(struct hp_report *report, hp_complain complain, void *context);

#endif
