/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - see kernel.h.
 */
#include "report/name/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"
#include "report/name/kernel_copy.h"
#include "segment/layout/sample.h"

#define TEXT_MAX (UINT64_C(256) << 20)

struct hp_name_entry {
	uint64_t address;
	uint64_t size; /* 0 = until the next */
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
		if (room > TEXT_MAX)
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

/* --- the kernel --- */

/* Of this process; in one thread. */
static struct {
	struct hp_names names;
	bool is_read; /* was tried */
	const char *path; /* of the copy; NULL = none */
	struct hp_kernel_copy copy;
	bool is_opened; /* was tried */
} kernel;

static bool is_code(char letter)
{
	return letter && strchr("tTwW", letter);
}

/*
 * ADDRESS LETTER NAME [MODULE]. If addresses are hidden, all are 0, and no code
 * is at 0: stop reading.
 */
static void kernel_parse(struct hp_names *names)
{
	size_t room = 0;

	for (char *next = names->text, *line; (line = strsep(&next, "\n"));) {
		char *at;
		uint64_t address = strtoull(line, &at, 16);

		if (at[0] != ' ' || !is_code(at[1]) || at[2] != ' ')
			continue;
		if (!address)
			break;
		at[3 + strcspn(at + 3, "\t ")] = '\0';
		entry_add(names, &room, (struct hp_name_entry){ address, 0, at + 3 });
	}
	sort(names);
}

static void kernel_read(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	kernel.is_read = true;
	kernel.names.text = fd < 0 ? NULL : read_all(fd);
	if (fd < 0)
		return;
	close(fd);
	kernel_parse(&kernel.names);
}

void hp_names_kernel_copy(const char *path)
{
	kernel.path = path;
}

static bool copy_has(uint64_t address)
{
	if (kernel.path && !kernel.is_opened)
		hp_kernel_copy_open(&kernel.copy, kernel.path);
	kernel.is_opened = true;
	return hp_kernel_copy_covers(&kernel.copy, address);
}

void hp_names_kernel_keep(void)
{
	const struct hp_names *names = &kernel.names;
	struct hp_kernel_name *list;

	/* A new copy would lack the same names: modules and BPF programs. */
	if (!kernel.path || !names->count || kernel.copy.head)
		return;
	list = hp_xcalloc(names->count, sizeof(*list));
	for (size_t i = 0; i < names->count; i++)
		list[i] = (struct hp_kernel_name){ names->entries[i].address,
						   names->entries[i].name };
	hp_kernel_copy_write(kernel.path, list, names->count);
	free(list);
}

void hp_names_init_kernel(struct hp_names *names)
{
	*names = (struct hp_names){ .is_kernel = true };
}

/* --- maps of JIT code --- */

/* A record may come from another user and name any file. */
static bool is_map_path(const char *path)
{
	static const char begin[] = "/tmp/perf-";

	if (strncmp(path, begin, sizeof(begin) - 1) != 0)
		return false;
	path += sizeof(begin) - 1;
	size_t digits = strspn(path, "0123456789");
	return digits && strcmp(path + digits, ".map") == 0;
}

/* /tmp is shared: only accept a file of the process's user, of ours or of root. */
static const char *map_fault(int fd, const struct hp_user *user)
{
	struct stat status;

	if (fd < 0)
		return errno == ELOOP	 ? "is a link, not followed"
		       : errno == ENOENT ? NULL
		       : errno == EACCES ? "belongs to another user"
					 : "cannot be read";
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return "is not a file";
	return status.st_uid == geteuid() || status.st_uid == 0 ||
			       (user->is_other && status.st_uid == user->user)
		       ? NULL
		       : "belongs to another user";
}

/* ADDRESS SIZE NAME. */
const char *hp_names_init_map(struct hp_names *names, const char *path, struct hp_user user)
{
	size_t room = 0;

	*names = (struct hp_names){ .text = NULL };
	if (!is_map_path(path))
		return NULL;
	struct hp_user before = hp_behalf_begin(user);
	int fd = hp_behalf_open_any(path, O_NOFOLLOW);
	const char *fault = map_fault(fd, &user);

	if (fd >= 0 && !fault)
		names->text = read_all(fd);
	if (fd >= 0)
		close(fd);
	hp_behalf_end(before);
	for (char *next = names->text, *line; next && (line = strsep(&next, "\n"));) {
		char *at;
		uint64_t address = strtoull(line, &at, 16), size = strtoull(at, &at, 16);

		if (size && *at == ' ' && at[1])
			entry_add(names, &room, (struct hp_name_entry){ address, size, at + 1 });
	}
	sort(names);
	return fault;
}

void hp_names_release(struct hp_names *names)
{
	free(names->text);
	free(names->entries);
	*names = (struct hp_names){ .text = NULL };
}

static const char *name_in(const struct hp_names *names, uint64_t address)
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

const char *hp_names_at(const struct hp_names *names, uint64_t address)
{
	if (!names->is_kernel)
		return name_in(names, address);
	if (copy_has(address))
		return hp_kernel_copy_at(&kernel.copy, address);
	if (!kernel.is_read)
		kernel_read();
	return name_in(&kernel.names, address);
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
