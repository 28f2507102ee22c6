/* SPDX-License-Identifier: MIT */
/*
 * viewer.c - shows a profile in a browser: a key starts `hotpath load` as a
 * child process. It serves the profile until the console ends or opens another
 * one.
 *
 * Runs in the feed's thread, which may block. The screen's thread calls
 * hp_viewer_close when requests have ended.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/console/loop/origin.h"
#include "report/base/place.h"
#include "segment/clock.h"

#define WAIT_NS (UINT64_C(60) * 1000000000)	/* names of a large program take their time */

extern char **environ;

static _Atomic pid_t viewer;	/* 0 = none */
static int said = -1;	/* its output; closing it would kill the child at its next write */

void hp_viewer_close(void)
{
	pid_t pid = atomic_exchange(&viewer, 0);

	if (pid > 0)
		kill(pid, SIGTERM);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Signals are blocked in this thread, but must be able to end the child. */
static pid_t start(const char *what, int out)
{
	static char program[] = "hotpath", command[] = "load", end[] = "--";
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH];
	char *argv[] = { program, command, end, (char *)(uintptr_t)what, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	int error;

	hp_place_folder(folder);
	hp_session_helper_path(path, NULL, folder, program);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, out, 2);
	error = posix_spawn(&pid, path, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error ? -error : pid;
}

/* Reads its output up to the address, its end, or a timeout. */
static void listen_to(int fd, char *text, size_t size)
{
	uint64_t deadline = hp_clock_raw_ns() + WAIT_NS;
	size_t length = 0;

	text[0] = 0;
	while (length + 1 < size && !strstr(text, "https://")) {
		struct pollfd polled = { fd, POLLIN, 0 };
		uint64_t now = hp_clock_raw_ns();
		ssize_t got;

		if (now >= deadline || poll(&polled, 1, (int)((deadline - now) / 1000000)) < 0)
			return;
		got = read(fd, text + length, size - 1 - length);
		if (got <= 0)
			return;
		length += (size_t)got;
		text[length] = 0;
	}
}

static void answer(struct hp_heard *heard, int status, const char *text)
{
	cJSON *reply = cJSON_CreateObject();

	cJSON_AddStringToObject(reply, status == 200 ? "opened" : "error", text);
	heard->status = status;
	heard->body = cJSON_PrintUnformatted(reply);
	heard->size = strlen(heard->body);
	cJSON_Delete(reply);
}

void hp_viewer_open(const char *what, struct hp_heard *heard)
{
	char text[4096], *address, *line;
	int ends[2];
	pid_t pid;

	hp_viewer_close();
	if (said >= 0)
		close(said);
	said = -1;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		answer(heard, 500, strerror(errno));
		return;
	}
	pid = start(what, ends[1]);
	close(ends[1]);
	said = ends[0];
	if (pid < 0) {
		answer(heard, 500, "hotpath load cannot be started");
		return;
	}
	atomic_store(&viewer, pid);
	listen_to(said, text, sizeof(text));
	address = strstr(text, "http://");
	if (address && strstr(text, "https://")) {
		address[strcspn(address, "\n")] = 0;
		answer(heard, 200, address);
		return;
	}
	hp_viewer_close();
	text[strcspn(text, "\n")] = 0;
	line = strncmp(text, "hotpath", 7) == 0 && strchr(text, ':') ? strchr(text, ':') + 1 : text;
	answer(heard, 500, *text ? line + strspn(line, " ") : "the profile cannot be made");
}
