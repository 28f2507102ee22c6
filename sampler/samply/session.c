/* SPDX-License-Identifier: MIT */
/*
 * session.c - see session.h: the worker, and its end.
 */
#include "sampler/samply/session.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POLL_MS 100	/* between two checks for the files */
#define END_POLL_MS 50	/* and for the end of samply */
#define END_MS 5000	/* from SIGINT to SIGKILL */
#define STOP_MS 15000	/* until nobody waits for the worker any more */
#define LOG_MAX 600	/* bytes of samply's last output */

extern char **environ;

static void sleep_ms(long ms)
{
	struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&wait, &wait) < 0 && errno == EINTR)
		;
}

bool hp_samply_path(char path[PATH_MAX], const char *folder, const char *name)
{
	int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);

	return length > 0 && length < PATH_MAX;
}

static bool is_there(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return hp_samply_path(path, folder, name) && access(path, F_OK) == 0;
}

/* A whole small file; its length, or -errno. */
static ssize_t read_file(const char *folder, const char *name, char *text, size_t room)
{
	char path[PATH_MAX];
	int fd = hp_samply_path(path, folder, name) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	ssize_t length = fd < 0 ? -errno : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length;
}

int hp_samply_done(const char *folder, const char *text)
{
	char draft[PATH_MAX], path[PATH_MAX];
	int error = 0;

	if (!hp_samply_path(draft, folder, ".done") ||
	    !hp_samply_path(path, folder, HP_SAMPLY_DONE))
		return -ENAMETOOLONG;
	int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = -errno;
	if (fd >= 0)
		close(fd);
	if (!error && rename(draft, path) < 0)
		error = -errno;
	return error;
}

/* ---- samply ---- */

/* Cargo's default place, if PATH has none. */
static const char *samply_binary(char room[PATH_MAX])
{
	const char *binary = getenv("HOTPATH_SAMPLY_BIN"), *home = getenv("HOME");
	const char *path = getenv("PATH");
	char place[PATH_MAX];

	if (binary && *binary)
		return binary;
	for (const char *at = path; at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int length = (int)strcspn(at, ":");

		snprintf(place, sizeof(place), "%.*s/samply", length, at);
		if (length && access(place, X_OK) == 0)
			return "samply";
	}
	snprintf(room, PATH_MAX, "%s/.cargo/bin/samply", home ? home : "");
	return home && access(room, X_OK) == 0 ? room : "samply";
}

/*
 * samply must receive its SIGINT, but nothing of the profiler: neither the
 * library nor its session.
 */
static int samply_start(pid_t *samply, const char *binary, const char *pid, const char *folder)
{
	char profile[PATH_MAX], log[PATH_MAX];
	static char record[] = "record", attach[] = "--pid", save[] = "--save-only", to[] = "-o";
	char *arguments[] = { (char *)(uintptr_t)binary,
			      record,
			      attach,
			      (char *)(uintptr_t)pid,
			      save,
			      to,
			      profile,
			      NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	if (!hp_samply_path(profile, folder, HP_SAMPLY_PROFILE) ||
	    !hp_samply_path(log, folder, HP_SAMPLY_LOG))
		return ENAMETOOLONG;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	unsetenv("LD_PRELOAD");
	unsetenv("HOTPATH_SESSION");
	int error = posix_spawnp(samply, binary, &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Its last output on one line. */
static void log_line(const char *folder, char line[LOG_MAX])
{
	char text[8192];
	ssize_t length = read_file(folder, HP_SAMPLY_LOG, text, sizeof(text));
	size_t used = 0;
	bool is_gap = false;

	for (ssize_t i = 0; i < length && used < LOG_MAX - 2; i++) {
		unsigned char c = (unsigned char)text[i];

		if (isspace(c) || c < ' ') {
			is_gap = used > 0;
			continue;
		}
		if (is_gap)
			line[used++] = ' ';
		is_gap = false;
		line[used++] = (char)c;
	}
	line[used] = '\0';
}

static void explain(const char *folder, int status, char text[HP_SAMPLY_TEXT])
{
	char words[LOG_MAX];
	const char *remedy = "";

	log_line(folder, words);
	if (strstr(words, "perf_event_paranoid"))
		remedy = "; sysctl kernel.perf_event_paranoid=1 lets it, HOTPATH_CPU=perf needs 2, "
			 "HOTPATH_CPU=timer nothing";
	else if (strstr(words, "Permission denied") || strstr(words, "not permitted"))
		remedy = "; HOTPATH_CPU=timer needs no permission";
	if (WIFSIGNALED(status))
		snprintf(text, HP_SAMPLY_TEXT, "samply was killed by %s%s%s",
			 strsignal(WTERMSIG(status)), *words ? ": " : "", words);
	else
		snprintf(text, HP_SAMPLY_TEXT, "samply exited with status %d%s%s%s",
			 WEXITSTATUS(status), *words ? ": " : "", words, remedy);
}

/* ---- the worker ---- */

/* True = it has ended, with `status`. */
static bool has_ended(pid_t samply, int *status)
{
	return waitpid(samply, status, WNOHANG) == samply;
}

/* Until it ends itself, together with the program, or is asked to stop. */
static bool wait_for_stop(pid_t samply, const char *folder, int *status)
{
	while (!is_there(folder, HP_SAMPLY_STOP)) {
		if (has_ended(samply, status))
			return true;
		if (!is_there(folder, ""))	/* the session's folder was removed */
			return false;
		sleep_ms(POLL_MS);
	}
	return false;
}

/* False = it had to be killed, and `text` reports that. */
static bool samply_end(pid_t samply, int *status, char text[HP_SAMPLY_TEXT])
{
	if (has_ended(samply, status))
		return true;
	if (kill(samply, SIGINT) < 0) {
		snprintf(text, HP_SAMPLY_TEXT, "kill -INT of samply failed: %s", strerror(errno));
		return false;
	}
	for (int waited = 0; waited < END_MS; waited += END_POLL_MS) {
		if (has_ended(samply, status))
			return true;
		sleep_ms(END_POLL_MS);
	}
	kill(samply, SIGKILL);
	waitpid(samply, status, 0);
	snprintf(text, HP_SAMPLY_TEXT, "samply did not end within %d s of SIGINT and was killed",
		 END_MS / 1000);
	return false;
}

int hp_samply_work(const char *pid, const char *folder)
{
	char room[PATH_MAX], text[HP_SAMPLY_TEXT] = "";
	const char *binary = samply_binary(room);
	pid_t samply;
	int status = 0, error = samply_start(&samply, binary, pid, folder);

	if (error) {
		snprintf(
			text, sizeof(text),
			"cannot start samply (%.512s): %s; cargo install --locked samply@0.13.1, or "
			"HOTPATH_SAMPLY_BIN=/path/of/samply",
			binary, strerror(error));
		hp_samply_done(folder, text);
		return 1;
	}
	if ((wait_for_stop(samply, folder, &status) || samply_end(samply, &status, text)) && status)
		explain(folder, status, text);
	error = hp_samply_done(folder, text);
	return error || *text ? 1 : 0;
}

/* ---- the end ---- */

bool hp_samply_stop(const char *folder, char error[HP_SAMPLY_TEXT])
{
	char path[PATH_MAX];
	int fd = hp_samply_path(path, folder, HP_SAMPLY_STOP)
			 ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)
			 : -1;

	if (fd < 0) {
		snprintf(error, HP_SAMPLY_TEXT, "cannot create the stop signal %.512s: %s", path,
			 strerror(errno));
		return false;
	}
	close(fd);
	for (int waited = 0; !is_there(folder, HP_SAMPLY_DONE); waited += POLL_MS) {
		if (waited >= STOP_MS) {
			snprintf(error, HP_SAMPLY_TEXT,
				 "timed out waiting %d s for the worker of samply (session %.512s)",
				 STOP_MS / 1000, folder);
			return false;
		}
		sleep_ms(POLL_MS);
	}
	return read_file(folder, HP_SAMPLY_DONE, error, HP_SAMPLY_TEXT) == 0;
}
