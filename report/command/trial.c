/* SPDX-License-Identifier: MIT */
/*
 * trial.c - see trial.h.
 */
#include "report/command/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/session.h"

#define GONE_MS 1000	/* one that sleeps in the kernel may not be killable, and is then abandoned */
#define SLICE_NS 1000000
#define LOOK_MS 100
#define PARENT_MS 1000
#define WAKEUP_NS 300000
#define PROMPT_NS 20000000

/* Another core file would hide the child's. */
static void end_like(int status)
{
	static const struct rlimit none = { 0, 0 };

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	_exit(1);
}

static bool has_ended(pid_t child)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid;
}

/*
 * True at its end, false on timeout. Usually the pipe wakes us, but another end of it may still
 * be open, so the child is polled as well.
 */
static bool hear(struct hp_trial *trial, int pipe, pid_t child, uint64_t until_ns)
{
	struct pollfd asked = { .fd = pipe, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = hp_clock_raw_ns();
		uint64_t left_ms = now_ns < until_ns ? (until_ns - now_ns) / 1000000 + 1 : 0;
		int count = poll(&asked, 1, left_ms < LOOK_MS ? (int)left_ms : LOOK_MS);
		char byte;

		if (count > 0 && read(pipe, &byte, 1) == 1) {
			if (byte == HP_TOLD_ENDED && read(pipe, &byte, 1) == 1)
				_exit((unsigned char)byte);
			trial->has_printed |= byte == HP_TOLD_PRINTED;
			until_ns = byte == HP_TOLD_WAITS ? UINT64_MAX : until_ns;
		} else if (count > 0 || has_ended(child))
			return true;
		else if (!left_ms)
			return false;
	}
}

static void child_end(pid_t child)
{
	const struct timespec slice = { 0, SLICE_NS };

	kill(child, SIGKILL);
	for (int i = 0; i < GONE_MS && waitpid(child, NULL, WNOHANG) == 0; i++)
		nanosleep(&slice, NULL);
}

/* The child ends with us: the helper knows only one process that makes the report. */
static void be_child(struct hp_trial *trial, const int ends[2], pid_t parent)
{
	close(ends[0]);
	trial->told = ends[1];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

void hp_trial_begin(struct hp_trial *trial)
{
	uint64_t until_ns = hp_clock_raw_ns() + hp_report_most_ms() * 1000000;
	pid_t parent = getpid();
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		be_child(trial, ends, parent);
		return;
	}
	close(ends[1]);
	trial->is_late = child > 0 && !hear(trial, ends[0], child, until_ns);
	close(ends[0]);
	if (child < 0)
		return;
	if (trial->is_late) {
		child_end(child);
		return;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			_exit(1);
	end_like(status);
}

void hp_trial_heard(struct hp_trial *trial)
{
	trial->told = fcntl(0, F_DUPFD_CLOEXEC, 3);
}

static void tell(const struct hp_trial *trial, char byte)
{
	if (trial->told >= 0)
		(void)!write(trial->told, &byte, 1);
}

void hp_trial_printed(const struct hp_trial *trial)
{
	tell(trial, HP_TOLD_PRINTED);
}

/* Nobody shall wait for our end of a pipe. */
static void let_go(void)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; nowhere >= 0 && fd < 3; fd++)
		dup2(nowhere, fd);
}

void hp_trial_end(const struct hp_trial *trial, int status)
{
	const char bytes[2] = { HP_TOLD_ENDED, (char)status };

	if (trial->told < 0)
		return;
	fflush(NULL);
	prctl(PR_SET_PDEATHSIG, 0);
	(void)!write(trial->told, bytes, sizeof(bytes));
	let_go();
}

void hp_trial_make_way(const struct hp_trial *trial)
{
	const struct timespec wakeup = { 0, WAKEUP_NS };
	struct pollfd parent = { .fd = trial->told };

	if (trial->told < 0)
		return;
	poll(&parent, 1, PARENT_MS);
	nanosleep(&wakeup, NULL);
}

/*
 * Giving back memory takes the kernel some milliseconds, in which it may run nothing else on this
 * core: the parent, the helper and the shell go first.
 */
void hp_trial_stand_back(const struct hp_trial *trial)
{
	const struct timespec prompt = { 0, PROMPT_NS };

	if (trial->told >= 0)
		nanosleep(&prompt, NULL);
}

void hp_trial_done(const struct hp_trial *trial)
{
	tell(trial, HP_TOLD_WAITS);
}
