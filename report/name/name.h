/* SPDX-License-Identifier: MIT */
/*
 * name.h - long C++ names in short columns.
 */
#ifndef HP_REPORT_NAME_NAME_H
#define HP_REPORT_NAME_NAME_H

#include <stddef.h>

/*
 * A fresh copy without return type, with the last `depth` parts of a::b::c (0 =
 * all).  Parameters are kept. Names that are not C++ are unchanged.
 */
char *hp_name_short(const char *name, size_t depth);

/* Start of the name after the return type, if present: within `name`. */
const char *hp_name_scope(const char *name);

/*
 * A fresh copy of at most `width` columns.  Shortens, as far as needed: the
 * template arguments, the parameters, the outer scopes, then the middle of the
 * last part.
 */
char *hp_name_fit(const char *name, size_t width);

/* A fresh copy without parameters. */
char *hp_name_bare(const char *name);

/* The same, also without template arguments. */
char *hp_name_plain(const char *name);

/*
 * Skips one token at `text` within `name`: a whole operator, an unnamed
 * namespace, an arrow, else a byte.  `depth` counts brackets.  Returns its bytes.
 */
size_t hp_name_step(const char *name, const char *text, int *depth);

/* The last part of a::b::c, with the lambdas in it: within `name`, not a copy. */
const char *hp_name_last(const char *name);

/* A fresh copy with the standard library's internal names replaced by public ones: std::string. */
char *hp_name_known(const char *name);

/* The part of a path after its last slash, if not empty: within `path`, not a copy. */
const char *hp_name_file(const char *path);

#endif
