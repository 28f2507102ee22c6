/* SPDX-License-Identifier: MIT */
/*
 * value.h - values that the program publishes (HOTPATH_DBG, HOTPATH_VAL, HOTPATH_GAUGE_*), and
 * gauges that exist without it: memory, threads, queues.
 *
 * Folder: report/section/value - values that the program shows
 * May use: report/section/core report/section/thread report/section/memory report/section/channel
 *   report/section/channel/row report/section/wait report/read report/base segment segment/layout
 */
#ifndef HP_REPORT_SECTION_VALUE_VALUE_H
#define HP_REPORT_SECTION_VALUE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/reader.h"
#include "report/section/core/report.h"
#include "segment/layout/value.h"

#define HP_VALUE_LOGGED 50	/* changes that are shown */
#define HP_VALUE_FREE 100001	/* ids of the gauges that the program does not set, from here on */

/* A value, with the bytes of the types that have some. */
struct hp_value_seen {
	uint64_t number;	/* of the change; 0 = not known */
	uint64_t ticks;
	uint32_t tid;
	uint32_t type;	/* enum hp_value_type */
	uint64_t bits;
	char bytes[HP_VALUE_BYTES];
	char *source;	/* FILE:LINE; NULL = unknown */
};

struct hp_value_row {
	uint32_t id;
	uint32_t kind;	/* enum hp_value_kind */
	uint32_t pid;
	char *name;
	char *file;	/* NULL = unknown, or not a place in the program */
	uint32_t line;
	bool is_free;	/* a gauge that the program does not set */
	bool is_one_of;	/* other processes have one of this name */
	bool is_bytes;	/* its numbers are */
	uint64_t count;	/* of changes */
	struct hp_value_seen last;
	double least;	/* of a gauge; +inf = not known */
	double most;	/* -inf = not known */
	struct hp_value_seen *logs;	/* the newest first */
	size_t log_count;
};

struct hp_values {
	struct hp_value_row *rows;
	size_t count;
	uint64_t lost;	/* changes without details */
};

/* Belongs to the report; freed with it. */
const struct hp_values *hp_values_of(struct hp_report *report);

/* Gauges of data recorded anyway are added (free.c). */
void hp_values_add_free(struct hp_report *report, struct hp_values *values, size_t *room);

/* As text for people: fresh. */
char *hp_shown_text(const struct hp_value_seen *seen);

/* As a number; false = not one. */
bool hp_value_number(const struct hp_value_seen *seen, double *number);

/* dbg, val, gauge: the word in JSON and in routes. */
const char *hp_value_kind_name(uint32_t kind);

/* FILE:LINE with the last two parts of the path; fresh. */
char *hp_value_source(const char *file, uint32_t line);

#endif
