/* SPDX-License-Identifier: MIT */
/*
 * symbol_table.h - the table of symbols of a file, read without a library.
 *
 * A stripped file's symbols may stand in a debug file beside it: this looks for one where
 * elfutils does, and takes the table that elfutils would take.  What is unusual is
 * left to elfutils.
 */
#ifndef HP_REPORT_ELF_SYMBOL_TABLE_H
#define HP_REPORT_ELF_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "report/elf/elf_file.h"

struct hp_symbol_table {
	char *bytes;	/* of Elf64_Sym, fresh; NULL = there is no table */
	char *names;	/* fresh, 0-terminated */
	uint64_t names_size;
	size_t count;
	bool is_unusual;	/* only elfutils can tell */
	bool has_debug;	/* there is, or may be, debug information */

	/* All of it is in a file that the build-id leads to: */
	size_t id_size;	/* 0 = no */
	unsigned char id[HP_BUILD_ID_MOST];
	struct stat debug;
};

/* `path` is that of the file. */
void hp_symbol_table_init(struct hp_symbol_table *table, const struct hp_elf *elf,
			  const char *path);

#endif
