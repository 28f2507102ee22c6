/* SPDX-License-Identifier: MIT */
/*
 * program.c - see program.h.
 *
 * The files are untrusted: offsets and sizes are only used for reads of bounded
 * size, which fail beyond the end.
 */
#include "report/doctor/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "report/doctor/c_library.h"
#include "segment/defaults.h"

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"
#define SCRIPTS_MAX 4	/* nested #! lines before the kernel stops trying */
#define HEADS_MAX 64	/* program headers read */
#define ENTRIES_MAX 256	/* of the dynamic section */
#define NOTES_MAX 4096	/* bytes read from a PT_NOTE segment */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE	/* not checked */
#endif

static const struct hp_obstacle is_static = {
	"static",
	"is statically linked",
	"link it without -static and -static-pie",
};
static const struct hp_obstacle gains_rights = {
	"rights",
	"runs with more privileges than yours (setuid, setgid or capabilities)",
	"run it as its owner, or run a copy: cp drops these privileges",
};
static const struct hp_obstacle other_processor = {
	"processor",
	"is built for another architecture",
	"build it for this one, or hotpath for that one",
};
static const struct hp_obstacle other_libc = {
	"libc",
	"is linked against another C library than glibc",
	"build it against glibc",
};

static struct hp_obstacle older_libc = {
	"old-libc",
	NULL,	/* filled when found */
	"build hotpath with that C library, or an older one",
};

/* --- path --- */

/* 0 = executable. */
static int check(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return errno == EACCES ? -EACCES : -ENOENT;
	return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int hp_program_find(struct hp_program *program, const char *name)
{
	const char *folders = getenv("PATH");
	int error = -ENOENT;

	*program = (struct hp_program){ .obstacle = NULL };
	if (strchr(name, '/') || !*name) {
		snprintf(program->path, sizeof(program->path), "%s", name);
		return check(program->path);
	}
	for (const char *at = folders ? folders : USUAL_PATH;; at++) {
		const char *end = strchrnul(at, ':');

		snprintf(program->path, sizeof(program->path), "%.*s%s%s", (int)(end - at), at,
			 end > at ? "/" : "", name);
		int found = check(program->path);
		if (found == 0)
			return 0;
		if (found == -EACCES)
			error = found;
		if (!*end)
			return error;
		at = end;
	}
}

/* --- kind --- */

/* True if the kernel grants no privileges at exec, as is common in containers and sandboxes. */
static bool is_without_new_rights(const char *path)
{
	struct statvfs mount;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (statvfs(path, &mount) == 0 && mount.f_flag & ST_NOSUID);
}

/* ld.so ignores LD_PRELOAD if a program runs with more privileges than its user. */
static bool has_more_rights(const char *path)
{
	struct stat status;
	char capabilities[32];

	if (stat(path, &status) < 0)
		return false;
	bool has_any = (geteuid() != 0 && getxattr(path, "security.capability", capabilities,
						   sizeof(capabilities)) > 0) ||
		       (status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
		       (status.st_mode & S_ISGID && status.st_mode & S_IXGRP &&
			status.st_gid != getegid());
	return has_any && !is_without_new_rights(path);
}

struct image {
	int fd;
	Elf64_Phdr heads[HEADS_MAX];
	size_t count;
};

static const Elf64_Phdr *head_of(const struct image *image, Elf64_Word type)
{
	for (size_t i = 0; i < image->count; i++)
		if (image->heads[i].p_type == type)
			return &image->heads[i];
	return NULL;
}

/* At most room - 1 bytes at `offset`, up to the first 0. */
static void read_text(int fd, uint64_t offset, char *text, size_t room)
{
	ssize_t size = offset < INT64_MAX ? pread(fd, text, room - 1, (off_t)offset) : 0;

	text[size > 0 ? size : 0] = '\0';
}

/* The file offset of `address`; 0 = none. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->count; i++) {
		const Elf64_Phdr *head = &image->heads[i];

		if (head->p_type == PT_LOAD && address >= head->p_vaddr &&
		    address - head->p_vaddr < head->p_filesz)
			return head->p_offset + (address - head->p_vaddr);
	}
	return 0;
}

/* True if it needs a library of this kind. */
static bool needs_asan(const struct image *image)
{
	const Elf64_Phdr *head = head_of(image, PT_DYNAMIC);
	Elf64_Dyn entries[ENTRIES_MAX];
	uint64_t names = 0;

	if (!head || head->p_offset > INT64_MAX)
		return false;
	ssize_t size = pread(image->fd, entries, sizeof(entries), (off_t)head->p_offset);
	size_t count = size > 0 ? (size_t)size / sizeof(*entries) : 0;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
		if (entries[i].d_tag == DT_STRTAB)
			names = offset_of(image, entries[i].d_un.d_ptr);
	for (size_t i = 0; names && i < count && entries[i].d_tag != DT_NULL; i++) {
		char name[64];

		if (entries[i].d_tag != DT_NEEDED)
			continue;
		read_text(image->fd, names + entries[i].d_un.d_val, name, sizeof(name));
		if (strstr(name, "libasan.so") || strstr(name, "libclang_rt.asan"))
			return true;
	}
	return false;
}

/* The text of HOTPATH_DEFAULTS. */
static void read_defaults(struct hp_program *program, const struct image *image)
{
	char notes[NOTES_MAX];

	for (size_t i = 0; i < image->count; i++) {
		const Elf64_Phdr *head = &image->heads[i];

		if (head->p_type != PT_NOTE || head->p_offset > INT64_MAX)
			continue;
		ssize_t size =
			pread(image->fd, notes,
			      head->p_filesz < sizeof(notes) ? head->p_filesz : sizeof(notes),
			      (off_t)head->p_offset);
		if (size > 0)
			hp_defaults_add(program->defaults, notes, notes + size);
	}
}

static bool is_of_glibc(const char *linker)
{
	static const char *const others[] = { "ld-musl-", "ld-uClibc", "/linker" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(linker, others[i]))
			return false;
	return true;
}

static void inspect_elf(struct hp_program *program, int fd, const Elf64_Ehdr *header)
{
	bool is_other =
		header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
		(OWN_MACHINE != EM_NONE && header->e_machine != OWN_MACHINE);
	struct image image = { .fd = fd };

	program->is_elf = true;
	if (is_other)
		program->obstacle = &other_processor;
	if (is_other || sizeof(void *) != 8 || header->e_phentsize != sizeof(*image.heads))
		return;
	image.count = header->e_phnum < HEADS_MAX ? header->e_phnum : HEADS_MAX;
	ssize_t size =
		pread(fd, image.heads, image.count * sizeof(*image.heads), (off_t)header->e_phoff);
	image.count = size > 0 ? (size_t)size / sizeof(*image.heads) : 0;
	read_defaults(program, &image);
	const Elf64_Phdr *linker = head_of(&image, PT_INTERP);
	if (!linker) {
		program->obstacle = &is_static;
		return;
	}
	read_text(fd, linker->p_offset, program->linker, sizeof(program->linker));
	if (access(program->linker, F_OK) < 0)
		strcpy(program->missing, program->linker);
	if (!is_of_glibc(program->linker))
		program->obstacle = &other_libc;
	else if (has_more_rights(program->checked))
		program->obstacle = &gains_rights;
	program->has_asan = needs_asan(&image);
}

/* The program after `#!`; false if none. */
static bool script_program(const char *text, char path[PATH_MAX])
{
	if (strncmp(text, "#!", 2) != 0)
		return false;
	text += 2 + strspn(text + 2, " \t");
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(text, " \t\n"), text);
	return true;
}

/* If `checked` is a script, replaces it with its interpreter and returns true. */
static bool inspect_one(struct hp_program *program)
{
	union {
		Elf64_Ehdr header;
		char text[256];
	} start;
	int fd = open(program->checked, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		if (errno == ENOENT)
			strcpy(program->missing, program->checked);
		else if (has_more_rights(program->checked))	/* often not even readable */
			program->obstacle = &gains_rights;
		return false;
	}
	memset(&start, 0, sizeof(start));
	ssize_t size = pread(fd, &start, sizeof(start.text) - 1, 0);
	bool is_script = script_program(start.text, program->checked);
	if (!is_script && size >= (ssize_t)sizeof(start.header) &&
	    !memcmp(start.header.e_ident, ELFMAG, SELFMAG))
		inspect_elf(program, fd, &start.header);
	close(fd);
	return is_script;
}

void hp_program_inspect(struct hp_program *program)
{
	strcpy(program->checked, program->path);
	for (int i = 0; i <= SCRIPTS_MAX && inspect_one(program); i++)
		;
}

void hp_program_meet(struct hp_program *program, const char *library)
{
	static char what[160];
	char path[PATH_MAX], has[HP_C_LIBRARY_TEXT], needs[HP_C_LIBRARY_TEXT];

	if (program->obstacle || !program->linker[0] ||
	    strcmp(program->linker, hp_own_linker()) == 0 ||
	    !hp_c_library_beside(program->linker, path))
		return;
	unsigned version = hp_c_library_version(path), needed = hp_c_library_needed(library);

	if (version == 0 || version >= needed)
		return;
	hp_c_library_text(version, has);
	hp_c_library_text(needed, needs);
	snprintf(what, sizeof(what), "runs with glibc %s, and libhotpath.so was built for %s", has,
		 needs);
	older_libc.what = what;
	program->obstacle = &older_libc;
	program->would_end = true;
}
