/* SPDX-License-Identifier: MIT */
/*
 * live.c - see live.h.
 *
 * Any process may be after a socket: its answer is treated as hostile and read
 * by pread, since truncating a mapped file would kill us.
 */
#include "report/store/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/store/live_ask.h"
#include "segment/clock.h"
#include "segment/layout/process.h"
#include "segment/segment.h"

#define PROCESSES_MAX 65536 /* the root was added first, so it may be at the end of a long list */

struct sessions {
	struct hp_live *at;
	size_t count;
	size_t room;
};

/* Enough of a segment for a line about it. */
union start {
	struct hp_header header;
	char page[HP_PAGE];
};

static bool start_read(int fd, union start *start, uid_t *owner)
{
	struct stat status;

	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	*owner = status.st_uid;
	return pread(fd, start, sizeof(*start), 0) == sizeof(*start) &&
	       hp_segment_check(&start->header, (uint64_t)status.st_size) == HP_SEGMENT_FINE;
}

/* The name of the root's newest image. */
static void comm_read(int fd, const struct hp_header *header, char comm[20])
{
	uint64_t at = header->processes;
	struct hp_process process;

	comm[0] = 0;
	for (int i = 0; i < PROCESSES_MAX && at && at < INT64_MAX; i++, at = process.next) {
		if (pread(fd, &process, sizeof(process), (off_t)at) != sizeof(process))
			return;
		if (process.pid != header->root_pid)
			continue;
		memcpy(comm, process.comm, 20);
		comm[19] = 0;
		return;
	}
}

static void answered(void *context, const struct hp_live_door *door, int fd)
{
	struct sessions *sessions = context;
	uint64_t now = hp_clock_raw_ns();
	struct hp_live live = { .pid = 0 };
	const struct hp_ports *ports;
	union start start;

	if (start_read(fd, &start, &live.owner)) {
		const struct hp_header *header = &start.header;

		ports = (const struct hp_ports *)(start.page + HP_PORTS_AT);
		memcpy(live.token, door->token, sizeof(live.token));
		comm_read(fd, header, live.comm);
		live.pid = header->root_pid;
		live.port = ports->at[HP_PORT_METRICS];
		live.started_unix_ns = header->created_unix_ns;
		live.elapsed_ns = now > header->start.ns ? now - header->start.ns : 0;
	}
	close(fd);
	/* Without a root the runner found no program, and the helper is about to exit. */
	if (!live.pid || live.pid > INT32_MAX)
		return;
	sessions->at =
		hp_xgrow(sessions->at, sessions->count, &sessions->room, sizeof(*sessions->at));
	sessions->at[sessions->count++] = live;
}

static struct hp_live *list(bool is_all, size_t *count)
{
	struct sessions sessions = { .at = NULL };
	size_t doors_count;
	struct hp_live_door *doors = hp_live_find(&doors_count);

	hp_live_ask(doors, doors_count, is_all, answered, &sessions);
	free(doors);
	*count = sessions.count;
	return sessions.at;
}

struct hp_live *hp_live_list(size_t *count)
{
	return list(false, count);
}

struct hp_live *hp_live_list_all(size_t *count)
{
	return list(true, count);
}

size_t hp_live_others(void)
{
	size_t count, others = 0;
	struct hp_live_door *doors = hp_live_find(&count);

	for (size_t i = 0; i < count; i++)
		others += !hp_live_is_own(&doors[i]);
	free(doors);
	return others;
}

static bool is_meant(const struct hp_live *live, const char *id)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", live->pid);
	return strcmp(pid, id) == 0 || (*id && strncmp(live->token, id, strlen(id)) == 0);
}

/* True if process `id` started the session's program, as `hotpath run` and shells do. */
static bool is_child(const struct hp_live *live, const char *id)
{
	char path[32], line[512];
	unsigned parent = 0;
	const char *end;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%u/stat", live->pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	/* The name before the state may have blanks and brackets. */
	end = fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
	fclose(stat);
	if (!end || sscanf(end + 1, " %*c %u", &parent) != 1)
		return false;
	snprintf(path, sizeof(path), "%u", parent);
	return strcmp(path, id) == 0;
}

static size_t choose(struct hp_live *live, size_t count, const char *id,
		     bool (*fits)(const struct hp_live *live, const char *id))
{
	size_t chosen = 0;

	for (size_t i = 0; i < count; i++)
		if (fits(&live[i], id))
			live[chosen++] = live[i];
	return chosen;
}

/* A shell's pid means its children only if no program has it. */
size_t hp_live_choose(struct hp_live *live, size_t count, const char *id)
{
	size_t chosen = choose(live, count, id, is_meant);

	return chosen ? chosen : choose(live, count, id, is_child);
}

static int open_of(bool is_all, const char *id)
{
	size_t count;
	struct hp_live *live = list(is_all, &count);
	size_t meant = hp_live_choose(live, count, id);
	int fd = meant == 1 ? hp_session_look(live[0].token) : meant ? -EEXIST : -ENOENT;

	free(live);
	return fd;
}

/* An explicit name may select another user's session. */
int hp_live_open(const char *id)
{
	int fd = open_of(false, id);

	return fd == -ENOENT && geteuid() == 0 ? open_of(true, id) : fd;
}
