/* SPDX-License-Identifier: MIT */
/*
 * proc.c - see proc.h.
 */
#include "sampler/base/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define COST_RATIO 20

bool hp_proc_read_number(const char *path, long *number)
{
	char text[64], *end;

	if (hp_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	*number = strtol(text, &end, 10);
	return end != text;
}

ssize_t hp_proc_again(int fd, char *text, size_t room)
{
	ssize_t size = fd < 0 ? -1 : pread(fd, text, room - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	return size > 0 ? size : -1;
}

ssize_t hp_proc_read(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = hp_proc_again(fd, text, room);

	if (fd >= 0)
		close(fd);
	return size;
}

/* getdents64 instead of readdir: no memory is allocated. */
long hp_proc_count_entries(const char *path)
{
	_Alignas(struct dirent64) char names[2048];
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long count = 0, size;

	if (folder < 0)
		return -1;
	while ((size = syscall(SYS_getdents64, folder, names, sizeof(names))) > 0) {
		for (long at = 0; at < size;) {
			const struct dirent64 *entry = (const void *)(names + at);

			count += entry->d_name[0] != '.';
			at += entry->d_reclen;
		}
	}
	close(folder);
	return size < 0 ? -1 : count;
}

/* Linux 6.2 has the number of /proc/PID/fd as its size, and earlier ones 0, as for other folders. */
long hp_proc_entries(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return -1;
	return status.st_size > 0 ? (long)status.st_size : hp_proc_count_entries(path);
}

/* `at` moves to the start of the next field; false at the end. */
static const char *skip_fields(const char *at, int count)
{
	while (at && count-- > 0) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at;
}

int hp_proc_stat(const char *text, struct hp_proc_stat *out)
{
	static long rate;

	memset(out, 0, sizeof(*out));
	/* The name may contain anything, including parentheses and blanks. */
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	if (!open || !close || close < open || close[1] != ' ')
		return -1;
	size_t size = (size_t)(close - open - 1);
	memcpy(out->name, open + 1, size < sizeof(out->name) ? size : sizeof(out->name) - 1);
	out->state = close[2];
	out->parent = (uint32_t)strtoul(close + 3, NULL, 10);
	const char *times = skip_fields(close + 2, 11);
	const char *start = skip_fields(times, 8);
	if (!start)
		return -1;
	if (!rate)
		rate = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = 1000000000u / (uint64_t)(rate > 0 ? rate : 100);
	out->user_ns = strtoull(times, NULL, 10) * tick_ns;
	out->cpu_ns = out->user_ns + strtoull(skip_fields(times, 1), NULL, 10) * tick_ns;
	out->start_time = strtoull(start, NULL, 10);
	return 0;
}

uint64_t hp_proc_number(const char *text, const char *label)
{
	const char *at = strstr(text, label);

	return at ? strtoull(at + strlen(label), NULL, 10) : 0;
}

void hp_proc_path(char path[64], uint32_t pid, const char *name)
{
	snprintf(path, 64, "/proc/%u/%s", pid, name);
}

void hp_proc_task_path(char path[64], uint32_t pid, uint32_t tid, const char *name)
{
	snprintf(path, 64, "/proc/%u/task/%u/%s", pid, tid, name);
}

uint64_t hp_proc_own_cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t hp_proc_rest_ns(uint64_t since_ns)
{
	return (hp_proc_own_cpu_ns() - since_ns) * COST_RATIO;
}
