/* SPDX-License-Identifier: MIT */
/*
 * symbol_table.h - a file's symbol table, read without a library.
 *
 * The symbols of a stripped file may be in a debug file: this searches where
 * elfutils does and picks the table that elfutils would. Unusual cases are left
 * to elfutils.
 */
#ifndef HP_REPORT_ELF_SYMBOL_TABLE_H
#define HP_REPORT_ELF_SYMBOL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "report/elf/elf_file.h"

struct hp_symbol_table {
	struct hp_elf_bytes symbols;	/* Elf64_Sym each; none = no table */
	struct hp_elf_bytes names;
	uint64_t names_size;
	size_t count;
	bool is_unusual;	/* only elfutils can decide */
	bool has_debug;	/* debug information exists or may exist */

	/* All of it is in a file found by the build-id: */
	size_t id_size;	/* 0 = no */
	unsigned char id[HP_BUILD_ID_MAX];
	struct stat debug;
};

/* `path` is the path of the file. */
void hp_symbol_table_init(struct hp_symbol_table *table, const struct hp_elf *elf,
			  const char *path);

#endif
