/* SPDX-License-Identifier: MIT */
/*
 * cpu.h - samples by function: the functions on the CPU, and their callers.
 *
 * Every place of the tree of stacks becomes one or several functions: those that
 * were inlined there, and the function itself.  Parts that a compiler split
 * off (NAME.cold, NAME.part.0) are counted as NAME.
 *
 * Folder: report/section/cpu - CPU samples: by function, and by line
 *   of one function
 * May use: report/base report/elf report/name report/read report/section/core
 *   segment/layout util
 */
#ifndef HP_REPORT_SECTION_CPU_CPU_H
#define HP_REPORT_SECTION_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/report.h"
#include "report/section/core/section.h"

#define HP_CPU_ANONYMOUS "[made at run time]"	/* name of code of a JIT compiler without names */

struct hp_cpu_function {
	char *name;	/* as shown to people */
	uint32_t object;	/* HP_NONE = none */
	uint32_t instrumented;	/* place in the model's functions; HP_NONE = it is not */
	uint64_t self_ns;	/* of samples: innermost, or innermost of the instrumented ones */
	uint64_t self_samples;
	uint64_t total_ns;	/* of samples that have it on the stack */
	uint64_t total_samples;
	uint8_t cause;	/* report/section/wait/offcpu.c's: the waits' cause according to its name; 0 = not determined */
	uint8_t fit;	/* kept for report/section/wait/offcpu_place.c, the same */
};

/* A function at a place, and the place's source location. */
struct hp_cpu_frame {
	uint32_t function;
	int line;
	const char *file;	/* NULL = not known */
};

/* An address of an object that is on some stack: its frames, the innermost first. */
struct hp_cpu_place {
	uint32_t object;	/* the first of those that are the same file; HP_NONE = none */
	uint32_t first;	/* in the list of frames */
	uint32_t count;
	uint64_t address;
	uint64_t start;	/* of the symbol that holds it; 0 = not known */
	uint32_t inner;	/* of the profiler's code, which has one name: the frames that were found, */
	uint32_t inner_count;	/* and how many; 0 = it is not hidden */
	bool is_pending;	/* its names may still be found, or change */
};

struct hp_cpu_build;

/*
 * Functions, frames and places keep their positions from refresh to refresh;
 * sums are rebuilt. A function may have nothing left, if a place has changed
 * its function.
 */
struct hp_cpu {
	struct hp_cpu_build *build;	/* needed at the next refresh */
	struct hp_cpu_function *functions;
	size_t function_count;
	struct hp_cpu_frame *frames;
	size_t frame_count;
	struct hp_cpu_place *places;
	size_t place_count;
	uint32_t *of_stack;	/* place of each stack of the model; [0] is unused */
	uint64_t total_ns;	/* of the program's, */
	uint64_t total_samples;
	uint64_t attributed_ns;	/* to functions that are rows; */
	uint64_t profiler_ns;	/* and of the profiler in the program's threads, unless it is shown */
	uint64_t profiler_samples;
	uint32_t profiler;	/* the function [hotpath]; HP_NONE = none exists */
};

/* The frames of a place as found. */
static inline const struct hp_cpu_frame *hp_cpu_found(const struct hp_cpu *cpu,
						      const struct hp_cpu_place *place,
						      uint32_t *count)
{
	*count = place->inner_count ? place->inner_count : place->count;
	return &cpu->frames[place->inner_count ? place->inner : place->first];
}

/* Its name in tables: the program's main has a different one. */
const char *hp_cpu_name(struct hp_report *report, const struct hp_cpu_function *function);

/* Made on first request. */
struct hp_cpu *hp_report_cpu(const struct hp_report *report);

/* The function whose own time the samples of a stack are; HP_NONE = none. */
uint32_t hp_cpu_owner(const struct hp_report *report, uint32_t stack);

/* True if it was requested. */
bool hp_cpu_is_made(const struct hp_report *report);

/* For the section of waits, too. */
bool hp_cpu_has_data(const struct hp_report *report);
/*
 * CPU time of the program without samples, ns; 0 = insignificant (5 %, and 20 ms), or
 * nobody sampled.
 */
uint64_t hp_cpu_missed_ns(const struct hp_report *report);

/* The part of the program's CPU time that no sample stands for, 0 to 1. It may be any function's. */
double hp_cpu_missed_part(const struct hp_report *report);

/*
 * Half of the 95 % interval of a share `p` of `n` samples as a share of the CPU time, if a part
 * `missed` of that has no sample. A part that is small against the error of the samples does not
 * count.
 */
double hp_cpu_share_error(double p, double n, double missed);

/* No share has a larger one. */
double hp_cpu_share_error_most(double n, double missed);

const char *hp_cpu_empty(struct hp_report *report);
/* Path of this run's profile, ours or samply's; NULL = none exists. */
const char *hp_cpu_profile(const struct hp_report *report);

#endif
