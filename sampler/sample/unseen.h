/* SPDX-License-Identifier: MIT */
/*
 * unseen.h - waits that the kernel's records don't show: their stacks were
 * limited, or the records of their begin were lost.
 *
 * A wait in progress is found, for some time after such a moment, by scans of
 * the threads themselves.  Earlier ends are not.
 */
#ifndef HP_SAMPLER_SAMPLE_UNSEEN_H
#define HP_SAMPLER_SAMPLE_UNSEEN_H

#include "sampler/sample/sample.h"

struct hp_unseen {
	uint64_t until_ns; /* scans continue until then; 0 = none */
	uint64_t look_ns; /* the next one */
	uint64_t meet_ns; /* not before: threads are met again */
	uint64_t lost; /* records, when they were met last */
};

/*
 * To be called after records were read.  `is_limited`: stacks of waits are, just
 * now.  Returns when it wants to be called again, ns of CLOCK_MONOTONIC_RAW; 0 = never.
 */
uint64_t hp_unseen_look(struct hp_unseen *unseen, struct hp_samples *samples, bool is_limited,
			uint64_t now_ns);

#endif
