/* SPDX-License-Identifier: MIT */
/*
 * trial.h - makes a report in time, or again with fewer files.
 *
 * The program's files can delay a report: debug information on a file system that does not
 * respond, or crafted to be read forever. Such a call cannot be interrupted, but a process can be
 * killed. So a child makes the report, and after a timeout the waiting parent makes it without
 * these files.
 */
#ifndef HP_REPORT_COMMAND_TRIAL_H
#define HP_REPORT_COMMAND_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

struct hp_trial {
	int told;	/* where the one that limits the time hears of us; -1 = nobody does */
	bool is_late;	/* it ran out of time, and this process must make the report */
	bool has_printed;	/* but this much was done */
};

#define HP_TRIAL_NONE \
	{ \
		.told = -1, .is_late = false, .has_printed = false \
	}

/*
 * Returns in the child; in its parent if the child was too late; and, if no child can be
 * created, in this process. In all other cases this process ends as the child did.
 */
void hp_trial_begin(struct hp_trial *trial);

/*
 * Instead, for the helper: it hears by our stdin how far we are, limits the time, and starts the
 * second attempt itself. So a short program's user does not wait for another process's start and end.
 */
void hp_trial_heard(struct hp_trial *trial);

/* The report has been written. */
void hp_trial_printed(const struct hp_trial *trial);

/* The rest is waiting: the output needs a reader. */
void hp_trial_done(const struct hp_trial *trial);

/*
 * Everything is written and will return this status: the parent ends now. This process continues
 * behind it, without stdin, stdout and stderr: it removes old runs, notes what it learned for later
 * reports, and gives its memory back. First it makes way for those that wait, who may need this
 * processor, and for the last it stands back.
 */
void hp_trial_end(const struct hp_trial *trial, int status);
void hp_trial_make_way(const struct hp_trial *trial);
void hp_trial_stand_back(const struct hp_trial *trial);

#endif
