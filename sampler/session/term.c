/* SPDX-License-Identifier: MIT */
/*
 * term.c - see term.h.
 */
#include "sampler/session/term.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const volatile pid_t *child;
static int wake;
static volatile sig_atomic_t is_asked, is_root_ended;

static void end_now(int number)
{
	pid_t report = *child;

	(void)number;
	if (report > 0)
		kill(report, SIGKILL);
	_exit(1);
}

static void hear(int number)
{
	int saved = errno;

	if (is_asked)
		end_now(number);
	is_asked = 1;
	alarm(is_root_ended ? HP_TERM_REPORT_S : HP_TERM_ROOT_S);
	eventfd_write(wake, 1);
	errno = saved;
}

void hp_term_init(const volatile pid_t *report, int event)
{
	struct sigaction action = { .sa_handler = hear, .sa_flags = SA_RESTART };
	sigset_t deaf;

	child = report;
	wake = event;
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = end_now;
	sigaction(SIGALRM, &action, NULL);
	sigfillset(&deaf);
	sigdelset(&deaf, SIGTERM);
	sigdelset(&deaf, SIGALRM);
	sigprocmask(SIG_SETMASK, &deaf, NULL);
}

void hp_term_root_ended(void)
{
	is_root_ended = 1;
	if (is_asked)
		alarm(HP_TERM_REPORT_S);
}

bool hp_term_is_asked(void)
{
	return is_asked;
}
