/* SPDX-License-Identifier: MIT */
/*
 * cost.h - the cost of profiling: one figure for text and JSON.
 */
#ifndef HP_REPORT_VIEW_COST_H
#define HP_REPORT_VIEW_COST_H

#include <stdbool.h>

#include "report/section/sections.h"

struct hp_cost {
	bool is_sampled;	/* by samples, which include stand-ins; else by the hooks' calibration */
	double ns;	/* CPU time of the profiler's code in the program's threads, */
	double error_ns;	/* and half of its 95 % interval, if it is sampled */
	double helper_ns;	/* CPU time of the sampler process; 0 = unknown */
};

/* Samples count only if the report has already made its CPU section. */
struct hp_cost hp_cost_of(struct hp_report *report);

#endif
