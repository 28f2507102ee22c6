/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - `hotpath stacks PID`: stacks of all threads of a running process.
 */
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/base/option.h"
#include "report/command/command.h"
#include "report/command/output.h"
#include "report/stacks/stacks.h"
#include "report/view/view.h"

#define GROUPS_USUAL 8	/* different stacks, and */
#define LINES_USUAL 10	/* lines of each, which usually fit on a screen */

extern char **environ;

static const char usage_text[] =
	"Usage: hotpath stacks [OPTION]... PID\n"
	"Show the current stack of every thread, equal stacks once.  The process may\n"
	"be any process of yours, recorded or not.  Each thread is stopped for some 50 microseconds.\n"
	"For a process recorded by hotpath, also the lock that a thread waits for, since when,\n"
	"its holder, and the locks that the thread holds.\n\n"
	"  -a, --all            all stacks, and all frames of each\n"
	"  -f, --format=WORD    table, json, json-pretty\n"
	"  -j, --json           the same as --format=json\n"
	"      --started=TICKS  only if the process started then: field 22 of /proc/PID/stat\n"
	"  -h, --help           this\n";

struct ask {
	pid_t pid;
	uint64_t started;	/* 0 = whenever */
	bool is_all;
	bool is_json;
	bool is_pretty;
};

/* --- options --- */

static bool format_set(struct ask *ask, const char *word)
{
	ask->is_pretty = strcmp(word, "json-pretty") == 0;
	ask->is_json = ask->is_pretty || strcmp(word, "json") == 0;
	if (ask->is_json || strcmp(word, "table") == 0)
		return true;
	fprintf(stderr, "hotpath stacks: no format '%s': table, json, json-pretty\n", word);
	return false;
}

/* A thread's id refers to its process. */
static pid_t process_of(pid_t tid)
{
	char path[40], line[128];
	int process = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return tid;
	while (!process && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &process) == 1)
			break;
	fclose(file);
	return process > 0 ? process : tid;
}

static bool pid_set(struct ask *ask, int argc, char **argv)
{
	char *end = NULL;
	long pid = optind < argc ? strtol(argv[optind], &end, 10) : 0;

	if (argc - optind != 1) {
		fprintf(stderr, "hotpath stacks: give one PID; see hotpath stacks --help\n");
		return false;
	}
	if (!end || *end || end == argv[optind] || pid <= 0 || pid > INT32_MAX) {
		fprintf(stderr,
			"hotpath stacks: '%s' is not a process's pid; `hotpath list` shows recorded ones, `ps` all\n",
			argv[optind]);
		return false;
	}
	ask->pid = process_of((pid_t)pid);
	return true;
}

/* A pid may be reused between another command's look at the process and this one. */
static bool started_set(struct ask *ask, const char *value)
{
	char *end;

	ask->started = strtoull(value, &end, 10);
	if (ask->started && !*end)
		return true;
	fprintf(stderr, "hotpath stacks: '%s' is not a start time in clock ticks\n", value);
	return false;
}

static bool option_take(void *command, int val, const char *value)
{
	struct ask *ask = command;

	ask->is_all |= val == 'a';
	ask->is_json |= val == 'j';
	if (val == 's' && !started_set(ask, value))
		return false;
	return val != 'f' || format_set(ask, value);
}

/* Returns -1 to continue, else the exit status. */
static int options_read(struct ask *ask, int argc, char **argv)
{
	static const struct option options[] = { { "all", no_argument, NULL, 'a' },
						 { "format", required_argument, NULL, 'f' },
						 { "json", no_argument, NULL, 'j' },
						 { "started", required_argument, NULL, 's' },
						 { NULL, 0, NULL, 0 } };
	static const struct hp_option_table table = { .options = options,
						      .usage = usage_text,
						      .take = option_take };
	int status = hp_options_read(&table, ask, argc, argv);

	if (status >= 0)
		return status;
	return pid_set(ask, argc, argv) ? -1 : HP_EXIT_USAGE;
}

/* --- reasons for failure --- */

/* The number after `key` at the start of a line; 0 = none exists. */
static int number_in(const char *path, const char *key)
{
	char line[128];
	int number = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0) {
			number = atoi(line + strlen(key));
			break;
		}
	fclose(file);
	return number;
}

/* The kernel returns EPERM for every reason: a fresh line with the most likely one and the
 * remedy. */
static char *refused_text(pid_t pid)
{
	char path[40];
	struct stat status;
	int tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	tracer = number_in(path, "TracerPid:");
	if (tracer)
		return hp_xprintf(
			"process %d is being traced by process %d (a debugger?), and only "
			"one can do that; end that one first",
			(int)pid, tracer);
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (geteuid() != 0 && stat(path, &status) == 0 && status.st_uid != geteuid()) {
		const struct passwd *user = getpwuid(status.st_uid);

		return hp_xprintf(
			"process %d belongs to user %s; run as that user, or as root: sudo hotpath "
			"stacks %d",
			(int)pid, user ? user->pw_name : "another", (int)pid);
	}
	if (number_in("/proc/sys/kernel/yama/ptrace_scope", "") == 3)
		return hp_xprintf(
			"kernel.yama.ptrace_scope is 3: process %d cannot be traced until "
			"the next boot",
			(int)pid);
	if (geteuid() != 0 && number_in("/proc/sys/kernel/yama/ptrace_scope", ""))
		return hp_xprintf(
			"kernel.yama.ptrace_scope forbids inspecting process %d; sudo hotpath "
			"stacks %d, or sudo sysctl kernel.yama.ptrace_scope=0",
			(int)pid, (int)pid);
	return hp_xprintf(
		"the kernel forbids inspecting process %d (ptrace: %s); run as root, in a "
		"container with --cap-add=SYS_PTRACE",
		(int)pid, strerror(EPERM));
}

/* A fresh line. */
static char *error_text(pid_t pid, int error, const char *why)
{
	if (error == EPERM || error == EACCES)
		return refused_text(pid);
	if (error == ENOSYS && why)
		return hp_xprintf("hotpath stacks %s", why);
	if (error == ENOENT)
		return hp_xprintf("no process %d", (int)pid);
	if (error == ESRCH)
		return hp_xprintf("process %d has ended, or is the kernel's: it has no stack",
				  (int)pid);
	if (error == ENOEXEC)
		return hp_xprintf("process %d is a 32-bit process, which hotpath does not support",
				  (int)pid);
	return hp_xprintf("process %d cannot be inspected: %s", (int)pid, strerror(error));
}

/* --- output --- */

static struct hp_stacks_look look_of(const struct ask *ask)
{
	struct hp_settings settings;
	struct hp_look look;

	hp_settings_read(&settings, environ, NULL, NULL);
	look = hp_look_of(1, &settings);
	return (struct hp_stacks_look){
		.width = look.width < 60 ? 60 : look.width,
		.groups_most = ask->is_all ? 0 : GROUPS_USUAL,
		.lines_most = ask->is_all ? 0 : LINES_USUAL,
	};
}

static void stacks_write(struct hp_stacks *stacks, const struct ask *ask, FILE *out)
{
	struct hp_stacks_look look;

	if (ask->is_json) {
		hp_stacks_write_json(stacks, ask->is_pretty, out);
		return;
	}
	look = look_of(ask);
	hp_stacks_write(stacks, &look, out);
}

static void failure_write(const struct hp_stacks *stacks, const struct ask *ask, char *error,
			  FILE *out)
{
	fprintf(stderr, "hotpath: %s\n", error);
	if (ask->is_json) {
		hp_stacks_write_json_error(stacks, ask->pid, error, out);
	} else if (stacks->recorded) {
		fprintf(out, "recorded of process %d:\n", (int)ask->pid);
		hp_stacks_write_recorded(stacks, out);
	}
}

/* As one piece. */
static int print(struct hp_stacks *stacks, const struct ask *ask, char *error)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return HP_EXIT_FAILED;
	if (error)
		failure_write(stacks, ask, error, out);
	else
		stacks_write(stacks, ask, out);
	fclose(out);
	fwrite(text, 1, size, stdout);
	free(text);
	return fflush(stdout) == 0 && !error ? 0 : HP_EXIT_FAILED;
}

int hp_cmd_stacks(int argc, char **argv)
{
	struct ask ask = { .pid = 0 };
	struct hp_stacks stacks;
	const char *why;
	char *text = NULL;
	int status, error;

	status = options_read(&ask, argc, argv);
	if (status >= 0)
		return status;
	error = -hp_stacks_init(&stacks, ask.pid, ask.started, &why);
	if (error)
		text = error_text(ask.pid, error, why);
	status = print(&stacks, &ask, text);
	free(text);
	hp_stacks_release(&stacks);
	return status;
}
