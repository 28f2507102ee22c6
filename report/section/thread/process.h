/* SPDX-License-Identifier: MIT */
/*
 * process.h - the programs that ran in the session, each with all its processes.
 *
 * A run is an image of a process: its state from one exec to the next.  One that only
 * existed from fork to exec is part of the following run.
 */
#ifndef HP_REPORT_SECTION_THREAD_PROCESS_H
#define HP_REPORT_SECTION_THREAD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/report.h"

struct hp_program {
	const char *name;
	uint64_t runs;
	uint64_t running;	/* of them */
	uint64_t failed;	/* exit code other than 0, or killed by a signal */
	uint64_t unknown;	/* nobody recorded how they ended */
	uint64_t dropped;	/* dropped rights, and continued in another segment */
	uint64_t again;	/* images that did so, in their later segment; not in `runs` */
	uint64_t folded_again;	/* of them, those without a pid */
	uint64_t elsewhere;	/* of `dropped`: the rest is in a segment that is not here */
	uint64_t unmeasured;	/* did not record their CPU time and memory at their end */
	int32_t status;	/* of one that failed, as from wait() */
	uint64_t wall_ns;	/* the sum of their lifetimes */
	uint64_t root_runs;	/* of them, the session's first process, which started the others */
	uint64_t root_wall_ns;
	uint64_t cpu_ns;
	double cpu_percent;	/* of the total of all programs, with `missing_ns` */
	uint64_t peak_rss_bytes;	/* of the largest; 0 = unknown */
	uint64_t minor_faults;
	uint64_t major_faults;
	bool is_cpu_least;	/* cpu_ns and faults are without some of them */
	bool is_peak_least;
};

struct hp_programs {
	struct hp_program *rows;	/* most CPU time first */
	size_t count;
	uint64_t runs;
	uint64_t cpu_ns;
	uint64_t unrecorded;	/* images of which only the start is known */
	uint64_t missing_ns;	/* CPU time of children that is in no row; below the resolution it is 0 */
	uint64_t ends_ns;	/* the same, as much as processes take after recording their end */
	bool is_missing_known;
};

/* Lives as long as the report. */
const struct hp_programs *hp_programs_of(struct hp_report *report);

#endif
