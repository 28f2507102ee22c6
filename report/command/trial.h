/* SPDX-License-Identifier: MIT */
/*
 * trial.h - the report of a session that ended is made in time, or made again with less.
 *
 * What holds a report up is the program's files: debug information on a file system that
 * does not answer, or made to be read for ever.  No such call can be broken off, but a
 * process can.  So the report is made by a child, and who waits for it makes it without these files
 * when the time is over.
 */
#ifndef HP_REPORT_COMMAND_TRIAL_H
#define HP_REPORT_COMMAND_TRIAL_H

#include <stdbool.h>

struct hp_trial {
	int told;	/* the child's end of a pipe; -1 = no child */
	bool is_late;	/* it had no more time, and this process is to make the report */
	bool has_printed;	/* but that much it had done */
};

#define HP_TRIAL_NONE \
	{ \
		.told = -1, .is_late = false, .has_printed = false \
	}

/*
 * Returns in the child, in its parent if the child was too late, and, where there can be
 * no child, in this process.  In all other cases this process ends as the child did.
 */
void hp_trial_begin(struct hp_trial *trial);

/* The report stands where it belongs. */
void hp_trial_printed(const struct hp_trial *trial);

#endif
