/* SPDX-License-Identifier: MIT */
/*
 * section.h - the sections of the report and their columns, as data.
 *
 * One table gives each section's names, route, order and columns; the views
 * walk it and know no section.  A new section is a line there and a list of
 * columns; a new column is a line and a getter.
 */
#ifndef HP_REPORT_SECTION_SECTION_H
#define HP_REPORT_SECTION_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/report.h"

/* How a value is written. */
enum hp_unit {
	HP_UNIT_NAME,	/* text that gives way */
	HP_UNIT_CHAIN,	/* names behind arrows: the end gives way */
	HP_UNIT_TEXT,	/* text that does not */
	HP_UNIT_COUNT,
	HP_UNIT_TIME,	/* ns */
	HP_UNIT_SHARE,	/* percent of the whole, 2 decimals */
	HP_UNIT_LOAD,	/* percent of one core, 1 decimal */
	HP_UNIT_ERROR,	/* percent, half of a 95 % interval */
	HP_UNIT_BYTES,
	HP_UNIT_DIFFERENCE,	/* bytes, perhaps below 0 */
	HP_UNIT_NUMBER,	/* plain, in JSON only */
	HP_UNIT_RATE,	/* per second; in JSON with its fraction, null where there is none */
};

struct hp_value {
	const char *text;	/* names: the whole one; NULL = `number` counts */
	double number;
	unsigned indent;	/* levels */
	bool is_label;	/* a name as somebody wrote it: not to be shortened */
	bool is_unknown;
	bool is_estimated;	/* ~ */
	bool is_bound;	/* at least this: >= */
};

/* `percentile` is of the column; others ignore it. */
typedef void (*hp_getter)(struct hp_report *report, const void *row, double percentile,
			  struct hp_value *value);

/* When a column is there. */
enum hp_need {
	HP_NEED_NONE = 0,	/* always */
	HP_NEED_ESTIMATE,	/* when a row was estimated */
	HP_NEED_KNOWN,	/* when a row knows it; in `data` and `raw` only of those that do */
	HP_NEED_ROOM,	/* in tables: unless names would be cut, and it is 0 in all rows */
};

struct hp_column {
	const char *title;	/* in tables; NULL = not there */
	const char *key;	/* in `data` of JSON; NULL = not there */
	const char *raw;	/* in `raw` of JSON; NULL = not there */
	enum hp_unit unit;
	hp_getter get;
	bool is_percentiles;	/* one column for each percentile; names are P95, p95, p95_ns */
	enum hp_need need;
};

struct hp_list {
	const void **rows;	/* what is shown, in order */
	size_t shown;
	size_t total;
};

struct hp_section {
	const char *key;	/* in HOTPATH_REPORT */
	const char *json;	/* key in JSON; "" = it is not there */
	const char *with;	/* shown if this section is: its second table; NULL = on its own */
	const char *route;	/* of the server */
	const char *name;	/* in the first line and in titles */
	const struct hp_column *columns;	/* NULL = known by name, not recorded */
	size_t column_count;
	bool is_deep;	/* its first column is a tree */
	bool is_quiet;	/* `all`, too, takes it only with data */
	bool is_on_top;	/* its first row is told above the tables */
	const char *(*describe)(const struct hp_report *report);
	const char *(*note)(
		struct hp_report
			*report);	/* in the title's brackets, before the counts; may be NULL */
	void (*fill)(struct hp_report *report, struct hp_list *list);
	bool (*has_data)(const struct hp_report *report);	/* `auto` takes it; NULL = always */
	const char *(*empty)(struct hp_report *report);	/* what to say when there is no row */
	const char *(*after)(struct hp_report *report);	/* a line below the rows; may be NULL */
	bool (*is_failed)(const struct hp_report *report);	/* `empty` is an error; may be NULL */
};

#define HP_FUNCTIONS_LIMIT 15	/* rows of functions, unless said otherwise */

/*
 * What is shown of a list: `own` is HOTPATH_<SECTION>_LIMIT, `usual` the section's
 * built-in limit.
 */
void hp_list_cut(struct hp_list *list, const struct hp_report *report, uint64_t own, size_t usual);

extern const struct hp_section hp_section_table[];
extern const size_t hp_section_count;

/* A row of the calltree section. */
struct hp_path_row {
	const struct hp_model_node *node;
	unsigned depth;
};

#endif
