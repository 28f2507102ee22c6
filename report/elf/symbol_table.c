/* SPDX-License-Identifier: MIT */
/*
 * symbol_table.c - see symbol_table.h.
 *
 * .symtab comes first, then .symtab of the debug file, then .dynsym. The debug
 * file is found by the build-id. A file named by .gnu_debuglink is not checked
 * here: if one of that name exists anywhere, elfutils decides.
 */
#include "report/elf/symbol_table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUG_FOLDER "/usr/lib/debug"

static bool is_debug_name(const char *name)
{
	return strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0;
}

static const Elf64_Shdr *section_named(const struct hp_elf *elf, const char *name)
{
	for (size_t i = 0; i < elf->count; i++)
		if (strcmp(hp_elf_name(elf, &elf->sections[i]), name) == 0)
			return &elf->sections[i];
	return NULL;
}

static bool has_debug_sections(const struct hp_elf *elf)
{
	for (size_t i = 0; i < elf->count; i++)
		if (is_debug_name(hp_elf_name(elf, &elf->sections[i])))
			return true;
	return false;
}

/* --- debug files by name --- */

/* Tries the folder and each tail of its path, below the folder of debug files. */
static bool is_below(const char *folder, const char *name)
{
	char path[PATH_MAX];

	for (const char *rest = folder; (rest = strchr(rest, '/')) && rest[1]; rest++)
		if (snprintf(path, sizeof(path), DEBUG_FOLDER "/%s/%s", rest + 1, name) >=
			    (int)sizeof(path) ||
		    access(path, F_OK) == 0)
			return true;
	return snprintf(path, sizeof(path), DEBUG_FOLDER "/%s", name) >= (int)sizeof(path) ||
	       access(path, F_OK) == 0;
}

static bool is_beside(const char *folder, const char *between, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s%s", folder, between, name) >=
		       (int)sizeof(path) ||
	       access(path, F_OK) == 0;
}

/* Without a link, tries FILE.debug, and FILE itself if that is another file. */
static bool may_be_named(const char *path, const char *link)
{
	char folder[PATH_MAX], made[PATH_MAX];
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	const char *name = link ? link : made;

	if (snprintf(folder, sizeof(folder), "%.*s", (int)(file > path ? file - path - 1 : 0),
		     path) >= (int)sizeof(folder) ||
	    snprintf(made, sizeof(made), "%s.debug", file) >= (int)sizeof(made))
		return true;
	if (is_beside(folder, "", name) || is_beside(folder, ".debug/", name) ||
	    is_below(folder, name))
		return true;
	return !link && (is_beside(folder, ".debug/", file) || is_below(folder, file));
}

/* True if elfutils might find a debug file for `path` by its name. */
static bool may_have_file(const struct hp_elf *elf, const char *path)
{
	const Elf64_Shdr *section = section_named(elf, ".gnu_debuglink");
	char *link = section ? hp_elf_read(elf, section) : NULL;
	char *whole = realpath(path, NULL);
	bool may_be = (section && !link) || may_be_named(path, link) ||
		      (whole && strcmp(whole, path) != 0 && may_be_named(whole, link));

	free(whole);
	free(link);
	return may_be;
}

/* --- debug files by build-id --- */

enum found { FOUND_NONE, FOUND, FOUND_UNUSUAL };

/* Both must be linked to the same addresses: prelink may have moved one. */
static bool is_same_layout(const struct hp_elf *elf, const struct hp_elf *debug)
{
	return elf->header.e_type == debug->header.e_type &&
	       elf->header.e_entry == debug->header.e_entry && elf->count > 1 && debug->count > 1 &&
	       elf->sections[1].sh_addr == debug->sections[1].sh_addr;
}

static enum found debug_open(struct hp_symbol_table *table, const struct hp_elf *elf,
			     struct hp_elf *debug)
{
	unsigned char *id = table->id, other[HP_BUILD_ID_MAX];
	char path[sizeof(DEBUG_FOLDER) + 2 * HP_BUILD_ID_MAX + 32];
	size_t size = hp_elf_build_id(elf, id);
	char *to = path + sprintf(path, DEBUG_FOLDER "/.build-id/");
	int fd;

	*debug = HP_ELF_NONE;
	if (size < 3)
		return FOUND_NONE;
	for (size_t i = 0; i < size; i++)
		to += sprintf(to, i == 1 ? "/%02x" : "%02x", id[i]);
	strcpy(to, ".debug");
	fd = hp_elf_open(path);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? FOUND_NONE : FOUND_UNUSUAL;
	if (!hp_elf_init(debug, fd))
		return FOUND_UNUSUAL;
	if (hp_elf_build_id(debug, other) == size && memcmp(id, other, size) == 0 &&
	    is_same_layout(elf, debug) && fstat(debug->fd, &table->debug) == 0) {
		table->id_size = size;
		return FOUND;
	}
	hp_elf_release(debug);
	return FOUND_UNUSUAL;
}

/* --- the table --- */

static void table_read(struct hp_symbol_table *table, const struct hp_elf *elf,
		       const Elf64_Shdr *section)
{
	const Elf64_Shdr *names =
		section->sh_link < elf->count ? &elf->sections[section->sh_link] : NULL;

	table->is_unusual = true;
	if (!names || names->sh_type != SHT_STRTAB || section->sh_entsize != sizeof(Elf64_Sym))
		return;
	hp_elf_bytes_init(&table->symbols, elf, section);
	if (table->symbols.bytes)
		hp_elf_bytes_init(&table->names, elf, names);
	if (!table->names.bytes) {
		hp_elf_bytes_release(&table->symbols);
		return;
	}
	table->count = section->sh_size / sizeof(Elf64_Sym);
	table->names_size = names->sh_size;
	table->is_unusual = false;
}

/* For a file without .symtab: the debug file's table, or the exported symbols. */
static void table_find(struct hp_symbol_table *table, const struct hp_elf *elf, const char *path)
{
	const Elf64_Shdr *dynamic = hp_elf_typed(elf, SHT_DYNSYM), *section;
	struct hp_elf debug;
	enum found found = debug_open(table, elf, &debug);

	if (table->has_debug)
		table->id_size = 0;
	table->has_debug |= found != FOUND_NONE;
	if (found == FOUND) {
		section = hp_elf_typed(&debug, SHT_SYMTAB);
		table->is_unusual = !section;
		if (section)
			table_read(table, &debug, section);
		hp_elf_release(&debug);
	} else if (found == FOUND_UNUSUAL || !dynamic || section_named(elf, ".gnu_debugdata") ||
		   may_have_file(elf, path)) {
		table->has_debug = table->is_unusual = true;
	} else {
		table_read(table, elf, dynamic);
	}
}

void hp_symbol_table_init(struct hp_symbol_table *table, const struct hp_elf *elf, const char *path)
{
	const Elf64_Shdr *section = hp_elf_typed(elf, SHT_SYMTAB);
	struct hp_elf debug;

	*table = (struct hp_symbol_table){ .has_debug = has_debug_sections(elf) };
	if (!section) {
		table_find(table, elf, path);
		return;
	}
	table_read(table, elf, section);
	if (table->has_debug)
		return;
	table->has_debug = debug_open(table, elf, &debug) != FOUND_NONE || may_have_file(elf, path);
	hp_elf_release(&debug);
}
