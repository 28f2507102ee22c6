/* SPDX-License-Identifier: MIT */
/*
 * cpu_names.c - see cpu_names.h.
 */
#include "report/cpu_names.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/memory.h"
#include "segment/layout.h"

#define TEXT_MOST (UINT64_C(256) << 20)

struct hp_name_entry {
	uint64_t address;
	uint64_t size;	/* 0 = up to the next */
	const char *name;
};

/* All of a file, 0-terminated; NULL = it cannot be read. */
static char *read_all(int fd)
{
	size_t size = 0, room = 1 << 16;
	char *text = hp_xmalloc(room + 1);
	ssize_t got;

	while ((got = read(fd, text + size, room - size)) > 0) {
		size += (size_t)got;
		if (size < room)
			continue;
		if (room > TEXT_MOST)
			break;
		room *= 2;
		text = hp_xrealloc(text, room + 1, 1);
	}
	text[size] = '\0';
	return text;
}

static int compare_entries(const void *left, const void *right)
{
	const struct hp_name_entry *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void entry_add(struct hp_names *names, size_t *room, struct hp_name_entry entry)
{
	names->entries = hp_xgrow(names->entries, names->count, room, sizeof(*names->entries));
	names->entries[names->count++] = entry;
}

static void sort(struct hp_names *names)
{
	if (names->count)
		qsort(names->entries, names->count, sizeof(*names->entries), compare_entries);
}

/* ADDRESS LETTER NAME [MODULE] */
static void kernel_read(struct hp_names *names)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	size_t room = 0;

	*names = (struct hp_names){ .text = fd < 0 ? NULL : read_all(fd) };
	if (fd < 0)
		return;
	close(fd);
	for (char *next = names->text, *line; (line = strsep(&next, "\n"));) {
		char *at;
		uint64_t address = strtoull(line, &at, 16);

		/* All are 0 for who may not see them. */
		if (!address || at[0] != ' ' || !at[1] || !strchr("tTwW", at[1]) || at[2] != ' ')
			continue;
		at[3 + strcspn(at + 3, "\t ")] = '\0';
		entry_add(names, &room, (struct hp_name_entry){ address, 0, at + 3 });
	}
	sort(names);
}

void hp_names_init_kernel(struct hp_names *names)
{
	static struct hp_names kernel;
	static bool is_read;

	if (!is_read)
		kernel_read(&kernel);
	is_read = true;
	*names = kernel;
	names->is_shared = true;
}

/* ADDRESS SIZE NAME.  /tmp is everybody's: only a file of the user or of root is taken. */
void hp_names_init_map(struct hp_names *names, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	size_t room = 0;

	*names = (struct hp_names){ .text = NULL };
	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_uid == geteuid() || status.st_uid == 0))
		names->text = read_all(fd);
	if (fd >= 0)
		close(fd);
	for (char *next = names->text, *line; next && (line = strsep(&next, "\n"));) {
		char *at;
		uint64_t address = strtoull(line, &at, 16), size = strtoull(at, &at, 16);

		if (size && *at == ' ' && at[1])
			entry_add(names, &room, (struct hp_name_entry){ address, size, at + 1 });
	}
	sort(names);
}

void hp_names_release(struct hp_names *names)
{
	if (!names->is_shared) {
		free(names->text);
		free(names->entries);
	}
	*names = (struct hp_names){ .text = NULL };
}

const char *hp_names_at(const struct hp_names *names, uint64_t address)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names->entries[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct hp_name_entry *entry = &names->entries[low - 1];
	return entry->size && address - entry->address >= entry->size ? NULL : entry->name;
}

const char *hp_names_wait(uint32_t on)
{
	static const char *const names[HP_ON_ONS] = {
		[HP_ON_FUTEX] = "futex_wait", [HP_ON_SLEEP] = "nanosleep",
		[HP_ON_POLL] = "ep_poll",     [HP_ON_PIPE] = "pipe_wait",
		[HP_ON_SOCKET] = "sock_wait", [HP_ON_DISK] = "io_schedule",
		[HP_ON_CHILD] = "do_wait",    [HP_ON_SIGNAL] = "sigtimedwait",
		[HP_ON_OTHER] = "schedule",
	};

	return on < HP_ON_ONS && names[on] ? names[on] : names[HP_ON_OTHER];
}
