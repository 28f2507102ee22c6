/* SPDX-License-Identifier: MIT */
/*
 * stream.h - the streams of a segment: a row is one place that opens streams, in all processes of
 * the session.
 *
 * Folder: report/section/stream - streams: files, directories and sockets that yield items
 * May use: report/section/wait report/section/core report/name report/read report/base
 *   segment segment/layout
 */
#ifndef HP_REPORT_SECTION_STREAM_STREAM_H
#define HP_REPORT_SECTION_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/lock_place.h"
#include "report/read/lock_sum.h"
#include "report/section/core/section.h"
#include "segment/layout/stream.h"

#define HP_STREAM_LAST_MAX 50	/* items that are shown */

struct hp_stream_item {
	struct hp_stream_entry record;
	char *text;	/* NULL = the program provides none */
};

struct hp_stream_row {
	uint32_t id;
	uint32_t kind;	/* enum hp_stream_kind */
	uint32_t origin;	/* enum hp_stream_origin */
	struct hp_lock_place site;
	char *label;	/* NULL = none */
	char *path;	/* of the first instance; NULL = none */
	char *name;	/* of hp_stream_name; NULL = not asked for yet */
	uint32_t flags;	/* HP_STREAM_NAMES, ... */
	uint64_t instances;
	uint64_t same;	/* of these: with the first one's name, in one process at least */
	uint64_t ended[HP_STREAM_ENDS];
	uint64_t open;	/* of a process that runs */
	uint64_t items;
	uint64_t bytes;
	uint64_t active_ticks;	/* from the first item to the last one, of all instances */
	struct hp_lock_sum gaps;	/* its holds are the gaps that were timed */
	bool is_copy;	/* of an earlier row's call site, by the compiler: that row has its counts */
	struct hp_stream_item *logs;	/* the newest first */
	size_t log_count;
};

struct hp_streams {
	struct hp_stream_row *rows;
	size_t count;
	size_t all;	/* and after these, places that open files only to write them */
	uint64_t lost;	/* instances without room */
	bool is_named;
};

/* Belongs to the report; freed with it. */
const struct hp_streams *hp_streams_of(const struct hp_report *report);

/* The same; copies of a call site are one row then, and all names of a kind differ. */
const struct hp_streams *hp_streams_named(const struct hp_report *report);

/* Its name here; it belongs to the row.  Reading symbols takes long, so only rows that are shown get one. */
const char *hp_stream_name(struct hp_report *report, const struct hp_stream_row *row);

/* Where it was opened; NULL = not known. */
const struct hp_symbol_spot *hp_stream_spot(struct hp_report *report,
					    const struct hp_stream_row *row);

#endif
