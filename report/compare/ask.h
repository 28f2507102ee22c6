/* SPDX-License-Identifier: MIT */
/*
 * ask.h - the request to `hotpath compare`: its command line, read.
 */
#ifndef HP_REPORT_COMPARE_ASK_H
#define HP_REPORT_COMPARE_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "report/compare/compare.h"
#include "report/compare/policy.h"

enum hp_compare_format {
	HP_COMPARE_TABLE = 0,
	HP_COMPARE_JSON,
	HP_COMPARE_MARKDOWN,
	HP_COMPARE_HTML,
};

struct hp_compare_ask {
	enum hp_compare_format format;
	size_t rows;	/* of each group; 0 = all */
	bool is_all;	/* call paths as well */
	size_t runs;	/* runs to make of each side; 0 = runs are given */
	const char *input;	/* the programs' stdin */
	const char *output;	/* file for the output; NULL = stdout */
	double above;	/* percent; < 0 = not requested */
	double least;	/* percent of the measure's total: smaller rows do not fail */
	struct hp_policy policy;
	char **a, **b;	/* runs, or commands with their arguments */
	size_t a_count, b_count;
};

/* Returns -1 to continue, else the exit status.  Release it in any case. */
int hp_compare_ask_read(struct hp_compare_ask *ask, int argc, char **argv);
void hp_compare_ask_release(struct hp_compare_ask *ask);

#endif
