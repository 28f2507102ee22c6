/* SPDX-License-Identifier: MIT */
/*
 * program.c - see program.h.
 */
#include "report/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define USUAL_PATH "/usr/local/bin:/usr/bin:/bin"
#define HEADS_MOST 64	/* program headers looked at */

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE	/* not checked */
#endif

/* 0 = it can be executed. */
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

	program->obstacle = NULL;
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

/* ld.so ignores LD_PRELOAD where a program runs with more rights than its user. */
static bool gains_rights(const char *path)
{
	struct stat status;
	char capabilities[32];

	if (stat(path, &status) < 0)
		return false;
	if (geteuid() != 0 &&
	    getxattr(path, "security.capability", capabilities, sizeof(capabilities)) > 0)
		return true;
	return (status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
	       (status.st_mode & S_ISGID && status.st_mode & S_IXGRP && status.st_gid != getegid());
}

/* True unless the file is a 64-bit ELF that names no ld.so. */
static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
	Elf64_Phdr heads[HEADS_MOST];
	size_t count = header->e_phnum < HEADS_MOST ? header->e_phnum : HEADS_MOST;

	ssize_t size = pread(fd, heads, count * sizeof(*heads), (off_t)header->e_phoff);
	if (size < 0 || header->e_phentsize != sizeof(*heads))
		return true;
	for (size_t i = 0; i < (size_t)size / sizeof(*heads); i++)
		if (heads[i].p_type == PT_INTERP)
			return true;
	return false;
}

static const char *elf_obstacle(int fd, const Elf64_Ehdr *header)
{
	bool is_other =
		header->e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
		(OWN_MACHINE != EM_NONE && header->e_machine != OWN_MACHINE);

	if (is_other)
		return "is built for another kind of processor";
	if (sizeof(void *) == 8 && !has_interpreter(fd, header))
		return "is statically linked";
	return NULL;
}

/* The program behind `#!`; false if there is none. */
static bool script_program(const char *text, char path[PATH_MAX])
{
	if (strncmp(text, "#!", 2) != 0)
		return false;
	text += 2 + strspn(text + 2, " \t");
	snprintf(path, PATH_MAX, "%.*s", (int)strcspn(text, " \t\n"), text);
	return true;
}

static const char *obstacle_of(const char *path, int depth)
{
	union {
		Elf64_Ehdr header;
		char text[256];
	} start;
	char next[PATH_MAX];

	if (gains_rights(path))
		return "runs with more rights than yours (setuid, setgid or capabilities)";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	memset(&start, 0, sizeof(start));
	ssize_t size = pread(fd, &start, sizeof(start.text) - 1, 0);
	const char *obstacle = NULL;
	if (size >= (ssize_t)sizeof(start.header) && !memcmp(start.header.e_ident, ELFMAG, SELFMAG))
		obstacle = elf_obstacle(fd, &start.header);
	close(fd);
	if (depth == 0 && script_program(start.text, next))
		return obstacle_of(next, depth + 1);
	return obstacle;
}

void hp_program_inspect(struct hp_program *program)
{
	program->obstacle = obstacle_of(program->path, 0);
}
