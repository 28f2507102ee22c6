/* SPDX-License-Identifier: MIT */
/*
 * guest_exec.c - starts itself in every way that accepts an environment, which
 * loads the library but does not name the session.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile unsigned worked;

static __attribute__((noinline)) void work(void)
{
	worked++;
}

static void start(int way, char *path, char **given)
{
	char leaf[] = "leaf";
	char *arguments[] = { path, leaf, NULL };

	switch (way) {
	case 0:
		execve(path, arguments, given);
		break;
	case 1:
		execle(path, path, leaf, NULL, given);
		break;
	case 2:
		execvpe(path, arguments, given);
		break;
	case 3:
		fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments, given);
		break;
	case 4:
		environ = given;
		execv(path, arguments);
		break;
	case 5:
		environ = given;
		execlp(path, path, leaf, NULL);
		break;
	}
	_exit(9);
}

int main(int argc, char **argv)
{
	static char *given[1000];
	int status = 0, failed = 0;
	char leaf[] = "leaf";
	char *arguments[] = { argv[0], leaf, NULL };
	pid_t pid;

	if (argc > 1 && strcmp(argv[1], "leaf") == 0) {
		for (int i = 0; i < 10; i++)
			work();
		return 0;
	}
	for (char **from = environ, **to = given; *from && to < given + 999; from++)
		if (strncmp(*from, "HOTPATH_SESSION=", 16) != 0)
			*to++ = *from;
	for (int way = 0; way < 12; way++) {
		pid = way & 1 ? vfork() : fork();
		if (pid == 0)
			start(way / 2, argv[0], given);
		waitpid(pid, &status, 0);
		failed += status != 0;
	}
	if (posix_spawn(&pid, argv[0], NULL, NULL, arguments, given) == 0)
		waitpid(pid, &status, 0);
	failed += status != 0;
	if (posix_spawnp(&pid, argv[0], NULL, NULL, arguments, given) == 0)
		waitpid(pid, &status, 0);
	failed += status != 0;
	printf("%d failed\n", failed);
	for (char **e = given; *e; e++)
		if (strncmp(*e, "HOTPATH_SESSION=", 16) == 0)
			printf("changed\n");
	return failed;
}
