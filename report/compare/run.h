/* SPDX-License-Identifier: MIT */
/*
 * run.h - makes the runs to compare, alternating.
 */
#ifndef HP_REPORT_COMPARE_RUN_H
#define HP_REPORT_COMPARE_RUN_H

#include <stdbool.h>

#include "report/compare/ask.h"

/*
 * Runs both commands ask->runs times under the profiler, A, B, A, B, and adds each run to `compare`
 * as soon as it has ended; then calls `seen`, if any, with the context of its side.  The
 * commands' stdin is ask->input, their stdout /dev/null: only then is the comparison the only
 * output. False if a command cannot be run or ends by a signal: a line on stderr reports it.
 */
bool hp_compare_run_all(struct hp_compare *compare, const struct hp_compare_ask *ask,
			hp_compare_seen *seen, void *const contexts[2]);

#endif
