/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - the sections of an ELF file, read without a library.
 *
 * Symbols need no more than that, and a report should not load libdw and its
 * thirty dependencies just for names. Only the usual kind of file is supported:
 * 64 bits, this machine's byte order, with section headers. Nothing in a file
 * is trusted: sections are checked to lie within it.
 */
#ifndef HP_REPORT_ELF_ELF_FILE_H
#define HP_REPORT_ELF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_BUILD_ID_MAX 64

struct hp_elf {
	int fd;	/* -1 = none */
	uint64_t size;	/* of the file */
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t count;
	char *names;	/* of sections, 0-terminated */
	uint64_t names_size;
};

#define HP_ELF_NONE ((struct hp_elf){ .fd = -1 })

/* Opens a regular file without blocking; -1 and errno on failure. */
int hp_elf_open(const char *path);

/* Takes over the descriptor. False = not a supported file, and `elf` holds nothing. */
bool hp_elf_init(struct hp_elf *elf, int fd);
void hp_elf_release(struct hp_elf *elf);

/* "" if the file has none. */
const char *hp_elf_name(const struct hp_elf *elf, const Elf64_Shdr *section);

/* The first section of a type; NULL = none. */
const Elf64_Shdr *hp_elf_typed(const struct hp_elf *elf, uint32_t type);

/* A fresh copy of the contents, 0-terminated; NULL = not in the file, or compressed. */
char *hp_elf_read(const struct hp_elf *elf, const Elf64_Shdr *section);

/* A section's contents, 0-terminated. */
struct hp_elf_bytes {
	char *bytes;	/* NULL = not in the file, or compressed */
	size_t mapped;	/* size of the mapping; 0 = allocated */
};

/*
 * Without a copy where the section is large and this process survives that the
 * file is truncated (guard.h); then its pages read as zeros.
 */
void hp_elf_bytes_init(struct hp_elf_bytes *to, const struct hp_elf *elf,
		       const Elf64_Shdr *section);

/* The same for a section of which few pages will be read: they are mapped when they are. */
void hp_elf_bytes_init_sparse(struct hp_elf_bytes *to, const struct hp_elf *elf,
			      const Elf64_Shdr *section);
void hp_elf_bytes_release(struct hp_elf_bytes *bytes);

/* Returns the size of the build-id; 0 = none exists. */
size_t hp_elf_build_id(const struct hp_elf *elf, unsigned char id[HP_BUILD_ID_MAX]);

#endif
