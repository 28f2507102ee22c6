/* SPDX-License-Identifier: MIT */
/*
 * levels.c WAY USER... - a root process whose workers drop privileges: one for each USER, a
 * number.
 *
 * WAY: `exec`, and the worker becomes another image of this program; `stay`, and it continues in
 * place.  Each worker calls `worked` 7 times, and its child 5 times.  A segment that a process
 * has mapped writable is printed: "SEGMENT root INODE PID", "SEGMENT USER INODE PID".  For trust.bats.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned long work;

__attribute__((noinline)) static void worked(void)
{
	for (int i = 0; i < 100; i++)
		work++;
}

__attribute__((noinline)) static void prepared(void)
{
	for (int i = 0; i < 100; i++)
		work++;
}

__attribute__((no_instrument_function)) static void segments_print(const char *who)
{
	char line[512], access[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long inode;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:hotpath") &&
		    sscanf(line, "%*s %7s %*s %*s %lu", access, &inode) == 2 &&
		    strcmp(access, "rw-s") == 0)
			printf("SEGMENT %s %lu %d\n", who, inode, (int)getpid());
	if (maps)
		fclose(maps);
	fflush(stdout);
}

static int worker(const char *user)
{
	for (int i = 0; i < 7; i++)
		worked();
	segments_print(user);
	pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 5; i++)
			worked();
		exit(0);
	}
	return waitpid(child, NULL, 0) != child;
}

static int drop(unsigned user)
{
	return setgroups(0, NULL) || setgid(user) || setuid(user) || setuid(0) == 0;
}

int main(int argc, char **argv)
{
	int status, failed = 0;

	if (argc == 3 && strcmp(argv[1], "worker") == 0)
		return worker(argv[2]);
	for (int i = 0; i < 10; i++)
		prepared();
	segments_print("root");
	for (int i = 2; i < argc; i++) {
		if (fork())
			continue;
		prepared();
		if (drop((unsigned)atoi(argv[i])))
			exit(9);
		if (strcmp(argv[1], "stay") == 0)
			exit(worker(argv[i]));
		execl("/proc/self/exe", "levels", "worker", argv[i], (char *)NULL);
		exit(8);
	}
	while (wait(&status) > 0)
		failed |= status;
	prepared();
	return failed ? 1 : 0;
}
