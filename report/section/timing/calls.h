/* SPDX-License-Identifier: MIT */
/*
 * calls.h - queries of the call tree: callers and callees of a function, and
 * the complete tree.
 *
 * Each is its own section, which replaces the report's sections.
 */
#ifndef HP_REPORT_SECTION_TIMING_CALLS_H
#define HP_REPORT_SECTION_TIMING_CALLS_H

#include <stdbool.h>
#include <stdio.h>

#include "report/section/core/section.h"

enum hp_calls_kind { HP_CALLS_NONE = 0, HP_CALLS_CALLERS, HP_CALLS_CALLEES, HP_CALLS_TREE };

/* A query and its answer. */
struct hp_calls {
	enum hp_calls_kind kind;
	uint32_t function;	/* asked about */
	double least;	/* rows with less of the total are left out, percent */
	struct hp_calls_row *rows;	/* in the order of the table */
	size_t count;
	size_t found;	/* rows there are */
	char *describe;
};

struct hp_calls_row {
	uint32_t function;	/* place in the model, HP_NONE = none: threads and processes begin here */
	uint32_t above;	/* place of this row's parent; of the first: its own */
	unsigned depth;
	double calls;
	double total_ns;
	double self_ns;
	double total_error_ns;	/* half of the 95 % interval */
	double self_error_ns;
};

/*
 * Makes it the report's answer.  `name` is a function's name, full or short, or a part
 * of it, or /regex/; the heaviest match is chosen, and others are listed. False = no
 * match, which is reported too.
 */
bool hp_calls_init(struct hp_report *report, enum hp_calls_kind kind, const char *name,
		   double least_percent, hp_complain complain, void *context);

/* The request of hp_calls_init; NULL = none. */
struct hp_calls *hp_calls_of(const struct hp_report *report);

/*
 * The same for one function of the model, callers or callees: the heaviest
 * `limit` rows in the order of the table. Does not affect sections; to be
 * released.
 */
void hp_calls_ask(struct hp_report *report, struct hp_calls *calls, uint64_t limit);
void hp_calls_release(struct hp_calls *calls);

/*
 * All paths with own time, "outer;inner NS" a line: collapsed stacks, as flame
 * graph programs read them.  NS is the path's own time, so the sum is the total.
 */
void hp_folded_write(struct hp_report *report, FILE *out);

#endif
