/* SPDX-License-Identifier: MIT */
/*
 * target.h - the data source: a running session, or an ended run.
 *
 * A session's segment is mapped once, through a read-only descriptor, and lent
 * to each refresh. A run's file is read once.
 */
#ifndef HP_LIVE_ANSWER_TARGET_H
#define HP_LIVE_ANSWER_TARGET_H

#include <stdatomic.h>
#include <stdbool.h>

#include "report/store/input.h"

struct hp_target {
	int fd;	/* of a session's segment; -1 = none */
	struct hp_segment mapped;	/* that mapping, for all refreshes: page faults are paid once */
	struct hp_input input;	/* of a run; the first refresh takes over its segment */
	bool is_taken;
	atomic_bool is_over;	/* no process is left to record */
	bool is_settled;	/* so `seen` is final */
	struct hp_moment seen;	/* of the last refresh; 0 = none */
};

/* A session's segment; takes over the descriptor. */
void hp_target_init_fd(struct hp_target *target, int fd);

/*
 * Resolves `name`: a running session (its pid or token), else a file or kept
 * run; NULL = the only session, else the newest run. On failure `complain` gets
 * one line.
 */
bool hp_target_init(struct hp_target *target, const char *name, hp_complain complain,
		    void *context);

/* An ended run, as hp_input_open finds it. */
bool hp_target_init_run(struct hp_target *target, const char *path, hp_complain complain,
			void *context);

/* True if its figures still change. */
bool hp_target_is_live(const struct hp_target *target);

/*
 * The session was found to have ended without notice: all its processes were killed. Open calls
 * last until now, or, if there was no recent refresh, until the last one. Any thread.
 */
void hp_target_stop(struct hp_target *target);

/*
 * The current segment; release it before the target. For a run this works once.
 * False = unreadable.
 */
bool hp_target_look(struct hp_target *target, struct hp_segment *segment);
void hp_target_release(struct hp_target *target);

#endif
