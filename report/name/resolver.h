/* SPDX-License-Identifier: MIT */
/*
 * resolver.h - names and places of addresses, found by a thread of its own and
 * kept from look to look.
 *
 * For a server that looks at a running program again and again: reading the
 * debug information of a large program takes seconds, and no answer may wait
 * for it.  What is not known yet is asked for and told later; `missing` counts
 * such questions, so that the answer can say that names are still to come.
 *
 * One thread asks (the one that makes answers), one finds.
 */
#ifndef HP_REPORT_NAME_RESOLVER_H
#define HP_REPORT_NAME_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/symbol_file.h"

#define HP_RESOLVED_MOST 32	/* lines of one answer */

struct hp_resolver;

enum hp_resolver_want {
	HP_WANT_SOURCE = 0,	/* one line: file, line, column */
	HP_WANT_PRODUCER,	/* one line: the name is the compiler */
	HP_WANT_LINES,	/* as hp_frame_lines has them */
	HP_WANT_INLINES,	/* as hp_inlines_at has them */
};

struct hp_resolved_line {
	const char *name;	/* NULL = not known */
	const char *file;	/* NULL = not known */
	int line;
	int column;
	bool is_inlined;
};

/* Stays as it is, once it is told, as long as the resolver. */
struct hp_resolved {
	size_t count;	/* 0 = there is nothing to be known */
	struct hp_resolved_line *lines;
};

/* NULL = there is no thread for it. */
struct hp_resolver *hp_resolver_new(void);
void hp_resolver_free(struct hp_resolver *resolver);

/* The number of the file that an object is; it begins to be read. */
uint32_t hp_resolver_number(struct hp_resolver *resolver, const struct hp_model_object *object,
			    int64_t created_unix_ns);

/* The file of this number, for its symbols and its fault alone; NULL = not read yet, counted. */
struct hp_symbol_file *hp_resolver_file(struct hp_resolver *resolver, uint32_t number);

/* What is at an address of a file; NULL = not known yet, counted. */
const struct hp_resolved *hp_resolver_ask(struct hp_resolver *resolver, uint32_t number,
					  uint64_t address, enum hp_resolver_want want);

/* The same by the place of an object in the symbols' model, which have a resolver. */
const struct hp_resolved *hp_symbols_resolve(struct hp_symbols *symbols, uint32_t object,
					     uint64_t address, enum hp_resolver_want want);

/* The one that the symbols were made with; NULL = none. */
struct hp_resolver *hp_symbols_resolver(const struct hp_symbols *symbols);

/* Questions that had no answer yet, so far: it only grows.  0 for NULL. */
uint64_t hp_resolver_missing(const struct hp_resolver *resolver);

/* True if nothing is being looked for.  NULL is idle. */
bool hp_resolver_is_idle(struct hp_resolver *resolver);

#endif
