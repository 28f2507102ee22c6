/* SPDX-License-Identifier: MIT */
/*
 * short.h - the names that people read in tables: one rule for C, C++ and Rust.
 *
 * What says nothing about the function goes: return types, parameters, [abi:...],
 * clone suffixes (.constprop.0), Rust's hashes, unnamed namespaces, Rust's
 * `<T as Trait>`.  Template arguments become one word or an ellipsis, and a lambda
 * is called by its function: `Catalog::find`, `std::vector‹Job›::erase`, `main::λ:14`.
 * JSON keeps whole names.
 */
#ifndef HP_REPORT_NAME_SHORT_H
#define HP_REPORT_NAME_SHORT_H

#include <stddef.h>

/* How much is left, from the shortest on. */
enum hp_name_detail {
	HP_NAME_SHORT, /* the last `depth` parts */
	HP_NAME_SCOPED, /* all parts */
	HP_NAME_ARGUMENTS, /* and all template arguments but the usual defaults */
	HP_NAME_SIGNATURE, /* and the parameters */
	HP_NAME_WHOLE, /* as it is */
};

/*
 * A fresh copy of a demangled name, or of a name that is none and stays as it is.
 * `depth`: parts of a::b::c with HP_NAME_SHORT, 0 = all; a lambda and the function
 * that it is in are one part.
 */
char *hp_name_display(const char *name, size_t depth, enum hp_name_detail detail);

/* The same of each name of a call path, "f file.c:12 ← g ← h". */
char *hp_name_display_path(const char *path, size_t depth);

/*
 * Fresh copies of `count` names into `display`, at least `depth` parts each.  Names
 * that differ and would look the same get as much more as tells them apart.  A NULL
 * name is skipped, and so is its copy.
 */
void hp_names_display(const char *const *names, size_t count, size_t depth, char **display);

/*
 * Cuts `count` texts down to `width` columns each, in place, by hp_name_fit.  Texts
 * that differ and would be cut to the same show where they differ.
 */
void hp_names_fit(char **texts, size_t count, size_t width);

/*
 * The same for call paths, "f file.c:12 ← g ← h", whose ends are cut.  Of paths that
 * would be cut to the same the callers that they have in common are left out.
 */
void hp_paths_fit(char **paths, size_t count, size_t width);

#endif
