/* SPDX-License-Identifier: MIT */
/*
 * section.h - a section of the report, in one definition.
 *
 * It is next to its columns, in the folder of its subject; its name and key are in
 * segment/section_key.h.  The table, JSON, the page, routes, MCP's tools and their
 * schemas, metrics, the console's tabs, help and documentation are derived from it:
 * NULL or 0 here means the default there.
 *
 * Folder: report/section/core - common parts of all sections: the report, its
 *   views, columns and cells, extra JSON, facts of the run
 * May use: report/name report/read report/base segment segment/layout
 */
#ifndef HP_REPORT_SECTION_CORE_SECTION_H
#define HP_REPORT_SECTION_CORE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/section/core/cell.h"
#include "report/section/core/report.h"

struct cJSON;

struct hp_list {
	const void **rows;	/* the columns, in order */
	size_t shown;
	size_t total;
};

/* Its subject: the console's tabs and the documentation go by it. */
enum hp_subject {
	HP_SUBJECT_MIXED = 0,
	HP_SUBJECT_TIMING,
	HP_SUBJECT_MEMORY,
	HP_SUBJECT_CPU,
	HP_SUBJECT_CHANNEL,
	HP_SUBJECT_WAIT,
	HP_SUBJECT_THREAD,
	HP_SUBJECT_LOOP,
	HP_SUBJECT_ANSWER,
};

/* The meaning of `~` below the tables that have one. */
enum hp_estimate {
	HP_ESTIMATE_FUNCTIONS = 0,
	HP_ESTIMATE_HOLDS,
	HP_ESTIMATE_MESSAGES,
	HP_ESTIMATE_WAITS,
	HP_ESTIMATES
};

/*
 * Members of JSON besides the columns.  Keys and their types are shown to MCP's
 * clients; live/mcp/schema.c says how they are written.
 */
struct hp_extra {
	void (*head)(struct hp_report *report, struct cJSON *list);	/* before the description */
	void (*middle)(struct hp_report *report, struct cJSON *list);	/* after it */
	void (*tail)(struct hp_report *report, struct cJSON *list);	/* after the rows */
	void (*data)(struct hp_report *report, const void *row, struct cJSON *entry);
	void (*raw)(struct hp_report *report, const void *row, struct cJSON *entry);
	const char *list_keys;	/* of the three above; NULL = none */
	const char *data_keys;
	const char *raw_keys;
};

/* The tool of MCP that answers with it. */
struct hp_tool {
	const char *name;	/* NULL = the key in JSON */
	const char *help;	/* NULL = the section's */
	const char *answer;	/* keys of the answer, if that isn't a list; NULL = it is one */
	const char *drop;	/* key of the answer that is too long for an agent; NULL = none */
	const char *meaning;	/* how to read it, for `explain`; NULL = no topic */
	const char *next;	/* the next question to ask */
};

/* Values of a row for a histogram. */
struct hp_metric_spread {
	const struct hp_histogram *histogram;	/* NULL = the row has none */
	double unit;	/* seconds, bytes or blocks of each counted unit */
	uint64_t zeros;	/* further values of 0 */
};

enum hp_metric_bounds { HP_BOUNDS_SECONDS = 0, HP_BOUNDS_BYTES, HP_BOUNDS_BLOCKS };

/* A number of its rows, or a histogram, that Prometheus gets. */
struct hp_metric {
	const char *key;	/* in `raw`, else in `data`; NULL ends the list */
	bool is_counter;	/* else a gauge */
	const char *name;	/* a counter's without _total */
	const char *help;
	double scale;	/* the number is multiplied by it; 0 = 1 */
	void (*spread)(struct hp_report *report, const void *row,
		       struct hp_metric_spread *spread);	/* a histogram instead of a number */
	enum hp_metric_bounds bounds;	/* of its buckets */
};

/* Labels of its metrics: the label, and the key of its value in `data`. */
struct hp_label_key {
	const char *name;	/* NULL ends the list */
	const char *key;
};

/* A list that nothing fills yet, in the format that clients of the Rust crate know. */
struct hp_absent {
	const char *rows;	/* key of the rows */
	bool has_percentiles;
	const char *zeros[3];	/* counters, which are 0 */
};

/* The contents of the first lines. */
struct hp_top {
	struct hp_value name;
	struct hp_value share;
	const char *word;	/* after the share; NULL = none */
};

struct hp_section {
	/* Names. */
	const char *key;	/* in HOTPATH_REPORT */
	const char *json;	/* key in JSON, and with a slash its route; "" = neither exists */
	const char *name;	/* in the first line and in titles */
	const char *help;	/* in lists of sections, of routes */
	enum hp_subject subject;

	/* Rows. */
	const struct hp_column *columns;	/* NULL = known by name, not recorded */
	const char *rows;	/* their key in JSON; NULL = "data" */
	void (*fill)(struct hp_report *report, struct hp_list *list);
	bool (*is_faint)(struct hp_report *report,
			 const void *row);	/* tables leave it out; NULL = none */
	const char *faint;	/* name of the omitted rows, after their number */
	struct hp_member limit;	/* of hp_settings: rows that are shown; NONE = only HOTPATH_LIMIT */
	size_t usual;	/* the same without a setting */

	/* When it is shown. */
	const struct hp_section *with;	/* it is a second table of this one, shown with it */
	bool is_on_demand;	/* `auto` excludes it */
	bool is_quiet;	/* `all`, too, includes it only with data */
	bool (*has_data)(const struct hp_report *report);	/* `auto` includes it; NULL = always */
	bool (*is_failed)(const struct hp_report *report);	/* without rows it is an error */

	uint32_t needs;	/* enum hp_recorded_kind: its data, any of; 0 = not known */

	/* Texts: a constant, or a function if it depends on the run. */
	const char *about;	/* its data */
	const char *(*describe)(const struct hp_report *report);
	const char *none;	/* why it has no row */
	const char *(*empty)(struct hp_report *report);
	const char *(*note)(struct hp_report *report);	/* after `about`, in brackets; or NULL */
	const char *(*after)(struct hp_report *report);	/* a sentence below the rows; or NULL */
	bool is_command_after;	/* instead of a sentence: one line of any length */

	/* The table. */
	bool is_deep;	/* its first column is a tree */
	bool is_prose;	/* its first column is a sentence, which is wrapped below the others */
	bool is_on_top;	/* the first lines show the first row that has its own name, */
	bool (*top)(struct hp_report *report, struct hp_top *top);	/* or this; false = nothing */
	enum hp_estimate estimate;

	struct hp_extra extra;
	/* In the JSON of a whole report, instead of the list; NULL = the list. */
	struct cJSON *(*array)(struct hp_report *report);

	/* A kept file: requests all names, or writes lines of them itself. */
	void (*name_all)(struct hp_report *report);
	void (*legend_write)(struct hp_report *report, FILE *out);

	/* The server. */
	struct hp_tool tool;
	bool has_own_ids;	/* of its rows, from refresh to refresh */
	size_t usual_served;	/* rows, unless more are requested; 0 = all */
	const struct hp_metric *metrics;
	const struct hp_label_key *labels;
	const struct hp_absent *absent;	/* if it is not recorded */

	bool has_no_tab;	/* in the console */
};

#define HP_FUNCTIONS_LIMIT 15	/* rows of functions, unless said otherwise */

/* The key of its rows in JSON. */
static inline const char *hp_section_rows(const struct hp_section *section)
{
	return section->rows ? section->rows : "data";
}

/* It has its own list in JSON. */
bool hp_section_is_listed(const struct hp_section *section);

bool hp_section_has_data(const struct hp_section *section, const struct hp_report *report);
const char *hp_section_about(const struct hp_section *section, const struct hp_report *report);
const char *hp_section_none(const struct hp_section *section, struct hp_report *report);

/* Sets how many rows are shown: by its setting, HOTPATH_LIMIT, the usual; 0 = all. */
void hp_section_cut(const struct hp_section *section, const struct hp_report *report,
		    struct hp_list *list);

#endif
