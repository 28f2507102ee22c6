/* SPDX-License-Identifier: MIT */
/*
 * cost.h - the cost of profiling: one interval for text and JSON.
 *
 * The CPU time that the program's processes would not have taken without us: the library's code,
 * sampling interrupts, records of context switches, and start and end. A part of which only bounds
 * are known adds both of them to the interval. doc/internals/report.md explains the parts.
 */
#ifndef HP_REPORT_READ_COST_H
#define HP_REPORT_READ_COST_H

#include <stdbool.h>

#include "report/read/model.h"

struct hp_cost {
	bool is_least;	/* without samples: of the hooks and the start alone, and high_ns is low_ns */
	double ns;	/* the middle, */
	double error_ns;	/* and half of the interval */
	double low_ns;
	double high_ns;
	double helper_ns;	/* CPU time of the sampler process; 0 = unknown */
};

struct hp_cost hp_cost_of(const struct hp_model *model);

#endif
