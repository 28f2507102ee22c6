/* SPDX-License-Identifier: MIT */
/*
 * dwarf.h - libdw, loaded on demand.
 */
#ifndef HP_REPORT_ELF_DWARF_H
#define HP_REPORT_ELF_DWARF_H

#include <elfutils/libdwfl.h>
#include <gelf.h>

/* The functions of libdw and libelf that we need, loaded by name. */
#define HP_DWARF_LIST(X) \
	X(dwfl_begin) \
	X(dwfl_end) \
	X(dwfl_report_offline) \
	X(dwfl_report_end) \
	X(dwfl_module_build_id) \
	X(dwfl_module_getelf) \
	X(dwfl_module_getsymtab) \
	X(dwfl_module_getsym_info) \
	X(dwfl_module_addrdie) \
	X(dwfl_module_nextcu) \
	X(dwarf_ranges) \
	X(dwarf_getsrc_die) \
	X(dwarf_getsrclines) \
	X(dwarf_onesrcline) \
	X(dwarf_lineaddr) \
	X(dwarf_lineendsequence) \
	X(dwarf_linesrc) \
	X(dwarf_lineno) \
	X(dwarf_linecol) \
	X(dwarf_attr) \
	X(dwarf_attr_integrate) \
	X(dwarf_child) \
	X(dwarf_siblingof) \
	X(dwarf_tag) \
	X(dwarf_dieoffset) \
	X(dwarf_diename) \
	X(dwarf_getsrcfiles) \
	X(dwarf_filesrc) \
	X(dwarf_formstring) \
	X(dwarf_formudata) \
	X(dwarf_decl_line) \
	X(dwarf_diecu) \
	X(dwarf_formref_die) \
	X(dwarf_lowpc) \
	X(dwarf_srclang) \
	X(dwfl_build_id_find_elf) \
	X(dwfl_standard_find_debuginfo) \
	X(dwfl_offline_section_address)

struct hp_dwarf {
#define X(name) __typeof__(name) *name;
	HP_DWARF_LIST(X)
#undef X
	Dwfl_Callbacks callbacks;	/* for dwfl_begin */
};

/* NULL = not installed. */
const struct hp_dwarf *hp_dwarf_load(void);

/*
 * From now on libdw may ask the servers in DEBUGINFOD_URLS for missing debug information; call it
 * before the first hp_dwarf_load.  Without it nothing waits for a server: the report at
 * a program's end and the live views must not.
 */
void hp_dwarf_allow_servers(void);

/* It may, and there is one: worth trying for a file without debug information. */
bool hp_dwarf_has_servers(void);

#endif
