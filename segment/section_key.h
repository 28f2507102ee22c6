/* SPDX-License-Identifier: MIT */
/*
 * section_key.h - keys of sections by which it is decided what is recorded.
 *
 * A section's key stands in its definition, in report/section.  The library and the
 * sampler, which lie below that, ask the settings for some: those are here, and
 * test/unit/report_section_test.c compares them with the definitions.
 */
#ifndef HP_SEGMENT_SECTION_KEY_H
#define HP_SEGMENT_SECTION_KEY_H

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
#define HP_KEY_THREADS "threads"
#define HP_KEY_THREAD_STATES "thread-states"

/* All of them: what HOTPATH_REPORT may name, beside `auto` and `all`. */
#define HP_KEYS \
	"functions-timing|calltree|" HP_KEY_FUNCTIONS_ALLOC "|" HP_KEY_ALLOC_CALLERS \
	"|" HP_KEY_ALLOC_SITES "|" HP_KEY_LEAKS "|" HP_KEY_ALLOC_SIZES "|" HP_KEY_ALLOC_LIVES \
	"|" HP_KEY_DIRECT_MAPS "|" HP_KEY_FUNCTIONS_CPU "|" HP_KEY_OFFCPU "|" HP_KEY_BOUND \
	"|" HP_KEY_CHANNELS "|channels-latency|" HP_KEY_RW_LOCKS "|" HP_KEY_MUTEXES \
	"|" HP_KEY_CONDS "|" HP_KEY_SEMS "|" HP_KEY_BARRIERS "|" HP_KEY_FILE_LOCKS \
	"|" HP_KEY_WAITS "|" HP_KEY_LOCK_ORDER "|" HP_KEY_WAITING "|" HP_KEY_THREADS \
	"|" HP_KEY_THREAD_STATES

/* Those that are known by name, and that nothing fills yet. */
#define HP_KEYS_ABSENT "streams|futures|sql|http|server|io|debug"

#endif
