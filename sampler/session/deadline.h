/* SPDX-License-Identifier: MIT */
/*
 * deadline.h - HOTPATH_SHUTDOWN_MS: ends a program after this time.
 *
 * All processes of the session that have the library get SIGTERM, as at the end
 * of a service; processes still there two seconds later get SIGKILL.  The
 * report is made when the root has ended, as always.
 */
#ifndef HP_SAMPLER_SESSION_DEADLINE_H
#define HP_SAMPLER_SESSION_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/session/member.h"

struct hp_deadline {
	uint64_t due_ns;	/* hp_clock_raw_ns of the next step; 0 = none */
	bool is_asked;	/* SIGTERM was sent */
};

/* `window_ms` after the session's start; 0 = never. */
void hp_deadline_init(struct hp_deadline *deadline, uint64_t start_ns, uint64_t window_ms);

/*
 * Does the work that is due. `is_root_there`: otherwise the program has ended,
 * and its leftovers may remain.
 */
void hp_deadline_do(struct hp_deadline *deadline, struct hp_members *members, bool is_root_there);

#endif
