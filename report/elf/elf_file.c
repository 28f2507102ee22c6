/* SPDX-License-Identifier: MIT */
/*
 * elf_file.c - see elf_file.h.
 */
#include "report/elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"
#include "segment/guard.h"

#define SECTIONS_MAX 65280 /* files with more store the number elsewhere */
#define READ_MAX (UINT64_C(1) << 30) /* bytes of a section */
#define MAP_MIN (UINT64_C(1) << 18) /* a smaller section is copied as fast */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OUR_ORDER ELFDATA2LSB
#else
#define OUR_ORDER ELFDATA2MSB
#endif

int hp_elf_open(const char *path)
{
	return hp_behalf_open(path, 0);
}

static bool read_at(const struct hp_elf *elf, uint64_t offset, void *bytes, uint64_t size)
{
	char *to = bytes;

	if (offset > elf->size || size > elf->size - offset)
		return false;
	while (size) {
		ssize_t got = pread(elf->fd, to, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		offset += (uint64_t)got;
		size -= (uint64_t)got;
	}
	return true;
}

static bool header_read(struct hp_elf *elf)
{
	const Elf64_Ehdr *header = &elf->header;

	return read_at(elf, 0, &elf->header, sizeof(elf->header)) &&
	       memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == OUR_ORDER &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN) &&
	       header->e_shentsize == sizeof(*elf->sections) && header->e_shnum &&
	       header->e_shnum < SECTIONS_MAX && header->e_shstrndx < header->e_shnum;
}

static bool sections_read(struct hp_elf *elf)
{
	uint64_t size = (uint64_t)elf->header.e_shnum * sizeof(*elf->sections);
	const Elf64_Shdr *names;

	elf->sections = hp_xmalloc(size);
	if (!read_at(elf, elf->header.e_shoff, elf->sections, size))
		return false;
	elf->count = elf->header.e_shnum;
	names = &elf->sections[elf->header.e_shstrndx];
	elf->names = hp_elf_read(elf, names);
	elf->names_size = names->sh_size;
	return elf->names != NULL;
}

bool hp_elf_init(struct hp_elf *elf, int fd)
{
	struct stat status;

	*elf = (struct hp_elf){ .fd = fd };
	if (fstat(elf->fd, &status) == 0) {
		elf->size = (uint64_t)status.st_size;
		if (header_read(elf) && sections_read(elf))
			return true;
	}
	hp_elf_release(elf);
	return false;
}

void hp_elf_release(struct hp_elf *elf)
{
	if (elf->fd >= 0)
		close(elf->fd);
	free(elf->sections);
	free(elf->names);
	*elf = HP_ELF_NONE;
}

const char *hp_elf_name(const struct hp_elf *elf, const Elf64_Shdr *section)
{
	return section->sh_name < elf->names_size ? elf->names + section->sh_name : "";
}

const Elf64_Shdr *hp_elf_typed(const struct hp_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->count; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

/* Checked before allocating: a damaged header may claim any size. */
static bool is_inside(const struct hp_elf *elf, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS && !(section->sh_flags & SHF_COMPRESSED) &&
	       section->sh_size <= READ_MAX && section->sh_offset <= elf->size &&
	       section->sh_size <= elf->size - section->sh_offset;
}

char *hp_elf_read(const struct hp_elf *elf, const Elf64_Shdr *section)
{
	char *bytes;

	if (!is_inside(elf, section))
		return NULL;
	bytes = hp_xmalloc(section->sh_size + 1);
	if (!read_at(elf, section->sh_offset, bytes, section->sh_size)) {
		free(bytes);
		return NULL;
	}
	bytes[section->sh_size] = 0;
	return bytes;
}

/* A page of zeros follows, so that texts end whatever the file has become. */
static char *map(const struct hp_elf *elf, const Elf64_Shdr *section, int populate, size_t *mapped)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skipped = section->sh_offset % page;
	size_t used = (skipped + section->sh_size + page - 1) / page * page;
	char *base;

	base = mmap(NULL, used + page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		    0);
	if (base == MAP_FAILED)
		return NULL;
	if (!hp_guard_range_add(base, used)) {
		munmap(base, used + page);
		return NULL;
	}
	if (mmap(base, used, PROT_READ, MAP_PRIVATE | MAP_FIXED | populate, elf->fd,
		 (off_t)(section->sh_offset - skipped)) == MAP_FAILED) {
		hp_guard_range_remove(base);
		munmap(base, used + page);
		return NULL;
	}
	*mapped = used + page;
	return base + skipped;
}

static void bytes_init(struct hp_elf_bytes *to, const struct hp_elf *elf, const Elf64_Shdr *section,
		       int populate)
{
	*to = (struct hp_elf_bytes){ .bytes = NULL };
	if (section->sh_size >= MAP_MIN && is_inside(elf, section))
		to->bytes = map(elf, section, populate, &to->mapped);
	if (!to->bytes)
		to->bytes = hp_elf_read(elf, section);
}

void hp_elf_bytes_init(struct hp_elf_bytes *to, const struct hp_elf *elf, const Elf64_Shdr *section)
{
	bytes_init(to, elf, section, MAP_POPULATE);
}

void hp_elf_bytes_init_sparse(struct hp_elf_bytes *to, const struct hp_elf *elf,
			      const Elf64_Shdr *section)
{
	bytes_init(to, elf, section, 0);
}

void hp_elf_bytes_release(struct hp_elf_bytes *bytes)
{
	char *base = bytes->bytes;

	if (bytes->mapped) {
		base -= (uintptr_t)base % (size_t)sysconf(_SC_PAGESIZE);
		hp_guard_range_remove(base);
		munmap(base, bytes->mapped);
	} else {
		free(base);
	}
	*bytes = (struct hp_elf_bytes){ .bytes = NULL };
}

/* Notes are padded to 4 bytes; sections aligned to 8 hold other notes. */
static uint64_t padded(uint64_t size)
{
	return (size + 3) & ~UINT64_C(3);
}

static size_t note_find(const char *notes, uint64_t size, unsigned char id[HP_BUILD_ID_MAX])
{
	Elf64_Nhdr note;
	uint64_t at = 0;

	while (size - at >= sizeof(note)) {
		uint64_t name = at + sizeof(note), text, end;

		memcpy(&note, notes + at, sizeof(note));
		text = name + padded(note.n_namesz);
		end = text + note.n_descsz;
		if (end > size)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			if (note.n_descsz > HP_BUILD_ID_MAX)
				return 0;
			memcpy(id, notes + text, note.n_descsz);
			return note.n_descsz;
		}
		at = text + padded(note.n_descsz);
		if (at > size)
			return 0;
	}
	return 0;
}

size_t hp_elf_build_id(const struct hp_elf *elf, unsigned char id[HP_BUILD_ID_MAX])
{
	size_t size = 0;

	for (size_t i = 0; i < elf->count && !size; i++) {
		char *notes = elf->sections[i].sh_type == SHT_NOTE
				      ? hp_elf_read(elf, &elf->sections[i])
				      : NULL;

		if (notes)
			size = note_find(notes, elf->sections[i].sh_size, id);
		free(notes);
	}
	return size;
}
