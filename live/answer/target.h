/* SPDX-License-Identifier: MIT */
/*
 * target.h - what is looked at: a session that goes on, or a run that is over.
 *
 * A session's segment is mapped once, through a descriptor that cannot be
 * written to, and lent to each look.  A run's file is read once.
 */
#ifndef HP_LIVE_ANSWER_TARGET_H
#define HP_LIVE_ANSWER_TARGET_H

#include <stdbool.h>

#include "report/store/input.h"

struct hp_target {
	int fd;	/* of a session's segment; -1 = none */
	struct hp_segment mapped;	/* that segment, for all looks: faults are paid once */
	struct hp_input input;	/* of a run; its segment goes with the first look */
	bool is_taken;
};

/* A session's segment; takes over the descriptor. */
void hp_target_init_fd(struct hp_target *target, int fd);

/*
 * What `name` means: a session that goes on (its pid or token), else a file or
 * kept run; NULL = the only session there is, else the newest run.  A failure is
 * told in one line, to `complain`.
 */
bool hp_target_init(struct hp_target *target, const char *name, hp_complain complain,
		    void *context);

/* A run that is over, as hp_input_open finds it. */
bool hp_target_init_run(struct hp_target *target, const char *path, hp_complain complain,
			void *context);

/* True if its figures go on. */
bool hp_target_is_live(const struct hp_target *target);

/*
 * The segment as it is now; it must be released before the target is.  Of a run
 * this works once.  False = it cannot be read.
 */
bool hp_target_look(struct hp_target *target, struct hp_segment *segment);
void hp_target_release(struct hp_target *target);

#endif
