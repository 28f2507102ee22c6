/* SPDX-License-Identifier: MIT */
/*
 * section_key.h - the list of all sections, and their keys.
 *
 * The definitions are in report/section. The library and the sampler are in
 * lower layers, but must know which words of HOTPATH_REPORT name a section and
 * what some of them record; test/unit/report_section_test.c compares the keys
 * with the definitions.
 */
#ifndef HP_SEGMENT_SECTION_KEY_H
#define HP_SEGMENT_SECTION_KEY_H

#define HP_KEY_FINDINGS "findings"
#define HP_KEY_FUNCTIONS_ALLOC "functions-alloc"
#define HP_KEY_ALLOC_CALLERS "alloc-callers"
#define HP_KEY_ALLOC_SITES "alloc-sites"
#define HP_KEY_ALLOC_SIZES "alloc-sizes"
#define HP_KEY_ALLOC_LIVES "alloc-lives"
#define HP_KEY_LEAKS "leaks"
#define HP_KEY_DIRECT_MAPS "direct-maps"
#define HP_KEY_FUNCTIONS_CPU "functions-cpu"
#define HP_KEY_OFFCPU "offcpu"
#define HP_KEY_BOUND "bound"
#define HP_KEY_CHANNELS "channels"
#define HP_KEY_RW_LOCKS "rw_locks"
#define HP_KEY_MUTEXES "mutexes"
#define HP_KEY_CONDS "conds"
#define HP_KEY_SEMS "sems"
#define HP_KEY_BARRIERS "barriers"
#define HP_KEY_FILE_LOCKS "file_locks"
#define HP_KEY_WAITS "waits"
#define HP_KEY_LOCK_ORDER "lock_order"
#define HP_KEY_WAITING "waiting"
#define HP_KEY_LOOPS "tokio_runtime"
#define HP_KEY_POOLS "pools"
#define HP_KEY_STREAMS "streams"
#define HP_KEY_FUTURES "futures"
#define HP_KEY_THREADS "threads"
#define HP_KEY_THREAD_STATES "thread-states"
#define HP_KEY_PROCESSES "processes"
#define HP_KEY_DEBUG "debug"

/*
 * All sections, in the order of the report: each hp_NAME_section with its key.
 * LATER are known by name but not implemented yet.  A new section takes a file
 * with its definition and a line here.
 */
#define HP_SECTION_LIST(NOW, LATER) \
	NOW(findings, HP_KEY_FINDINGS) \
	NOW(functions, "functions-timing") \
	NOW(calltree, "calltree") \
	NOW(alloc_functions, HP_KEY_FUNCTIONS_ALLOC) \
	NOW(alloc_callers, HP_KEY_ALLOC_CALLERS) \
	NOW(alloc_sites, HP_KEY_ALLOC_SITES) \
	NOW(leaks, HP_KEY_LEAKS) \
	NOW(alloc_sizes, HP_KEY_ALLOC_SIZES) \
	NOW(alloc_lives, HP_KEY_ALLOC_LIVES) \
	NOW(direct_maps, HP_KEY_DIRECT_MAPS) \
	NOW(cpu, HP_KEY_FUNCTIONS_CPU) \
	NOW(offcpu, HP_KEY_OFFCPU) \
	NOW(bound, HP_KEY_BOUND) \
	NOW(channels, HP_KEY_CHANNELS) \
	NOW(channels_latency, "channels-latency") \
	NOW(streams, HP_KEY_STREAMS) \
	NOW(futures, HP_KEY_FUTURES) \
	NOW(rw_locks, HP_KEY_RW_LOCKS) \
	NOW(mutexes, HP_KEY_MUTEXES) \
	NOW(conds, HP_KEY_CONDS) \
	NOW(sems, HP_KEY_SEMS) \
	NOW(barriers, HP_KEY_BARRIERS) \
	NOW(file_locks, HP_KEY_FILE_LOCKS) \
	NOW(waits, HP_KEY_WAITS) \
	NOW(lock_order, HP_KEY_LOCK_ORDER) \
	NOW(waiting, HP_KEY_WAITING) \
	LATER(sql, "sql") \
	LATER(http, "http") \
	LATER(server, "server") \
	LATER(io, "io") \
	NOW(processes, HP_KEY_PROCESSES) \
	NOW(threads, HP_KEY_THREADS) \
	NOW(thread_states, HP_KEY_THREAD_STATES) \
	NOW(loops, HP_KEY_LOOPS) \
	NOW(loop_spans, "loop-spans") \
	NOW(pools, HP_KEY_POOLS) \
	NOW(debug, HP_KEY_DEBUG)

#endif
