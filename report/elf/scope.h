/* SPDX-License-Identifier: MIT */
/*
 * scope.h - qualified names of functions that have no linkage name.
 *
 * An inlined function that is static, in an unnamed namespace or a lambda is
 * called just `operator()` or the like in the debug information. With the
 * enclosing namespaces, classes and functions it becomes
 * `app::run(int)::{lambda:38}::operator()`, where 38 is the lambda's line.
 *
 * Debug entries do not point to their parents, so a unit is walked once, on the
 * first query for one of its names.
 */
#ifndef HP_REPORT_ELF_SCOPE_H
#define HP_REPORT_ELF_SCOPE_H

#include "report/elf/dwarf.h"
#include "report/elf/symbol_file.h"

struct hp_scopes;

struct hp_scopes *hp_scopes_new(void);
void hp_scopes_free(struct hp_scopes *scopes);

/*
 * The name of a function's entry, inlined or not: its linkage name if it has
 * one, even if only for a copy that was not inlined. `bias`: address in the
 * file = address of the debug information + bias. NULL = no name. Valid as long
 * as the scopes and the file.
 */
const char *hp_scopes_name(struct hp_scopes *scopes, const struct hp_symbol_file *file,
			   uint64_t bias, Dwarf_Die *function);

#endif
