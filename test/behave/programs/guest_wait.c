/* SPDX-License-Identifier: MIT */
/*
 * guest_wait.c - waits for its children in every way, and prints their number
 * and status.  `subreaper` becomes one and starts itself again; `killed` ends
 * the helper process in between.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 3

static __attribute__((noinline)) pid_t wait_in(int way)
{
	struct rusage usage;
	siginfo_t info = { .si_pid = 0 };
	int status;

	switch (way) {
	case 0:
		return wait(NULL);
	case 1:
		return waitpid(-1, &status, 0);
	case 2:
		return wait3(&status, 0, &usage);
	case 3:
		return wait4(-1, &status, __WALL, &usage);
	case 4:
		return waitid(P_ALL, 0, &info, WEXITED) == 0 ? info.si_pid : -1;
	case 5:
		return waitid(P_ALL, 0, NULL, WEXITED);
	case 6:
		while ((status = waitpid(-1, NULL, WNOHANG)) == 0)
			usleep(1000);
		return status;
	default:
		while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
			usleep(1000);
		return info.si_pid ? info.si_pid : -1;
	}
}

static void one_way(int way)
{
	int count = 0;

	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0) {
			usleep(2000 * (unsigned)i);
			_exit(0);
		}
	errno = 0;
	while (wait_in(way) >= 0)
		count++;
	printf("way %d: %d children, %s\n", way, count, strerror(errno));
}

static void kill_helper(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[300], name[32] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file) &&
		    strcmp(name, "hotpath-sampler\n") == 0)
			kill(atoi(entry->d_name), SIGKILL);
		if (file)
			fclose(file);
	}
	closedir(proc);
	usleep(20000);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "subreaper") == 0) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		setenv("LD_PRELOAD", argv[2], 1);
		execl(argv[0], argv[0], NULL);
	}
	for (int way = 0; way < 8; way++)
		one_way(way);
	signal(SIGCHLD, SIG_IGN);
	one_way(0);
	one_way(4);
	signal(SIGCHLD, SIG_DFL);
	if (argc > 1 && strcmp(argv[1], "killed") == 0)
		kill_helper();
	for (int way = 0; way < 8; way++)
		one_way(way);
	return 0;
}
