/* SPDX-License-Identifier: MIT */
/*
 * kernel_copy.c - see kernel_copy.h.
 *
 * The file is in this machine's byte order: head, addresses, offsets of names, names.
 * Only this user can access it, but everything in it is checked anyway.
 */
#include "report/name/kernel_copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"

#define MAGIC UINT64_C(0x314c454e52455048) /* "HPERNEL1" */
#define BOOT_ID_SIZE 40
#define BEGIN_SIZE 2048 /* of /proc/kallsyms */
#define COUNT_MAX (UINT32_C(1) << 22)

struct hp_kernel_copy_head {
	uint64_t magic;
	char boot_id[BOOT_ID_SIZE];
	char begin[BEGIN_SIZE]; /* as /proc/kallsyms showed it */
	uint64_t low; /* _stext */
	uint64_t high; /* _etext */
	uint32_t count;
	uint32_t names_size;
	uint64_t addresses[]; /* then a uint32_t for each name, then the names */
};

/* --- this boot --- */

/* The first `size` bytes; shorter files are padded with zeros. */
static bool begin_read(const char *path, char *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;
	ssize_t got = 0;

	if (fd < 0)
		return false;
	memset(bytes, 0, size);
	while (done < size && (got = read(fd, bytes + done, size - done)) > 0)
		done += (size_t)got;
	close(fd);
	return got >= 0 && done > 0;
}

static bool boot_read(struct hp_kernel_copy_head *head)
{
	return begin_read("/proc/sys/kernel/random/boot_id", head->boot_id, BOOT_ID_SIZE) &&
	       begin_read("/proc/kallsyms", head->begin, BEGIN_SIZE);
}

static bool is_this_boot(const struct hp_kernel_copy_head *head)
{
	struct hp_kernel_copy_head now;

	return boot_read(&now) && memcmp(now.boot_id, head->boot_id, BOOT_ID_SIZE) == 0 &&
	       memcmp(now.begin, head->begin, BEGIN_SIZE) == 0;
}

/* --- reading --- */

static const uint32_t *offsets_of(const struct hp_kernel_copy_head *head)
{
	return (const uint32_t *)(head->addresses + head->count);
}

static const char *names_of(const struct hp_kernel_copy_head *head)
{
	return (const char *)(offsets_of(head) + head->count);
}

static size_t size_of(const struct hp_kernel_copy_head *head)
{
	return sizeof(*head) + head->count * (sizeof(uint64_t) + sizeof(uint32_t)) +
	       head->names_size;
}

static bool is_sound(const struct hp_kernel_copy_head *head, size_t size)
{
	return head->magic == MAGIC && head->count && head->count <= COUNT_MAX &&
	       head->names_size && size_of(head) == size &&
	       names_of(head)[head->names_size - 1] == 0;
}

bool hp_kernel_copy_open(struct hp_kernel_copy *copy, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	void *bytes = MAP_FAILED;
	struct stat status;

	*copy = (struct hp_kernel_copy){ .head = NULL };
	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & 077) && (size_t)status.st_size > sizeof(*copy->head))
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	if (is_sound(bytes, (size_t)status.st_size) && is_this_boot(bytes)) {
		*copy = (struct hp_kernel_copy){ bytes, (size_t)status.st_size };
		return true;
	}
	munmap(bytes, (size_t)status.st_size);
	return false;
}

bool hp_kernel_copy_covers(const struct hp_kernel_copy *copy, uint64_t address)
{
	return copy->head && copy->head->low <= address && address < copy->head->high;
}

const char *hp_kernel_copy_at(const struct hp_kernel_copy *copy, uint64_t address)
{
	const struct hp_kernel_copy_head *head = copy->head;
	size_t low = 0, high = head->count;
	uint32_t offset;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (head->addresses[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	offset = low ? offsets_of(head)[low - 1] : head->names_size;
	return offset < head->names_size ? names_of(head) + offset : NULL;
}

/* --- writing --- */

static const struct hp_kernel_name *named(const struct hp_kernel_name *names, size_t count,
					  const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].name, name) == 0)
			return &names[i];
	return NULL;
}

/* The whole file, fresh; NULL = nothing to write. */
static struct hp_kernel_copy_head *copy_make(const struct hp_kernel_name *names, size_t count)
{
	const struct hp_kernel_name *low = named(names, count, "_stext"),
				    *high = named(names, count, "_etext");
	struct hp_kernel_copy_head *head;
	uint64_t names_size = 0;
	uint32_t *offsets;
	char *texts;

	if (!low || !high || low >= high)
		return NULL;
	/* The last of several at one address wins. */
	while (low > names && low[-1].address == low->address)
		low--;
	while (high + 1 < names + count && high[1].address == high->address)
		high++;
	count = (size_t)(high - low) + 1;
	for (size_t i = 0; i < count; i++)
		names_size += strlen(low[i].name) + 1;
	if (count > COUNT_MAX || names_size > UINT32_MAX)
		return NULL;
	head = hp_xcalloc(1, sizeof(*head) + count * (sizeof(uint64_t) + sizeof(uint32_t)) +
				     names_size);
	head->magic = MAGIC;
	head->low = low->address;
	head->high = high->address;
	head->count = (uint32_t)count;
	head->names_size = (uint32_t)names_size;
	offsets = (uint32_t *)(head->addresses + count);
	texts = (char *)(offsets + count);
	for (size_t i = 0, at = 0; i < count; i++) {
		head->addresses[i] = low[i].address;
		offsets[i] = (uint32_t)at;
		strcpy(texts + at, low[i].name);
		at += strlen(low[i].name) + 1;
	}
	return head;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size) {
		ssize_t done = write(fd, from, size);

		if (done <= 0)
			return false;
		from += done;
		size -= (size_t)done;
	}
	return true;
}

static bool is_written(const char *path, const struct hp_kernel_copy_head *head)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_fine;

	if (fd < 0)
		return false;
	is_fine = write_all(fd, head, size_of(head));
	return close(fd) == 0 && is_fine;
}

void hp_kernel_copy_write(const char *path, const struct hp_kernel_name *names, size_t count)
{
	struct hp_kernel_copy_head *head = copy_make(names, count);
	char *fresh = hp_xprintf("%s.%u", path, (unsigned)getpid());

	/* A file left by an earlier process with this pid is stale. */
	unlink(fresh);
	if (head && boot_read(head) && (!is_written(fresh, head) || rename(fresh, path) < 0))
		unlink(fresh);
	free(fresh);
	free(head);
}
