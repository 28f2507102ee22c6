/* SPDX-License-Identifier: MIT */
/*
 * symbol_plt.h - names of the stubs through which a file calls functions of
 * other files.
 *
 * They have no symbols, but each jumps through a word that a relocation names.
 */
#ifndef HP_REPORT_ELF_SYMBOL_PLT_H
#define HP_REPORT_ELF_SYMBOL_PLT_H

#include <stddef.h>

#include "report/elf/elf_file.h"
#include "report/elf/symbol_file.h"

/*
 * The stubs of a file whose symbols have been read, by address: a fresh list, each
 * with a fresh name; *count of them.  NULL = none, or an unsupported processor
 * (only x86-64 and aarch64 are supported).
 */
struct hp_symbol *hp_symbol_plt_read(const struct hp_symbol_file *file, const struct hp_elf *elf,
				     size_t *count);

#endif
