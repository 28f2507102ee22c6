/* SPDX-License-Identifier: MIT */
/* bad_guest.c - a library that changes one thing, BAD_GUEST=N, in every process: the comparison
 * must notice it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void nothing(int signal)
{
	(void)signal;
}

static void leave_child(void)
{
	if (fork() == 0) {
		setsid();
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
}

static void change(int what)
{
	struct rlimit limit = { 100, 100 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	switch (what) {
	case 1:
		open("/dev/zero", O_RDONLY);
		break;
	case 2:
		signal(SIGPROF, nothing);
		break;
	case 3:
		signal(SIGCHLD, SIG_IGN);
		break;
	case 4:
		sigprocmask(SIG_BLOCK, &set, NULL);
		break;
	case 5:
		setenv("BAD", "1", 1);
		break;
	case 6:
		setrlimit(RLIMIT_NOFILE, &limit);
		break;
	case 7:
		umask(077);
		break;
	case 8:
		(void)!chdir("/");
		break;
	case 9:
		fputs("stray\n", stderr);
		break;
	case 10:
		close(open("stray", O_CREAT | O_RDWR, 0600));
		break;
	case 11:
		unsetenv("BAD_GUEST");
		unsetenv("LD_PRELOAD");
		leave_child();
		break;
	case 12:
		_exit(9);
	case 13:
		close(open("/dev/shm/stray", O_CREAT | O_RDWR, 0600));
		break;
	}
}

static __attribute__((constructor)) void start(void)
{
	const char *what = getenv("BAD_GUEST");

	if (what)
		change(atoi(what));
}
