/* SPDX-License-Identifier: MIT */
/*
 * short.h - names for tables: one rule for C, C++ and Rust.
 *
 * Drops return types, parameters, [abi:...], clone suffixes (.constprop.0),
 * Rust's hashes, unnamed namespaces, Rust's `<T as Trait>`.  Template arguments
 * become one word or an ellipsis, and a lambda is named after its function:
 * `Catalog::find`, `std::vector‹Job›::erase`, `main::λ:14`.  JSON keeps whole
 * names.
 */
#ifndef HP_REPORT_NAME_SHORT_H
#define HP_REPORT_NAME_SHORT_H

#include <stddef.h>

/* How much of the name is kept, shortest first. */
enum hp_name_detail {
	HP_NAME_SHORT,	/* the last `depth` parts */
	HP_NAME_SCOPED,	/* all parts */
	HP_NAME_ARGUMENTS,	/* and all template arguments except the usual defaults */
	HP_NAME_SIGNATURE,	/* and the parameters */
	HP_NAME_WHOLE,	/* as it is */
};

/*
 * A fresh copy of a demangled name; other names stay unchanged. `depth`: parts of
 * a::b::c with HP_NAME_SHORT, 0 = all; a lambda and the function that it is in are
 * one part.
 */
char *hp_name_display(const char *name, size_t depth, enum hp_name_detail detail);

/* The same of each name of a call path, "f file.c:12 ← g ← h". */
char *hp_name_display_path(const char *path, size_t depth);

/*
 * Fresh copies of `count` names into `display`, at least `depth` parts each.
 * Names that differ but would be displayed the same get longer until they
 * differ.  NULL names are skipped.
 */
void hp_names_display(const char *const *names, size_t count, size_t depth, char **display);

/*
 * Cuts `count` texts down to `width` columns each, in place, by hp_name_fit.
 * Texts that differ but would be cut to the same text show the place where they
 * differ.
 */
void hp_names_fit(char **texts, size_t count, size_t width);

/*
 * The same for call paths, "f file.c:12 ← g ← h", whose ends are cut.  Paths
 * that would be cut to the same text omit their common callers.
 */
void hp_paths_fit(char **paths, size_t count, size_t width);

#endif
