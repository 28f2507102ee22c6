/* SPDX-License-Identifier: MIT */
/*
 * prepared.h - functions that prepare something that can be used many times.
 */
#ifndef HP_REPORT_SECTION_FINDING_PREPARED_H
#define HP_REPORT_SECTION_FINDING_PREPARED_H

#include <stdbool.h>

enum hp_prepared {
	HP_PREPARED_NOTHING,
	HP_PREPARED_PATTERN,	/* a regular expression */
	HP_PREPARED_STATEMENT,	/* an SQL statement */
	HP_PREPARED_KINDS
};

struct hp_prepared_word {
	const char *text;	/* the function's short name; with a `*` at its end, its start */
	enum hp_prepared kind;
	enum {
		HP_PREPARED_MAKES,
		HP_PREPARED_FREES,
		HP_PREPARED_USES,	/* only if the first use costs more than the next one */
	} part;
};

/* False: the function is none of them.  Much faster than its short name. */
bool hp_prepared_may_be(const char *name);

/* What a function does, by its short name; NULL = nothing of it. */
const struct hp_prepared_word *hp_prepared_of(const char *name);

/* "compiles a regular expression"; and the advice after "F compiles a regular expression for each item: " */
const char *hp_prepared_text(enum hp_prepared kind);
const char *hp_prepared_advice(enum hp_prepared kind);

#endif
