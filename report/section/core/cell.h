/* SPDX-License-Identifier: MIT */
/*
 * cell.h - columns, and how to find a row's value in a column.
 *
 * A column is a member of the row, named by HP_MEMBER, or has a getter, which may
 * in turn read its own member column.
 */
#ifndef HP_REPORT_SECTION_CORE_CELL_H
#define HP_REPORT_SECTION_CORE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/report.h"

/* How a value is written. */
enum hp_unit {
	HP_UNIT_NAME,	/* text that may be shortened */
	HP_UNIT_CHAIN,	/* names with arrows: the end may be shortened */
	HP_UNIT_TEXT,	/* text that may not */
	HP_UNIT_COUNT,
	HP_UNIT_TIME,	/* ns */
	HP_UNIT_SHARE,	/* percent of the whole, 2 decimals */
	HP_UNIT_LOAD,	/* percent of one core, 1 decimal */
	HP_UNIT_ERROR,	/* percent, half of a 95 % interval */
	HP_UNIT_BYTES,
	HP_UNIT_DIFFERENCE,	/* bytes, perhaps below 0 */
	HP_UNIT_NUMBER,	/* plain, only in JSON */
	HP_UNIT_RATE,	/* per second; in JSON with its fraction, null if there is none */
};

struct hp_value {
	const char *text;	/* names: the whole one; NULL = `number` counts */
	double number;
	const char *mark;	/* after a name in tables; NULL = none */
	unsigned indent;	/* levels */
	bool is_label;	/* a name as in the source: not to be shortened */
	bool is_unknown;
	bool is_estimated;	/* ~ */
	bool is_bound;	/* at least this: >= */
	double upper;	/* if not 0: a number that would be shown as 0 is below this */
};

struct hp_column;

/* Arguments of a getter. */
struct hp_cell {
	struct hp_report *report;
	const void *row;
	const struct hp_column *column;
	double percentile;	/* of a column of percentiles; others ignore it */
};

typedef void (*hp_getter)(const struct hp_cell *cell, struct hp_value *value);

/* Types of members: the types that HP_MEMBER assumes. */
enum hp_member_type {
	HP_MEMBER_NONE = 0,
	HP_MEMBER_U64,
	HP_MEMBER_U32,
	HP_MEMBER_I64,
	HP_MEMBER_I32,
	HP_MEMBER_DOUBLE,
	HP_MEMBER_TEXT,	/* NULL = not known */
};

/* How a member is read. */
enum hp_member_mark {
	HP_MEMBER_PLAIN = 0,
	HP_MEMBER_TICKS,	/* becomes ns; below 0 = not known */
	HP_MEMBER_KNOWN,	/* below 0 = not known */
};

/*
 * A member of a struct: its place and type.  The struct is the row, or, if
 * `pointer` is not 0, the target of the row's pointer at `pointer` - 1;
 * or whatever a column's getter makes of it.
 */
struct hp_member {
	uint16_t offset;
	uint16_t pointer;
	uint8_t type;	/* enum hp_member_type */
	uint8_t mark;	/* enum hp_member_mark */
};

#define HP_MEMBER_TYPE(place) \
	_Generic((place), \
		uint64_t: HP_MEMBER_U64, \
		uint32_t: HP_MEMBER_U32, \
		int64_t: HP_MEMBER_I64, \
		int32_t: HP_MEMBER_I32, \
		double: HP_MEMBER_DOUBLE, \
		char *: HP_MEMBER_TEXT, \
		const char *: HP_MEMBER_TEXT)

#define HP_MEMBER_MARKED(of, name, mark_) \
	{ \
		.offset = offsetof(struct of, name), \
		.type = HP_MEMBER_TYPE(((struct of *)0)->name), .mark = (mark_) \
	}

/* The member `name` of `struct of`: as it is; ticks; a number that is known from 0 on. */
#define HP_MEMBER(of, name) HP_MEMBER_MARKED(of, name, HP_MEMBER_PLAIN)
#define HP_TICKS(of, name) HP_MEMBER_MARKED(of, name, HP_MEMBER_TICKS)
#define HP_KNOWN(of, name) HP_MEMBER_MARKED(of, name, HP_MEMBER_KNOWN)

#define HP_MEMBER_MARKED_AT(of, through, name, mark_) \
	{ \
		.offset = offsetof(__typeof__(*((struct of *)0)->through), name), \
		.pointer = 1 + offsetof(struct of, through), \
		.type = HP_MEMBER_TYPE(((struct of *)0)->through->name), .mark = (mark_) \
	}

/* A struct in the row, for a getter. */
#define HP_PLACE(of, name) \
	{ \
		.offset = offsetof(struct of, name) \
	}

/* The same for the target of the pointer `through` of `struct of`. */
#define HP_MEMBER_AT(of, through, name) HP_MEMBER_MARKED_AT(of, through, name, HP_MEMBER_PLAIN)
#define HP_TICKS_AT(of, through, name) HP_MEMBER_MARKED_AT(of, through, name, HP_MEMBER_TICKS)
#define HP_PLACE_AT(of, through) \
	{ \
		.pointer = 1 + offsetof(struct of, through) \
	}

/* When a column exists. */
enum hp_need {
	HP_NEED_NONE = 0,	/* always */
	HP_NEED_ESTIMATE,	/* when a row was estimated */
	HP_NEED_KNOWN,	/* if a row knows it; in `data` and `raw` only for those that do */
	HP_NEED_ROOM,	/* in tables: unless names would be cut, and it is 0 in all rows */
};

struct hp_column {
	const char *title;	/* in tables; NULL = absent */
	const char *key;	/* in `data` of JSON; NULL = absent */
	const char *raw;	/* in `raw` of JSON; NULL = absent */
	enum hp_unit unit;
	hp_getter get;	/* NULL = the value is `member` */
	bool is_percentiles;	/* one column for each percentile; names are P95, p95, p95_ns */
	enum hp_need need;
	/* Left out of tables that are too wide with the shortest names: 1 first, then 2; 0 = never. */
	uint8_t spare;
	struct hp_member member;
};	/* the last one of a list has neither title nor keys */

/* False = it ends its list. */
static inline bool hp_column_is(const struct hp_column *column)
{
	return column->title || column->key || column->raw;
}

/* The value of a cell, by its column's getter or member. */
void hp_cell_get(const struct hp_cell *cell, struct hp_value *value);

/* Only by its member; in `base` instead of the row. */
void hp_cell_get_member(const struct hp_cell *cell, struct hp_value *value);
void hp_cell_get_from(const struct hp_cell *cell, const void *base, struct hp_value *value);

/* Where the column's member is. */
const void *hp_cell_place(const struct hp_cell *cell);

/* A number and the ends of its interval, which gets a mark if it is wider than this share. */
#define HP_MARKED 0.01
void hp_cell_set_between(struct hp_value *value, double number, double low, double high);

/* A fresh text, which lives until the next one. */
void hp_cell_set_text(const struct hp_cell *cell, char *text, struct hp_value *value);

#endif
