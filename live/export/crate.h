/* SPDX-License-Identifier: MIT */
/*
 * crate.h - the families of gauges and event loops under the names of the Rust crate, whose dashboards
 * know them.  metrics.c writes more of both under our own names.
 */
#ifndef HP_LIVE_EXPORT_CRATE_H
#define HP_LIVE_EXPORT_CRATE_H

#include "live/answer/report_snapshot.h"
#include "live/export/exposition.h"

void hp_crate_metrics_write(struct hp_exposition *to, struct hp_snapshot *snapshot);

#endif
