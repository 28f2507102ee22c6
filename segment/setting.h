/* SPDX-License-Identifier: MIT */
/*
 * setting.h - the HOTPATH_* variables: one table for all processes.
 *
 * The library reads them once inside the target and prints a warning for each
 * invalid value; the sampler and the commands read the same environment
 * silently.  The flags of the commands go through the same checks, and help and
 * manual print the same table.  Order everywhere: flag, environment, the
 * program's own defaults (HOTPATH_DEFAULTS in its source), built-in.
 *
 * Used inside the target: no malloc, no stdio, no locale, no system call.  Texts
 * are not copied: they point into the environment that was read.
 */
#ifndef HP_SEGMENT_SETTING_H
#define HP_SEGMENT_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_PERCENTILES_MAX 16
#define HP_SETTINGS_MAX 96	/* variables; the table is checked against it */

/* The type of a variable: how it is checked and stored in hp_settings. */
enum hp_setting_kind {
	HP_SETTING_CHOICE,	/* one of some words -> uint32_t, the word's place in `allowed` */
	HP_SETTING_BOOL,	/* 1, true, 0, false, empty -> uint32_t */
	HP_SETTING_COUNT,	/* least..most -> uint64_t */
	HP_SETTING_SIZE,	/* the same with K, M, G after it */
	HP_SETTING_TEXT,	/* anything -> const char *, NULL = not set or empty */
	HP_SETTING_PAIRS,	/* key=value,key=value -> const char *, as TEXT */
	HP_SETTING_SECTIONS,	/* names of sections -> const char *, as TEXT */
	HP_SETTING_PERCENTILES,	/* 50,99.9 -> struct hp_percentiles */
	HP_SETTING_ADDRESS,	/* IPv4 or IPv6 as numbers, or localhost -> const char * */
	HP_SETTING_TOKEN,	/* printable ASCII without blanks -> const char *, as TEXT */
	HP_SETTING_BUCKETS,	/* ascending seconds -> const char *, as TEXT */
	HP_SETTING_LIBRARIES,	/* names out of HP_LIBRARIES -> const char *, as TEXT */
};

enum hp_output_format {
	HP_FORMAT_TABLE = 0,
	HP_FORMAT_JSON,
	HP_FORMAT_JSON_PRETTY,
	HP_FORMAT_NONE,
};

enum hp_unwind { HP_UNWIND_AUTO = 0, HP_UNWIND_CFI, HP_UNWIND_FP };
enum hp_alloc_metric {
	HP_ALLOC_BYTES = 0,
	HP_ALLOC_COUNT,
	HP_ALLOC_BYTES_MAX,
	HP_ALLOC_COUNT_MAX,
};

enum hp_cpu_source { HP_CPU_AUTO = 0, HP_CPU_PERF, HP_CPU_TIMER, HP_CPU_SAMPLY, HP_CPU_OFF };
enum hp_color { HP_COLOR_AUTO = 0, HP_COLOR_ALWAYS, HP_COLOR_NEVER };

enum hp_api { HP_API_NEW = 0, HP_API_OLD };	/* of the crate: 0.30, 0.18 */

struct hp_percentiles {
	uint32_t count;
	double at[HP_PERCENTILES_MAX];	/* 0..100, as given */
};

#define HP_LIMIT_UNSET UINT64_MAX
#define HP_EXIT_WAIT_MS 5000	/* default of HOTPATH_EXIT_WAIT_MS */

/* All values.  Limits: 0 = all. */
struct hp_settings {
	uint32_t timing;	/* enum hp_timing */
	uint32_t format;	/* enum hp_output_format */
	uint32_t color;	/* enum hp_color */
	uint32_t is_exclusive;
	uint32_t exclude_wrapper;
	uint32_t no_follow;
	uint32_t is_verbose;
	uint32_t disable_hints;
	uint32_t cpu;	/* enum hp_cpu_source */
	uint32_t cpu_is_inclusive;
	uint32_t internals;
	uint32_t disable_samply_load;
	uint32_t unwind;	/* enum hp_unwind */
	uint32_t alloc_metric;	/* enum hp_alloc_metric */
	uint32_t alloc_cumulative;
	uint32_t alloc_prove;
	uint32_t channels_iter;
	uint32_t loop_callbacks;	/* callbacks may be exchanged for ours */
	uint32_t log_payload;
	uint64_t alloc_depth;	/* frames; 0 = the caller only */
	uint64_t limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t functions_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t threads_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t alloc_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t channels_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t streams_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t futures_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t mutexes_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t rw_locks_limit;	/* HP_LIMIT_UNSET = not set */
	uint64_t runtime_interval_ms;	/* of answers on event loops */
	uint64_t loop_lag_ms;	/* a longer busy span of an event loop is a finding */
	uint64_t log_length;	/* bytes */
	uint64_t name_depth;
	uint64_t logs_limit;
	uint64_t segment_size;
	uint64_t threads_interval_ms;
	uint64_t cpu_hz;	/* 0 = not set: see hp_settings_cpu_hz */
	uint64_t keep;	/* runs; 0 = none */
	uint64_t shutdown_ms;	/* 0 = never */
	uint64_t exit_wait_ms;
	uint32_t metrics_off;
	uint32_t api;	/* enum hp_api */
	uint64_t metrics_port;	/* 0 = any free one */
	uint64_t mcp_port;	/* the same */
	uint64_t prometheus_port;	/* the same */
	uint64_t entries_limit;	/* rows of a list over HTTP */
	uint64_t tui_interval_ms;	/* of the console */
	uint64_t tui_tab;	/* its first one; 0 = the answers */
	uint64_t tui_logs;	/* row (from 0) whose log is open; HP_LIMIT_UNSET = none */
	const char *metrics_host;	/* http://HOST to query; NULL = reads the segment */
	const char *metrics_bind;	/* an address, as numbers */
	const char *prometheus_bind;	/* the same */
	const char *metrics_token;	/* NULL = none */
	const char *mcp_token;	/* NULL = none */
	const char *prometheus_token;	/* NULL = none */
	const char *fast_buckets;	/* NULL = built-in */
	const char *slow_buckets;	/* NULL = built-in */
	const char *report;	/* names of sections; NULL = short */
	const char *output_path;
	const char *sort;	/* a column: see report/section/order.h */
	const char *focus;
	const char *without;	/* names of libraries; NULL = none */
	const char *label;
	const char *user_metadata;
	const char *source_root;	/* NULL = unknown */
	const char *segment_path;
	const char *profile_dir;
	const char *only;
	const char *library;	/* for the table only: the users read the environment, */
	const char *helpers;	/* since they are needed before there are settings */
	const char *alloc_wrappers;
	const char *samply;	/* the same */
	const char *samply_wrapper;
	struct hp_percentiles percentiles;
	bool is_given[HP_SETTINGS_MAX];	/* by environment or flag; places of the table */
	bool is_defaulted[HP_SETTINGS_MAX];	/* by the program's own defaults; the same places */
};

/*
 * Allowed sources of a variable, besides flags and the environment.  Every
 * process of a session can write its segment, even after dropping its
 * privileges, and anybody can write a kept file.  So settings read from there
 * only affect how something is recorded and shown. doc/internals/safety.md has
 * the reasons.
 */
enum hp_setting_trust {
	HP_SETTING_OF_RECORD = 1,	/* HOTPATH_DEFAULTS, wherever its text is found */
	HP_SETTING_OF_START = 2,	/* HOTPATH_DEFAULTS, as its session's first process starts */
	HP_SETTING_OF_USER = 4,	/* nobody else */
};

#define HP_SETTINGS_OF_PROGRAM (HP_SETTING_OF_RECORD | HP_SETTING_OF_START)

struct hp_setting {
	const char *name;
	enum hp_setting_kind kind;
	uint32_t place;	/* offsetof in struct hp_settings */
	const char *usual;	/* the default as text; NULL = not set */
	const char *allowed;	/* CHOICE: words between '|'; else for the reader only */
	uint64_t least;	/* COUNT and SIZE */
	uint64_t most;
	const char *help;
	enum hp_setting_trust trust;
};

extern const struct hp_setting hp_setting_table[];
extern const size_t hp_setting_count;

/* Gets one line without newline for each bad value. */
typedef void (*hp_complain)(void *context, const char *line);

/* Fills `out` with the defaults and the settings in `environ`.  `complain` may be NULL. */
void hp_settings_read(struct hp_settings *out, char *const *environment, hp_complain complain,
		      void *context);

/*
 * Sets one variable as if it stood in the environment.  Returns false if the
 * name is unknown or the value invalid; then the old value stays.
 */
bool hp_settings_set(struct hp_settings *out, const char *name, const char *value,
		     hp_complain complain, void *context);

/* Where a value comes from. */
enum hp_setting_origin { HP_ORIGIN_BUILT_IN = 0, HP_ORIGIN_PROGRAM, HP_ORIGIN_GIVEN };

enum hp_setting_origin hp_setting_origin(const struct hp_settings *settings,
					 const struct hp_setting *setting);

/* True if it is printable ASCII without blanks, as required for a header's value. */
bool hp_setting_is_token(const char *text);

/*
 * Why a variable of the Rust crate has no effect here, and its replacement, for
 * one of its HOTPATH_* names that the table lacks; NULL = not one of them.
 */
const char *hp_setting_foreign(const char *name, size_t length);

#define HP_SETTING_TEXT_MAX 400

/*
 * The value as text, without control characters; NULL = not set. Stored in
 * `room`, truncated if longer.
 */
const char *hp_setting_text(const struct hp_settings *settings, const struct hp_setting *setting,
			    char room[HP_SETTING_TEXT_MAX]);

#define HP_DEFAULTS_MAX 1024	/* bytes of a program's defaults, with the 0; the rest is cut */

/*
 * Applies the program's defaults to variables that neither environment nor
 * flags set. `text` has words NAME=VALUE, with lower-case names without
 * HOTPATH_. Only variables in `trusts`, a set of enum hp_setting_trust, change.
 * `room` stores the values.
 */
void hp_settings_default(struct hp_settings *out, unsigned trusts, const char *text,
			 char room[HP_DEFAULTS_MAX], hp_complain complain, void *context);

/*
 * True if `word` of HOTPATH_REPORT, `length` characters, names this section:
 * `cpu` and `functions_cpu` are functions-cpu, too.
 */
bool hp_section_is(const char *word, size_t length, const char *section);

/* True if it names a section, or is `short`, `auto`, or `all`. */
bool hp_section_is_known(const char *word, size_t length);

/* The known word nearest to an unknown one, `*size` characters of it; NULL = none is near. */
const char *hp_section_nearest(const char *word, size_t length, size_t *size);

/* The next word of a list, `*length` characters of it; NULL = none. */
const char *hp_section_next(const char **list, size_t *length);

/*
 * True if tables are requested, by naming sections or by settings for tables;
 * `short`, the default, is the report of one screen.
 */
bool hp_settings_wants_tables(const struct hp_settings *settings);

/* True if it excludes a section: `-threads` alone is short for `auto,-threads`. */
bool hp_settings_begins_with_auto(const struct hp_settings *settings);

/*
 * True if HOTPATH_REPORT requests this section, also by `auto` or `all`:
 * unrequested data is not recorded.
 */
bool hp_settings_asks(const struct hp_settings *settings, const char *section);

/* The libraries that HOTPATH_WITHOUT may name; one that it passes to hp_settings_without needs to be here. */
#define HP_LIBRARIES "aio|glib|uring|uv"

/* HOTPATH_WITHOUT names the library: its functions are passed through and not recorded. */
bool hp_settings_without(const struct hp_settings *settings, const char *library);

/* Threads are watched: for `threads`, and for `thread-states`, which uses the same data. */
bool hp_settings_asks_threads(const struct hp_settings *settings);

/* True if an order was requested; `sort` is `total` otherwise. */
bool hp_settings_sorts(const struct hp_settings *settings);

/* True if HOTPATH_REPORT requests it by name. */
bool hp_settings_names(const struct hp_settings *settings, const char *section);

/* True if CPU samples, or sections made of them, were requested; `auto` does not. */
bool hp_settings_wants_samples(const struct hp_settings *settings);
/* True if waits were requested by name. */
bool hp_settings_wants_waits(const struct hp_settings *settings);

/*
 * Samples per second of CPU time. Each costs the program an interrupt, which
 * takes 20 to 60 us on a virtual machine whatever it records. So the rate is
 * lower unless samples were requested.
 */
uint64_t hp_settings_cpu_hz(const struct hp_settings *settings);
#define HP_CPU_HZ 999
#define HP_CPU_HZ_UNASKED 249	/* after the first second of CPU time, */
#define HP_CPU_HZ_FIRST 999	/* and in it */

#endif
