/* SPDX-License-Identifier: MIT */
/*
 * profile_place.h - where the profile of a run goes that asked for one:
 * HOTPATH_PROFILE_DIR (/tmp/hotpath), PID-NS, hp.json.gz, as the crate hotpath has
 * it.  NS is when the run began, in ns of the epoch.
 *
 * Writing it takes as long as the rest of the report, and a kept run can be
 * exported at any time.  So it is written only for who asked: by naming
 * functions-cpu in HOTPATH_REPORT, or by setting HOTPATH_PROFILE_DIR (`off`: never).
 */
#ifndef HP_REPORT_EXPORT_PROFILE_PLACE_H
#define HP_REPORT_EXPORT_PROFILE_PLACE_H

#include "report/section/core/report.h"

/*
 * Makes the folder, for its owner only, and sets report->profile_path.  Nothing
 * happens where no profile was asked for or there are no samples.  What stands in
 * the way is told.
 */
void hp_profile_place(struct hp_report *report, hp_complain complain, void *context);

/* Writes the file that was promised; what stands in the way is told. */
void hp_profile_keep(struct hp_report *report, hp_complain complain, void *context);

#endif
