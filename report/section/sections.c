/* SPDX-License-Identifier: MIT */
/*
 * sections.c - the table of sections, and which of them are shown.
 */
#include "report/section/sections.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/memory/section.h"
#include "report/section/mixed/bound.h"
#include "report/section/channel/section.h"
#include "report/section/cpu/cpu.h"
#include "report/section/timing/function.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/offcpu.h"
#include "report/section/thread/thread.h"

/* --- the table --- */

#define LOCKS(name_, list, prefix, why_empty) \
	{ \
		.key = name_, .json = name_, .route = "/" name_, .name = name_, .columns = (list), \
		.is_quiet = true, .describe = prefix##_describe, .fill = prefix##_fill, \
		.has_data = prefix##_has_data, .empty = (why_empty) \
	}

const struct hp_section hp_section_table[] = {
	{ .key = "functions-timing",
	  .json = "functions_timing",
	  .route = "/functions_timing",
	  .name = "timing",
	  .columns = hp_function_columns,
	  .is_on_top = true,
	  .describe = hp_functions_describe,
	  .fill = hp_functions_fill,
	  .empty = hp_functions_empty },
	{ .key = "calltree",
	  .json = "calltree",
	  .route = "/calltree",
	  .name = "calltree",
	  .columns = hp_path_columns,
	  .describe = hp_path_describe,
	  .fill = hp_path_fill,
	  .has_data = hp_path_has_data,
	  .empty = hp_functions_empty },
	{ .key = "functions-alloc",
	  .json = "functions_alloc",
	  .route = "/functions_alloc",
	  .name = "alloc",
	  .columns = hp_alloc_function_columns,
	  .is_on_top = true,
	  .describe = hp_alloc_functions_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_functions_fill,
	  .has_data = hp_alloc_has_data,
	  .empty = hp_alloc_empty },
	{ .key = "alloc-callers",
	  .json = "alloc_callers",
	  .route = "/alloc_callers",
	  .name = "alloc-callers",
	  .columns = hp_alloc_function_columns,
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
	  .columns = hp_alloc_site_columns,
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
	  .columns = hp_leak_columns,
	  .describe = hp_leaks_describe,
	  .note = hp_leaks_note,
	  .fill = hp_leaks_fill,
	  .has_data = hp_leaks_has_data,
	  .empty = hp_leaks_empty },
	{ .key = "alloc-sizes",
	  .json = "alloc_sizes",
	  .route = "/alloc_sizes",
	  .name = "alloc-sizes",
	  .columns = hp_size_columns,
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
	  .columns = hp_life_columns,
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
	  .columns = hp_direct_columns,
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
	  .is_quiet = true,
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
	  .is_quiet = true,
	  .describe = hp_latency_describe,
	  .fill = hp_latency_fill,
	  .has_data = hp_latency_has_data,
	  .empty = hp_channels_empty },
	{ .key = "streams", .json = "streams", .route = "/streams", .name = "streams" },
	{ .key = "futures", .json = "futures", .route = "/futures", .name = "futures" },
	LOCKS("rw_locks", hp_rwlock_columns, hp_rw_locks, hp_locks_empty),
	LOCKS("mutexes", hp_mutex_columns, hp_mutexes, hp_locks_empty),
	LOCKS("conds", hp_cond_columns, hp_conds, hp_locks_empty),
	LOCKS("sems", hp_sem_columns, hp_sems, hp_locks_empty),
	LOCKS("barriers", hp_barrier_columns, hp_barriers, hp_locks_empty),
	LOCKS("file_locks", hp_file_lock_columns, hp_file_locks, hp_locks_empty),
	{ .key = "waits",
	  .json = "waits",
	  .route = "/waits",
	  .name = "waits",
	  .columns = hp_wait_columns,
	  .is_quiet = true,
	  .is_on_top = true,
	  .describe = hp_waits_describe,
	  .fill = hp_waits_fill,
	  .has_data = hp_waits_has_data,
	  .empty = hp_waits_empty },
	LOCKS("lock_order", hp_order_columns, hp_lock_order, hp_lock_order_empty),
	LOCKS("waiting", hp_waiting_columns, hp_waiting, hp_waiting_empty),
	{ .key = "sql", .json = "sql", .route = "/sql", .name = "sql" },
	{ .key = "http", .json = "http", .route = "/http", .name = "http" },
	{ .key = "server", .json = "server", .route = "/server", .name = "server" },
	{ .key = "io", .json = "io", .route = "/io", .name = "io" },
	{ .key = "threads",
	  .json = "threads",
	  .route = "/threads",
	  .name = "threads",
	  .columns = hp_thread_columns,
	  .describe = hp_threads_describe,
	  .note = hp_threads_note,
	  .fill = hp_threads_fill,
	  .empty = hp_threads_empty },
	{ .key = "thread-states",
	  .json = "thread_states",
	  .route = "/thread_states",
	  .name = "thread-states",
	  .columns = hp_thread_state_columns,
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

/* --- which are shown --- */

struct speaker {
	hp_complain complain;
	void *context;
};

static void say(const struct speaker *speaker, char *line)
{
	if (speaker->complain)
		speaker->complain(speaker->context, line);
	free(line);
}

static size_t section_named(const char *name, size_t length)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_section_is(name, length, hp_section_table[i].key))
			return i;
	return hp_section_count;
}

/* Everything that has data; `all`: everything that is recorded. */
static void set_many(struct hp_report *report, bool is_all)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = &hp_section_table[i];

		report->is_shown[i] =
			section->columns && ((is_all && !section->is_quiet) || !section->has_data ||
					     section->has_data(report));
	}
}

static void say_unknown(const char *word, size_t length, const struct speaker *speaker)
{
	char *line = hp_xprintf("Unknown report section: '%.*s'; there are", (int)length, word);

	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = &hp_section_table[i];
		char *longer;

		if (!section->columns || section->with)
			continue;
		longer = hp_xprintf("%s%s %s", line, i ? "," : "", section->key);
		free(line);
		line = longer;
	}
	say(speaker, line);
}

/* One word of HOTPATH_REPORT. */
static void choose_word(struct hp_report *report, const char *word, size_t length,
			const struct speaker *speaker)
{
	bool is_out = length && *word == '-';
	size_t section;

	word += is_out, length -= is_out;
	if ((length == 3 && memcmp(word, "all", 3) == 0) ||
	    (length == 4 && memcmp(word, "auto", 4) == 0)) {
		set_many(report, length == 3);
		return;
	}
	section = section_named(word, length);
	if (section == hp_section_count)
		say_unknown(word, length, speaker);
	else if (!is_out && !hp_section_table[section].columns)
		say(speaker, hp_xprintf("report section '%.*s' is not recorded by this version",
					(int)length, word));
	else
		report->is_shown[section] = !is_out;
}

/* Second tables come with their first, if there is something in them. */
static void choose_more(struct hp_report *report)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const char *with = hp_section_table[i].with;

		if (with)
			report->is_shown[i] = report->is_shown[section_named(with, strlen(with))] &&
					      hp_section_table[i].has_data(report);
	}
}

/* `-threads` alone is short for `auto,-threads`. */
static void choose_sections(struct hp_report *report, const struct speaker *speaker)
{
	const char *spec = report->settings->report ? report->settings->report : "auto";

	spec += strspn(spec, " ,");
	if (*spec == '-')
		set_many(report, false);
	while (*spec) {
		size_t length = strcspn(spec, ",");
		size_t word = length;

		while (word && spec[word - 1] == ' ')
			word--;
		if (word)
			choose_word(report, spec, word, speaker);
		spec += length;
		spec += strspn(spec, " ,");
	}
	choose_more(report);
}

void hp_report_choose(struct hp_report *report)
{
	choose_sections(report, &(const struct speaker){ NULL, NULL });
}

void hp_report_init(struct hp_report *report, struct hp_segment *segment,
		    const struct hp_settings *settings, hp_complain complain, void *context)
{
	static const struct hp_record none = { .legend = NULL };

	hp_report_init_record(report, segment, &none, settings, complain, context);
}

void hp_report_init_record(struct hp_report *report, struct hp_segment *segment,
			   const struct hp_record *record, const struct hp_settings *settings,
			   hp_complain complain, void *context)
{
	hp_report_begin(report, segment, record, settings);
	if (!record->is_lazy)
		choose_sections(report, &(const struct speaker){ complain, context });
	hp_report_settle(report, complain, context);
}
