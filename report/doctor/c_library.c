/* SPDX-License-Identifier: MIT */
/*
 * c_library.c - see c_library.h.
 *
 * Versions are read where the loader reads them: DT_VERNEED and DT_VERDEF of the dynamic section
 * (https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html).
 */
#include "report/doctor/c_library.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE_MAX (64u << 20)	/* of a file; glibc's is 2 MB */
#define VERSIONS_MAX 512	/* in one list */
#define WEAK_VERSION 0x2	/* VER_FLG_WEAK: optional for all users */

struct file {
	char *bytes;
	size_t size;
	const Elf64_Phdr *heads;
	size_t count;
	uint64_t tables[4];	/* by enum table, as offsets in the file; 0 = none */
};

enum table { NAMES, NEEDED, DEFINED };

/* `size` bytes at `offset`, or NULL if the file does not have them. */
static const void *bytes_at(const struct file *file, uint64_t offset, size_t size)
{
	return offset <= file->size && size <= file->size - offset ? file->bytes + offset : NULL;
}

static uint64_t offset_of(const struct file *file, uint64_t address)
{
	for (size_t i = 0; i < file->count; i++) {
		const Elf64_Phdr *head = &file->heads[i];

		if (head->p_type == PT_LOAD && address >= head->p_vaddr &&
		    address - head->p_vaddr < head->p_filesz)
			return head->p_offset + (address - head->p_vaddr);
	}
	return 0;
}

static void find_tables(struct file *file, const Elf64_Phdr *dynamic)
{
	for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->p_filesz;
	     at += sizeof(Elf64_Dyn)) {
		const Elf64_Dyn *entry = bytes_at(file, dynamic->p_offset + at, sizeof(*entry));
		Elf64_Dyn copy;

		if (!entry)
			return;
		memcpy(&copy, entry, sizeof(copy));
		if (copy.d_tag == DT_NULL)
			return;
		if (copy.d_tag == DT_STRTAB)
			file->tables[NAMES] = offset_of(file, copy.d_un.d_ptr);
		else if (copy.d_tag == DT_VERNEED)
			file->tables[NEEDED] = offset_of(file, copy.d_un.d_ptr);
		else if (copy.d_tag == DT_VERDEF)
			file->tables[DEFINED] = offset_of(file, copy.d_un.d_ptr);
	}
}

static bool file_read(struct file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	size_t got = 0;

	*file = (struct file){ .bytes = NULL };
	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size >= (off_t)sizeof(Elf64_Ehdr) && status.st_size <= (off_t)FILE_SIZE_MAX)
		file->bytes = malloc((size_t)status.st_size);
	for (ssize_t more = 1; file->bytes && more > 0 && got<(size_t)status.st_size; got += more> 0
				       ? (size_t)more
				       : 0)
		more = read(fd, file->bytes + got, (size_t)status.st_size - got);
	close(fd);
	file->size = got;
	return file->bytes && got >= sizeof(Elf64_Ehdr);
}

/* The caller frees file->bytes, whatever this returns. */
static bool file_open(struct file *file, const char *path)
{
	Elf64_Ehdr header;

	if (!file_read(file, path))
		return false;
	memcpy(&header, file->bytes, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phoff % 8 != 0 ||
	    header.e_phentsize != sizeof(*file->heads))
		return false;
	file->heads = bytes_at(file, header.e_phoff, (size_t)header.e_phnum * sizeof(*file->heads));
	file->count = file->heads ? header.e_phnum : 0;
	for (size_t i = 0; i < file->count; i++)
		if (file->heads[i].p_type == PT_DYNAMIC)
			find_tables(file, &file->heads[i]);
	return file->tables[NAMES] != 0;
}

/* From "GLIBC_2.36"; 0 for all others, including GLIBC_PRIVATE and GLIBC_ABI_... */
static unsigned version_of(const struct file *file, uint32_t name)
{
	char text[24] = "";
	unsigned major = 0, minor = 0;
	int end = 0;

	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		const char *letter = bytes_at(file, file->tables[NAMES] + name + i, 1);

		if (!letter || !*letter)
			break;
		text[i] = *letter;
	}
	if (sscanf(text, "GLIBC_%3u.%3u%n", &major, &minor, &end) != 2 || major == 0)
		return 0;
	return text[end] == '\0' || text[end] == '.' ? major * 1000 + minor : 0;
}

static unsigned newer(unsigned one, unsigned other)
{
	return one > other ? one : other;
}

static unsigned newest_needed(const struct file *file)
{
	uint64_t at = file->tables[NEEDED];
	unsigned newest = 0, left = VERSIONS_MAX;
	Elf64_Verneed need;
	Elf64_Vernaux one;

	for (const void *place; at && left > 0 && (place = bytes_at(file, at, sizeof(need)));
	     at = need.vn_next ? at + need.vn_next : 0, left--) {
		uint64_t next = at;

		memcpy(&need, place, sizeof(need));
		one.vna_next = need.vn_aux;
		for (unsigned i = 0; i < need.vn_cnt && one.vna_next && left > 0; i++, left--) {
			next += one.vna_next;
			if (!(place = bytes_at(file, next, sizeof(one))))
				break;
			memcpy(&one, place, sizeof(one));
			if (!(one.vna_flags & WEAK_VERSION))
				newest = newer(newest, version_of(file, one.vna_name));
		}
	}
	return newest;
}

static unsigned newest_defined(const struct file *file)
{
	uint64_t at = file->tables[DEFINED];
	unsigned newest = 0, left = VERSIONS_MAX;
	Elf64_Verdef definition;

	for (const void *place; at && left > 0 && (place = bytes_at(file, at, sizeof(definition)));
	     at = definition.vd_next ? at + definition.vd_next : 0, left--) {
		Elf64_Verdaux name;

		memcpy(&definition, place, sizeof(definition));
		if (!(place = bytes_at(file, at + definition.vd_aux, sizeof(name))))
			break;
		memcpy(&name, place, sizeof(name));
		newest = newer(newest, version_of(file, name.vda_name));
	}
	return newest;
}

unsigned hp_c_library_needed(const char *path)
{
	struct file file;
	unsigned version = file_open(&file, path) ? newest_needed(&file) : 0;

	free(file.bytes);
	return version;
}

unsigned hp_c_library_version(const char *path)
{
	struct file file;
	unsigned version = file_open(&file, path) ? newest_defined(&file) : 0;

	free(file.bytes);
	return version;
}

/* --- paths --- */

bool hp_c_library_beside(const char *linker, char path[PATH_MAX])
{
	char *real = realpath(linker, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;
	int length = slash ? snprintf(path, PATH_MAX, "%.*s/libc.so.6", (int)(slash - real), real)
			   : PATH_MAX;

	free(real);
	return length < PATH_MAX && access(path, R_OK) == 0;
}

bool hp_c_library_in(const char *root, char path[PATH_MAX])
{
	static const char *const places[] = {
#if defined(__x86_64__)
		"lib/x86_64-linux-gnu",
		"usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"lib/aarch64-linux-gnu",
		"usr/lib/aarch64-linux-gnu",
#endif
		"lib64",
		"usr/lib64",
		"lib",
		"usr/lib",
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(path, PATH_MAX, "%s/%s/libc.so.6", root, places[i]) < PATH_MAX &&
		    hp_c_library_version(path))
			return true;
	return false;
}

const char *hp_own_linker(void)
{
	const Elf64_Phdr *heads = (const void *)(uintptr_t)getauxval(AT_PHDR);
	size_t count = heads ? getauxval(AT_PHNUM) : 0;
	uintptr_t base = 0;

	for (size_t i = 0; i < count; i++)
		if (heads[i].p_type == PT_PHDR)
			base = (uintptr_t)heads - heads[i].p_vaddr;
	for (size_t i = 0; i < count; i++)
		if (heads[i].p_type == PT_INTERP)
			return (const char *)(base + heads[i].p_vaddr);
	return "";
}

void hp_c_library_text(unsigned version, char text[HP_C_LIBRARY_TEXT])
{
	snprintf(text, HP_C_LIBRARY_TEXT, "%u.%u", version / 1000 % 1000, version % 1000);
}
