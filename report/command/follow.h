/* SPDX-License-Identifier: MIT */
/*
 * follow.h - `hotpath run` as the program's parent: signals and stops go both ways.
 *
 *   sent to us       signals that users send to a program go to the program, unless
 *                    the kernel sent them: a terminal's reach it anyway
 *   program stops    we stop by the same signal, so the shell sees a stopped job
 *   program continues  so do we, whoever continued it. A stopped process cannot wait for that,
 *                    so another one watches during the stop
 *   we continue         so does the program, if it has not been continued already
 */
#ifndef HP_REPORT_COMMAND_FOLLOW_H
#define HP_REPORT_COMMAND_FOLLOW_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct hp_follow {
	sigset_t held;	/* these wait for us */
	sigset_t old_mask;	/* the program's share: our own mask, */
	struct sigaction old_child;	/* and disposition of SIGCHLD */
	bool is_attached_to;	/* samply stops the program with SIGSTOP, and continues it itself */
};

/* Before the program starts. */
void hp_follow_begin(struct hp_follow *follow);

/* In the program's process, before its exec; a vfork child may call it. */
void hp_follow_undo(const struct hp_follow *follow);

/* Waits for the program's end.  Returns its wait status, or -errno if it cannot be waited for. */
int hp_follow(const struct hp_follow *follow, pid_t program, struct rusage *usage);

#endif
