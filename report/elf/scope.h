/* SPDX-License-Identifier: MIT */
/*
 * scope.h - names of functions that the linker does not know, with what they stand in.
 *
 * A function that is static, in an unnamed namespace or of a lambda has, once it is
 * inlined, no more than `operator()` for a name in the debug information.  The
 * namespaces, classes and functions around it make it `app::run(int)::{lambda:38}::
 * operator()`, 38 being the lambda's line.
 *
 * An entry of debug information does not tell what it is in, so a unit is walked
 * once, when the first of its names is asked for.
 */
#ifndef HP_REPORT_ELF_SCOPE_H
#define HP_REPORT_ELF_SCOPE_H

#include "report/elf/dwarf.h"
#include "report/elf/symbol_file.h"

struct hp_scopes;

struct hp_scopes *hp_scopes_new(void);
void hp_scopes_free(struct hp_scopes *scopes);

/*
 * The name of a function's entry, be it inlined or not: as the linker has it if it
 * has one, be it only for a copy that was not inlined.  `bias`: address of the file =
 * address of the debug information + bias.  NULL = it has no name.  Valid as long as
 * the scopes and the file.
 */
const char *hp_scopes_name(struct hp_scopes *scopes, const struct hp_symbol_file *file,
			   uint64_t bias, Dwarf_Die *function);

#endif
