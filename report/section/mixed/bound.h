/* SPDX-License-Identifier: MIT */
/*
 * bound.h - the bottleneck of each function: CPU, waits and allocations side by
 * side, and a verdict.
 *
 * Time belongs to the innermost instrumented function on its stack; if none is
 * instrumented, to the innermost one that is neither the C library's nor an
 * allocator's (with HOTPATH_CPU_INCLUSIVE to each function on it). Samples in
 * this library are the profiler's cost and nobody's CPU time.
 *
 * Folder: report/section/mixed - sections that join several subjects, and
 *   those that nothing fills yet
 * May use: report/base report/elf report/name report/section/core
 *   report/section/cpu report/section/memory report/section/wait
 *   segment/layout util
 */
#ifndef HP_REPORT_SECTION_MIXED_BOUND_H
#define HP_REPORT_SECTION_MIXED_BOUND_H

#include <cjson/cJSON.h>

#include "report/section/core/section.h"

#define HP_BOUND_CAUSES 32	/* kinds of things that threads wait for */

enum hp_bound_word {
	HP_BOUND_UNKNOWN = 0,	/* too little to say */
	HP_BOUND_CPU,
	HP_BOUND_ALLOCATION,	/* CPU, a third or more of it inside the allocator */
	HP_BOUND_MEMORY,	/* CPU, half of it or more waiting for memory */
	HP_BOUND_WAITING,
	HP_BOUND_MIXED,
};

struct hp_bound_row {
	uint32_t function;	/* place in hp_cpu.functions; HP_NONE = the stack is not known */
	double wall_ns;	/* < 0 = not known */
	uint64_t cpu_ns;	/* without the profiler's */
	uint64_t samples;
	uint64_t profiler_ns;	/* the profiler's CPU on its behalf */
	uint64_t allocator_ns;	/* of cpu_ns: inside the allocator */
	uint64_t counted_ns;	/* of cpu_ns: the processor's counters reveal its kind */
	uint64_t memory_ns;	/* of counted_ns: waiting for memory */
	uint64_t blocked_ns;
	uint64_t blocked_on[HP_BOUND_CAUSES];	/* beside hp_bound.causes */
	uint64_t blocks;	/* allocated */
	uint64_t bytes;
};

struct hp_bound {
	struct hp_bound_row *rows;	/* of each function of hp_cpu, then one of HP_NONE */
	size_t count;
	const char *causes[HP_BOUND_CAUSES];
	size_t cause_count;
	bool has_allocations;
};

/* From the row's numbers only; the limits are in doc/internals/cpu.md. */
enum hp_bound_word hp_bound_word(const struct hp_bound_row *row);

/* Made on first request. */
struct hp_bound *hp_report_bound(struct hp_report *report);

/* Adds allocations to the rows (bound_alloc.c). */
void hp_bound_add_allocations(struct hp_report *report, struct hp_bound *bound);

const char *hp_bound_note(struct hp_report *report);

#endif
