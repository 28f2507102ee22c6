/* SPDX-License-Identifier: MIT */
/*
 * session.c - a program for session.bats and run.bats: calls `tick` 100 times,
 * then acts according to its argument; the suite compares the runs with and
 * without the library.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ticks;
static char **rest;	/* arguments after the mode */

static __attribute__((noinline)) void tick(void)
{
	ticks++;
}

static void tick_often(int times)
{
	for (int i = 0; i < times; i++)
		tick();
}

/* Every kind of wait until it ends: one child of our own, and no other. */
static int wait_for_all(void)
{
	siginfo_t info;
	int count = 0, result;

	if (fork() == 0)
		_exit(3);
	while (wait(NULL) > 0)
		count++;
	printf("wait: %d, %s\n", count, strerror(errno));
	result = waitpid(-1, NULL, __WALL);
	printf("__WALL: %d, %s\n", result, strerror(errno));
	result = waitpid(-1, NULL, __WCLONE | WNOHANG);
	printf("__WCLONE: %d, %s\n", result, strerror(errno));
	result = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL);
	printf("waitid: %d, %s\n", result, strerror(errno));
	return 0;
}

/* State that a guest must not change. */
static int show_state(void)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "SigQ", 4) &&
		    (!strncmp(line, "Sig", 3) || !strncmp(line, "Thr", 3)))
			fputs(line, stdout);
	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && fd != fileno(status))
			printf("fd %d is open\n", fd);
	printf("errno %d\n", errno);
	return 0;
}

static void put_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
}

/* A daemon that holds no output open: it ticks, and ends when a file appears, or after a while. */
static int become_daemon(void)
{
	char seen[4096];

	if (daemon(1, 0) < 0)
		return 1;
	tick_often(10);
	put_file(rest[0]);
	for (int i = 0; i < 6000 && access(rest[1], F_OK) < 0; i++)
		usleep(10000);
	tick_often(10);
	snprintf(seen, sizeof(seen), "%s.seen", rest[1]);
	put_file(seen);
	return 0;
}

/* The helper's pid stands after the colon; it dies in the middle of the run. */
static int kill_helper(void)
{
	const char *session = getenv("HOTPATH_SESSION");
	const char *pid = session ? strchr(session, ':') : NULL;

	if (pid)
		kill(atoi(pid + 1), SIGKILL);
	tick_often(100);
	return 5;
}

/* Many short processes, each with its ticks; every tenth is killed. */
static int many_processes(void)
{
	int count = atoi(rest[0]);

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			tick_often(10);
			if (i % 10 == 0)
				raise(SIGKILL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

/* Prints that it runs, waits for signals, and prints which arrived. */
static volatile sig_atomic_t got;

static void note_signal(int number)
{
	got = number;
}

static int wait_for_signal(void)
{
	signal(SIGTERM, note_signal);
	signal(SIGHUP, note_signal);
	signal(SIGINT, note_signal);
	put_file(rest[0]);
	for (int i = 0; i < 6000 && !got; i++)
		usleep(10000);
	printf("got %d\n", (int)got);
	return 6;
}

static int do_exec(void)
{
	execv(rest[0], rest);
	return 1;
}

static int become_subreaper(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return do_exec();
}

static int copy_input(void)
{
	char text[64];
	ssize_t size = read(0, text, sizeof(text));

	return size > 0 && write(1, text, (size_t)size) == size ? 0 : 1;
}

static int fill_memory(void)
{
	for (int i = 0; i < 20; i++) {
		char *room = malloc(1 << 20);

		if (!room)
			return 9;
		memset(room, i, 1 << 20);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*act)(void);
} acts[] = {
	{ "wait", wait_for_all },    { "state", show_state },
	{ "daemon", become_daemon }, { "kill-helper", kill_helper },
	{ "many", many_processes },  { "signal", wait_for_signal },
	{ "exec", do_exec },	     { "subreaper", become_subreaper },
	{ "copy", copy_input },	     { "memory", fill_memory },
};

int main(int argc, char **argv)
{
	tick_often(100);
	rest = argv + 2;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (argc > 1 && !strcmp(argv[1], acts[i].name))
			return acts[i].act();
	return argc > 1 ? atoi(argv[1]) : 0;
}
