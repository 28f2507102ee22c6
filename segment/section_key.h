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

#endif
