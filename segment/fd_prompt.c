/* SPDX-License-Identifier: MIT */
/*
 * fd_prompt.c - see fd_prompt.h.
 *
 * The kind of file system is in the list of mounts, by the number of the mount (btrfs
 * has other device numbers there than fstat returns).  fstatfs(2) would ask the process
 * that serves it.
 */
#include "segment/fd_prompt.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPTIONAL 6	/* the first of a line's optional fields, which a "-" ends */
#define FIELD_MAX 32	/* no longer field matters */

struct mounts {
	unsigned long wanted;	/* number of the mount */
	char field[FIELD_MAX];
	uint32_t length;	/* of the field so far */
	uint32_t number;	/* of the field */
	bool is_wanted;	/* the line is about it */
	bool is_type;	/* the field is the type of the file system */
	bool is_found;
	bool is_served;
};

/* Number of the mount that the file is on; 0 = unknown. */
static unsigned long mount_of(int fd)
{
	char path[64], text[512];
	const char *number;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = info < 0 ? 0 : read(info, text, sizeof(text) - 1);

	if (info >= 0)
		close(info);
	text[size > 0 ? size : 0] = '\0';
	number = strstr(text, "mnt_id:");
	return number ? strtoul(number + strlen("mnt_id:"), NULL, 10) : 0;
}

static void field_end(struct mounts *m)
{
	m->field[m->length < FIELD_MAX ? m->length : 0] = '\0';
	if (m->number == 0)
		m->is_wanted = strtoul(m->field, NULL, 10) == m->wanted;
	if (m->is_type && m->is_wanted) {
		m->is_found = true;
		m->is_served = strncmp(m->field, "fuse", 4) == 0 || strcmp(m->field, "proc") == 0;
	}
	m->is_type = m->number >= OPTIONAL && strcmp(m->field, "-") == 0;
	m->number++;
	m->length = 0;
}

static void letter(struct mounts *m, char c)
{
	if (c == ' ' || c == '\n')
		field_end(m);
	else if (m->length < FIELD_MAX)
		m->field[m->length++] = c;
	if (c == '\n') {
		m->number = 0;
		m->is_wanted = m->is_type = false;
	}
}

/* False = a process serves it, or it is not mounted in our namespace. */
static bool is_mounted(unsigned long wanted)
{
	struct mounts mounts = { .wanted = wanted };
	int list = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t size;

	while (list >= 0 && (size = read(list, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < size; i++)
			letter(&mounts, text[i]);
	if (list >= 0)
		close(list);
	return mounts.is_found && !mounts.is_served;
}

bool hp_fd_is_prompt(int fd, uid_t owner)
{
	struct statx status;
	unsigned long mount;

	/* AT_STATX_DONT_SYNC: what the kernel knows without asking. */
	if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_UID,
		    &status) != 0 ||
	    !S_ISREG(status.stx_mode) || status.stx_uid != owner)
		return false;
	/* Shared memory, which may be mounted nowhere: only its files have seals. */
	if (fcntl(fd, F_GET_SEALS) >= 0)
		return true;
	mount = mount_of(fd);
	return mount && is_mounted(mount);
}
