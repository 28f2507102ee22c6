/* SPDX-License-Identifier: MIT */
/*
 * list.h - the list of all sections, in the order of the report.
 *
 * A new one is a file with its definition, and a line here.
 */
#ifndef HP_REPORT_SECTION_CORE_LIST_H
#define HP_REPORT_SECTION_CORE_LIST_H

#include "report/section/core/section.h"

/* Each hp_NAME_section. */
#define HP_SECTIONS(X) \
	X(functions) \
	X(calltree) \
	X(alloc_functions) \
	X(alloc_callers) \
	X(alloc_sites) \
	X(leaks) \
	X(alloc_sizes) \
	X(alloc_lives) \
	X(direct_maps) \
	X(cpu) \
	X(offcpu) \
	X(bound) \
	X(channels) \
	X(channels_latency) \
	X(streams) \
	X(futures) \
	X(rw_locks) \
	X(mutexes) \
	X(conds) \
	X(sems) \
	X(barriers) \
	X(file_locks) \
	X(waits) \
	X(lock_order) \
	X(waiting) \
	X(sql) \
	X(http) \
	X(server) \
	X(io) \
	X(threads) \
	X(thread_states) \
	X(debug)

#define HP_SECTION_EXTERN(name) extern const struct hp_section hp_##name##_section;
HP_SECTIONS(HP_SECTION_EXTERN)
#undef HP_SECTION_EXTERN

#endif
