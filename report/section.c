/* SPDX-License-Identifier: MIT */
/*
 * section.c - the table of sections, and how many rows of each are shown.
 */
#include "report/section.h"

#include "report/alloc_section.h"
#include "report/bound.h"
#include "report/channel_section.h"
#include "report/cpu.h"
#include "report/function_section.h"
#include "report/lock_section.h"
#include "report/offcpu.h"
#include "report/thread.h"

/* Most specific first: HOTPATH_<SECTION>_LIMIT, HOTPATH_LIMIT, built-in; 0 = all. */
static size_t limit_of(const struct hp_report *report, uint64_t own, size_t usual)
{
	uint64_t limit = own != HP_LIMIT_UNSET ? own : report->settings->limit;

	if (limit == HP_LIMIT_UNSET)
		limit = usual;
	return limit ? (size_t)limit : SIZE_MAX;
}

void hp_list_cut(struct hp_list *list, const struct hp_report *report, uint64_t own, size_t usual)
{
	size_t limit = limit_of(report, own, usual);

	list->shown = list->total < limit ? list->total : limit;
}

/* --- the table --- */

#define COLUMNS(list) .columns = (list), .column_count = sizeof(list) / sizeof((list)[0])

#define LOCKS(name_, list, count, prefix, why_empty) \
	{ \
		.key = name_, .json = name_, .route = "/" name_, .name = name_, .columns = (list), \
		.column_count = (count), .is_quiet = true, .describe = prefix##_describe, \
		.fill = prefix##_fill, .has_data = prefix##_has_data, .empty = (why_empty) \
	}

const struct hp_section hp_section_table[] = {
	{ .key = "functions-timing",
	  .json = "functions_timing",
	  .route = "/functions_timing",
	  .name = "timing",
	  COLUMNS(hp_function_columns),
	  .is_on_top = true,
	  .describe = hp_functions_describe,
	  .fill = hp_functions_fill,
	  .empty = hp_functions_empty },
	{ .key = "calltree",
	  .json = "calltree",
	  .route = "/calltree",
	  .name = "calltree",
	  COLUMNS(hp_path_columns),
	  .describe = hp_path_describe,
	  .fill = hp_path_fill,
	  .has_data = hp_path_has_data,
	  .empty = hp_functions_empty },
	{ .key = "functions-alloc",
	  .json = "functions_alloc",
	  .route = "/functions_alloc",
	  .name = "alloc",
	  COLUMNS(hp_alloc_function_columns),
	  .describe = hp_alloc_functions_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_functions_fill,
	  .has_data = hp_alloc_has_data,
	  .empty = hp_alloc_empty },
	{ .key = "alloc-callers",
	  .json = "alloc_callers",
	  .route = "/alloc_callers",
	  .name = "alloc-callers",
	  COLUMNS(hp_alloc_function_columns),
	  .is_quiet = true,
	  .describe = hp_alloc_callers_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_callers_fill,
	  .has_data = hp_alloc_callers_has_data,
	  .empty = hp_alloc_empty },
	{ .key = "alloc-sites",
	  .json = "alloc_sites",
	  .route = "/alloc_sites",
	  .name = "alloc-sites",
	  COLUMNS(hp_alloc_site_columns),
	  .describe = hp_alloc_sites_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_sites_fill,
	  .has_data = hp_alloc_has_data,
	  .empty = hp_alloc_empty,
	  .after = hp_alloc_sites_after },
	{ .key = "leaks",
	  .json = "leaks",
	  .route = "/leaks",
	  .name = "leaks",
	  COLUMNS(hp_leak_columns),
	  .describe = hp_leaks_describe,
	  .note = hp_leaks_note,
	  .fill = hp_leaks_fill,
	  .has_data = hp_leaks_has_data,
	  .empty = hp_leaks_empty },
	{ .key = "alloc-sizes",
	  .json = "alloc_sizes",
	  .route = "/alloc_sizes",
	  .name = "alloc-sizes",
	  COLUMNS(hp_size_columns),
	  .is_quiet = true,
	  .describe = hp_block_sizes_describe,
	  .fill = hp_block_sizes_fill,
	  .has_data = hp_blocks_has_data,
	  .empty = hp_blocks_empty,
	  .after = hp_blocks_after },
	{ .key = "alloc-lives",
	  .json = "alloc_lives",
	  .route = "/alloc_lives",
	  .name = "alloc-lives",
	  COLUMNS(hp_life_columns),
	  .is_quiet = true,
	  .describe = hp_block_lives_describe,
	  .fill = hp_block_lives_fill,
	  .has_data = hp_blocks_has_data,
	  .empty = hp_blocks_empty,
	  .after = hp_blocks_after },
	{ .key = "direct-maps",
	  .json = "direct_maps",
	  .route = "/direct_maps",
	  .name = "direct-maps",
	  COLUMNS(hp_direct_columns),
	  .is_quiet = true,
	  .describe = hp_direct_maps_describe,
	  .note = hp_direct_maps_note,
	  .fill = hp_direct_maps_fill,
	  .has_data = hp_direct_maps_has_data,
	  .empty = hp_direct_maps_empty,
	  .after = hp_direct_maps_after },
	{ .key = "functions-cpu",
	  .json = "functions_cpu",
	  .route = "/functions_cpu",
	  .name = "cpu",
	  .columns = hp_cpu_columns,
	  .column_count = HP_CPU_COLUMNS,
	  .is_on_top = true,
	  .describe = hp_cpu_describe,
	  .note = hp_cpu_note,
	  .fill = hp_cpu_fill,
	  .has_data = hp_cpu_has_data,
	  .empty = hp_cpu_empty,
	  .after = hp_cpu_after,
	  .is_failed = hp_cpu_is_failed },
	{ .key = "offcpu",
	  .json = "offcpu",
	  .route = "/offcpu",
	  .name = "offcpu",
	  .columns = hp_offcpu_columns,
	  .column_count = HP_OFFCPU_COLUMNS,
	  .is_on_top = true,
	  .describe = hp_offcpu_describe,
	  .note = hp_offcpu_note,
	  .fill = hp_offcpu_fill,
	  .has_data = hp_offcpu_has_data,
	  .empty = hp_offcpu_empty },
	{ .key = "bound",
	  .json = "bound",
	  .route = "/bound",
	  .name = "bound",
	  .columns = hp_bound_columns,
	  .column_count = HP_BOUND_COLUMNS,
	  .is_quiet = true,
	  .is_on_top = true,
	  .describe = hp_bound_describe,
	  .note = hp_bound_note,
	  .fill = hp_bound_fill,
	  .has_data = hp_bound_has_data,
	  .empty = hp_bound_empty },
	{ .key = "channels",
	  .json = "channels",
	  .route = "/channels",
	  .name = "channels",
	  .columns = hp_channel_columns,
	  .column_count = HP_CHANNEL_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_channels_describe,
	  .note = hp_channels_note,
	  .fill = hp_channels_fill,
	  .has_data = hp_channels_has_data,
	  .empty = hp_channels_empty },
	{ .key = "channels-latency",
	  .with = "channels",
	  .json = "",
	  .route = "",
	  .name = "channels latency",
	  .columns = hp_latency_columns,
	  .column_count = HP_LATENCY_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_latency_describe,
	  .fill = hp_latency_fill,
	  .has_data = hp_latency_has_data,
	  .empty = hp_channels_empty },
	{ .key = "streams", .json = "streams", .route = "/streams", .name = "streams" },
	{ .key = "futures", .json = "futures", .route = "/futures", .name = "futures" },
	LOCKS("rw_locks", hp_rwlock_columns, HP_RWLOCK_COLUMNS, hp_rw_locks, hp_locks_empty),
	LOCKS("mutexes", hp_mutex_columns, HP_MUTEX_COLUMNS, hp_mutexes, hp_locks_empty),
	LOCKS("conds", hp_cond_columns, HP_COND_COLUMNS, hp_conds, hp_locks_empty),
	LOCKS("sems", hp_sem_columns, HP_SEM_COLUMNS, hp_sems, hp_locks_empty),
	LOCKS("barriers", hp_barrier_columns, HP_BARRIER_COLUMNS, hp_barriers, hp_locks_empty),
	LOCKS("file_locks", hp_file_lock_columns, HP_FILE_LOCK_COLUMNS, hp_file_locks,
	      hp_locks_empty),
	LOCKS("waits", hp_wait_columns, HP_WAIT_COLUMNS, hp_waits, hp_waits_empty),
	LOCKS("lock_order", hp_order_columns, HP_ORDER_COLUMNS, hp_lock_order, hp_lock_order_empty),
	LOCKS("waiting", hp_waiting_columns, HP_WAITING_COLUMNS, hp_waiting, hp_waiting_empty),
	{ .key = "sql", .json = "sql", .route = "/sql", .name = "sql" },
	{ .key = "http", .json = "http", .route = "/http", .name = "http" },
	{ .key = "server", .json = "server", .route = "/server", .name = "server" },
	{ .key = "io", .json = "io", .route = "/io", .name = "io" },
	{ .key = "threads",
	  .json = "threads",
	  .route = "/threads",
	  .name = "threads",
	  COLUMNS(hp_thread_columns),
	  .is_on_top = true,
	  .describe = hp_threads_describe,
	  .note = hp_threads_note,
	  .fill = hp_threads_fill,
	  .empty = hp_threads_empty },
	{ .key = "thread-states",
	  .json = "thread_states",
	  .route = "/thread_states",
	  .name = "thread-states",
	  .columns = hp_thread_state_columns,
	  .column_count = HP_THREAD_STATE_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_thread_states_describe,
	  .fill = hp_thread_states_fill,
	  .has_data = hp_thread_states_has_data,
	  .empty = hp_thread_states_empty },
	{ .key = "debug", .json = "debug", .route = "/debug", .name = "debug" },
};

const size_t hp_section_count = sizeof(hp_section_table) / sizeof(hp_section_table[0]);

static_assert(sizeof(hp_section_table) / sizeof(hp_section_table[0]) <= HP_SECTIONS_MOST,
	      "struct hp_report has a flag for each");
