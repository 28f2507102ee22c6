/* SPDX-License-Identifier: MIT */
/*
 * unseen.h - waits that the kernel's records do not show: their stacks
 * were limited, or the records of their start were lost.
 *
 * For some time after such a moment, scans of the threads find waits in
 * progress. Waits that ended before are not found.
 */
#ifndef HP_SAMPLER_SAMPLE_UNSEEN_H
#define HP_SAMPLER_SAMPLE_UNSEEN_H

#include <dirent.h>

#include "sampler/sample/sample.h"

#define HP_UNSEEN_PIDS 1024

struct hp_unseen {
	uint64_t until_ns;	/* scans continue until then; 0 = none */
	uint64_t look_ns;	/* the next one */
	uint64_t meet_ns;	/* not before: threads are scanned again */
	uint64_t lost;	/* records, at the last scan */
	uint64_t portion_ns;	/* when the next threads are met */
	DIR *folder;	/* threads of the last one of these processes; NULL = not open */
	uint32_t pid_count;	/* whose threads are still to be met */
	uint32_t pids[HP_UNSEEN_PIDS];
};

void hp_unseen_release(struct hp_unseen *unseen);

/*
 * Call after records were read. `is_limited`: stacks of waits are currently limited.
 * Returns when to call it again, ns of CLOCK_MONOTONIC_RAW; 0 = never.
 */
uint64_t hp_unseen_look(struct hp_unseen *unseen, struct hp_samples *samples, bool is_limited,
			uint64_t now_ns);

#endif
