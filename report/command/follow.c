/* SPDX-License-Identifier: MIT */
/*
 * follow.c - see follow.h.
 *
 * The kernel notifies a parent that its child was continued, but a stopped parent does not
 * run, and nobody else is notified. So while we are stopped, a helper process reads the states in
 * /proc every 10 ms, and continues us when the program is running again.  It has its own
 * session: a shell's signals to the job do not stop it as well.
 */
#include "report/command/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 10000000
#define GROUP_NS 1000000	/* a signal to a process group reaches all of it within this time, */
#define GROUP_TRIES 10	/* or several of them */

void hp_follow_begin(struct hp_follow *follow)
{
	static const int numbers[] = { SIGCHLD, SIGINT,	 SIGQUIT, SIGTERM, SIGHUP, SIGUSR1,
				       SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT };
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	sigemptyset(&follow->held);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaddset(&follow->held, numbers[i]);
	sigprocmask(SIG_BLOCK, &follow->held, &follow->old_mask);
	/* SIGCHLD must reach us, even if our parent ignored it. */
	sigaction(SIGCHLD, &usual, &follow->old_child);
}

void hp_follow_undo(const struct hp_follow *follow)
{
	sigaction(SIGCHLD, &follow->old_child, NULL);
	sigprocmask(SIG_SETMASK, &follow->old_mask, NULL);
}

/* As in /proc/PID/stat: T = stopped, Z = ended; 0 = not known. */
static char state_of(pid_t pid)
{
	char path[32], text[128];
	ssize_t size = -1;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[size > 0 ? size : 0] = '\0';
	const char *end = strrchr(text, ')');	/* of its name, which may be anything */
	return end && end[1] == ' ' ? end[2] : 0;
}

static bool is_stopped(pid_t pid)
{
	return state_of(pid) == 'T';
}

/* The separate process.  Ends with us, or when we are continued. */
static void watch(pid_t program, pid_t us)
{
	const struct timespec slice = { 0, LOOK_NS };

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == us) {
		/* Ours first: the program may have been continued before we stopped. */
		if (is_stopped(us) && !is_stopped(program))
			kill(us, SIGCONT);
		nanosleep(&slice, NULL);
	}
	_exit(0);
}

/* With the signal that stopped the program, so that the shell reports the same for both. */
static void stop_by(int number)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	struct sigaction before;
	sigset_t this;

	sigemptyset(&this);
	sigaddset(&this, number);
	sigaction(number, &usual, &before);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &this, NULL);	/* we stop here */
	sigprocmask(SIG_BLOCK, &this, NULL);
	sigaction(number, &before, NULL);
}

/* A signal to a process group reaches the program itself, perhaps a moment later than us. */
static void go_on(pid_t program)
{
	const struct timespec slice = { 0, GROUP_NS };

	for (int i = 0; i < GROUP_TRIES; i++) {
		if (!is_stopped(program))
			return;
		nanosleep(&slice, NULL);
	}
	kill(program, SIGCONT);
}

/*
 * If states cannot be read, or no process can be created, we do not stop. Nor do we as process 1 of
 * a namespace: then no SIGCONT has arrived.
 */
static void stop_too(pid_t program, int number)
{
	const struct timespec now = { 0, 0 };
	pid_t us = getpid();
	sigset_t cont;
	siginfo_t info;

	if (!is_stopped(program))
		return;
	pid_t watcher = fork();
	if (watcher == 0)
		watch(program, us);
	if (watcher < 0)
		return;
	stop_by(number);
	kill(watcher, SIGKILL);
	while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR)
		;
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	if (sigtimedwait(&cont, &info, &now) > 0 && info.si_pid != watcher)
		go_on(program);
}

/* Signals that the program sends to its process group are not sent back. */
static void pass_on(pid_t program, const siginfo_t *info)
{
	bool is_sent =
		info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL;

	if (!is_sent || info->si_pid == program)
		return;
	if (info->si_signo == SIGCONT)
		go_on(program);
	else
		kill(program, info->si_signo);
}

int hp_follow(const struct hp_follow *follow, pid_t program, struct rusage *usage)
{
	siginfo_t info;
	int status;

	for (;;) {
		pid_t got = wait4(program, &status, WNOHANG | WUNTRACED, usage);

		if (got == program && !WIFSTOPPED(status))
			return status;
		if (got == program && follow->is_attached_to && WSTOPSIG(status) == SIGSTOP)
			continue;
		if (got == program)
			stop_too(program, WSTOPSIG(status));
		else if (got < 0 && errno == ECHILD)
			return -ECHILD;
		else if (sigwaitinfo(&follow->held, &info) > 0 && info.si_signo != SIGCHLD)
			pass_on(program, &info);
	}
}
