/* SPDX-License-Identifier: MIT */
/*
 * build.h - finds the functions of samples, across refreshes: shared by cpu.c
 * and sum.c.
 */
#ifndef HP_REPORT_SECTION_CPU_BUILD_H
#define HP_REPORT_SECTION_CPU_BUILD_H

#include "report/section/cpu/cpu.h"
#include "report/name/kernel.h"
#include "report/base/map.h"

struct hp_cpu_build {
	struct hp_cpu *cpu;
	struct hp_map by_name;	/* hash of object and name -> place in cpu->functions */
	struct hp_map by_place;	/* hash of object and address -> place in cpu->places + 1 */
	char **raw;	/* parallel to cpu->functions: names as in the files */
	size_t function_room;
	size_t raw_room;
	size_t frame_room;
	size_t place_room;
	uint32_t *pending;	/* places to be requested again */
	size_t pending_count;
	size_t pending_room;
	uint32_t generation;	/* of the stacks */
	size_t stack_count;	/* that are known: */
	uint32_t *owners;	/* by stack: the function that its own time belongs to; HP_NONE = none */
	uint32_t *outer;	/* by stack: a bit for each frame whose function is not further out again */
	uint32_t *ups;	/* by stack: the first one outward, itself included, that has such a frame */
	bool has_functions;
	bool is_lasting;	/* texts belong to a resolver, not to one refresh's symbols */

	/* Of this look. */
	struct hp_report *report;
	struct hp_map by_code;	/* hash of object and address -> place in model->functions */
	struct hp_names names;	/* of the current object, if it is not a file */
	uint32_t named;	/* that object */
	uint32_t *same;	/* of each object: the first that is the same file */
	bool is_stale;	/* places have changed their functions: `owners` and `outer` are rebuilt */
};

/* Sums up the stacks: those after `stack_count` are new. */
void hp_cpu_sum(struct hp_cpu_build *b);

#endif
