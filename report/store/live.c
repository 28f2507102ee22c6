/* SPDX-License-Identifier: MIT */
/*
 * live.c - see live.h.
 *
 * Abstract sockets are listed in /proc/net/unix, those of our network namespace.
 * What is behind such a name may be anything: hp_session_look asks who it is,
 * and the segment is read as a hostile one.
 */
#include "report/store/live.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/read/reader.h"
#include "segment/clock.h"
#include "segment/layout/process.h"

#define LISTS "/proc/net/unix"
#define FLAG_LISTENS "00010000"

/* The token in a line of the list, if it is that of a session's socket. */
static bool token_of(const char *line, char token[HP_TOKEN_SIZE + 1])
{
	static const char name[] = " @" HP_SOCKET_NAME;
	const char *at = strstr(line, name);

	if (!at || !strstr(line, " " FLAG_LISTENS " "))
		return false;
	at += sizeof(name) - 1;
	if (strspn(at, "0123456789abcdef") != HP_TOKEN_SIZE || at[HP_TOKEN_SIZE] != '\n')
		return false;
	memcpy(token, at, HP_TOKEN_SIZE);
	token[HP_TOKEN_SIZE] = 0;
	return true;
}

/* The name of the root's newest image. */
static void comm_read(struct hp_reader *reader, char comm[20])
{
	struct hp_process process;

	comm[0] = 0;
	for (uint64_t at = reader->header.processes;
	     hp_reader_step(reader, at, &process, sizeof(process)); at = process.next) {
		if (process.pid != reader->header.root_pid)
			continue;
		memcpy(comm, process.comm, 20);
		comm[19] = 0;
		return;
	}
}

/* False if it is gone, or not ours. */
static bool look(struct hp_live *live)
{
	int fd = hp_session_look(live->token);
	uint64_t now = hp_clock_raw_ns();
	struct hp_segment segment;
	struct hp_reader reader;

	if (fd < 0)
		return false;
	bool is_fine = hp_segment_map_fd(&segment, fd) == HP_SEGMENT_FINE;
	close(fd);
	if (!is_fine)
		return false;
	hp_reader_init(&reader, &segment);
	comm_read(&reader, live->comm);
	live->pid = reader.header.root_pid;
	live->port = hp_reader_port(&reader);
	live->started_unix_ns = reader.header.created_unix_ns;
	live->elapsed_ns = now > reader.header.start.ns ? now - reader.header.start.ns : 0;
	hp_reader_release(&reader);
	/* Its runner found no program to run, and the helper is about to go. */
	return live->pid && live->pid <= INT32_MAX;
}

struct hp_live *hp_live_list(size_t *count)
{
	FILE *lists = fopen(LISTS, "re");
	struct hp_live *live = NULL;
	char *line = NULL;
	size_t room = 0, size = 0;

	*count = 0;
	while (lists && getline(&line, &size, lists) > 0) {
		struct hp_live one = { .pid = 0 };

		if (!token_of(line, one.token) || !look(&one))
			continue;
		live = hp_xgrow(live, *count, &room, sizeof(*live));
		live[(*count)++] = one;
	}
	if (lists)
		fclose(lists);
	free(line);
	return live;
}

static bool is_meant(const struct hp_live *live, const char *id)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%u", live->pid);
	return strcmp(pid, id) == 0 || (*id && strncmp(live->token, id, strlen(id)) == 0);
}

int hp_live_open(const char *id)
{
	size_t count, meant = 0;
	struct hp_live *live = hp_live_list(&count);
	const struct hp_live *found = NULL;
	int fd;

	for (size_t i = 0; i < count; i++) {
		if (!is_meant(&live[i], id))
			continue;
		found = &live[i];
		meant++;
	}
	fd = meant == 1 ? hp_session_look(found->token) : meant ? -EEXIST : -ENOENT;
	free(live);
	return fd;
}
