/* SPDX-License-Identifier: MIT */
/*
 * trial.h - makes a report in time, or again with less.
 *
 * A report is held up by the program's files: debug information on a file system that does not
 * answer, or made to be read forever.  No such call can be broken off, but a process can.  So the
 * report is made by a child, and the waiting parent makes it without these files when the time is
 * over.
 */
#ifndef HP_REPORT_COMMAND_TRIAL_H
#define HP_REPORT_COMMAND_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

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

/* The rest is spent elsewhere: the output needs a reader. */
void hp_trial_done(const struct hp_trial *trial);

/* The time that there is. */
uint64_t hp_trial_most_ms(void);

#endif
