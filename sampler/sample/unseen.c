/* SPDX-License-Identifier: MIT */
/*
 * unseen.c - see unseen.h.
 */
#include "sampler/sample/unseen.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/base/proc.h"
#include "sampler/sample/outside.h"
#include "sampler/sample/open.h"
#include "segment/clock.h"

#define LONG_NS UINT64_C(20000000)	/* shorter waits are recorded by the threads themselves */
#define GO_ON_NS \
	UINT64_C(1000000000)	/* a wait that began under the limit has become long by then */
#define MEET_EVERY_NS UINT64_C(1000000000)
#define PORTION_NS UINT64_C(2000000)	/* of meeting threads, */
#define PORTION_PAUSE_NS UINT64_C(10000000)	/* and between two portions, at least */

/* The processes that exist now. */
static void meet_begin(struct hp_unseen *unseen, const struct hp_samples *samples)
{
	unseen->pid_count = 0;
	for (int i = 0; i < HP_SPACE_BUCKETS; i++)
		for (const struct hp_space *s = samples->spaces.buckets[i]; s; s = s->next)
			if (!s->is_ended && unseen->pid_count < HP_UNSEEN_PIDS)
				unseen->pids[unseen->pid_count++] = s->pid;
}

static void folder_open(struct hp_unseen *unseen)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", unseen->pids[unseen->pid_count - 1]);
	unseen->folder = opendir(path);
}

static void folder_close(struct hp_unseen *unseen)
{
	if (unseen->folder)
		closedir(unseen->folder);
	unseen->folder = NULL;
	unseen->pid_count--;
}

void hp_unseen_release(struct hp_unseen *unseen)
{
	if (unseen->folder)
		closedir(unseen->folder);
	unseen->folder = NULL;
	unseen->pid_count = 0;
}

/* One thread takes some 15 us, so thousands are met in portions. */
static void meet(struct hp_unseen *unseen, struct hp_samples *samples, uint64_t now_ns)
{
	const uint64_t end_ns = now_ns + PORTION_NS;

	while (unseen->pid_count && hp_clock_raw_ns() < end_ns) {
		if (!unseen->folder)
			folder_open(unseen);
		struct dirent *entry = unseen->folder ? readdir(unseen->folder) : NULL;
		unsigned long tid = entry ? strtoul(entry->d_name, NULL, 10) : 0;

		if (tid)
			hp_open_meet(samples, unseen->pids[unseen->pid_count - 1], (uint32_t)tid,
				     hp_clock_raw_ns());
		if (!entry)
			folder_close(unseen);
	}
}

/* As many threads as there is time for. */
static void portion(struct hp_unseen *unseen, struct hp_samples *samples, uint64_t now_ns)
{
	uint64_t since_ns = hp_proc_own_cpu_ns(), pause_ns;

	meet(unseen, samples, now_ns);
	pause_ns = hp_proc_rest_ns(since_ns);
	unseen->portion_ns =
		hp_clock_raw_ns() + (pause_ns > PORTION_PAUSE_NS ? pause_ns : PORTION_PAUSE_NS);
}

uint64_t hp_unseen_look(struct hp_unseen *unseen, struct hp_samples *samples, bool is_limited,
			uint64_t now_ns)
{
	bool has_lost = unseen->lost != samples->lost;

	if (has_lost && now_ns >= unseen->meet_ns) {
		unseen->lost = samples->lost;
		unseen->meet_ns = now_ns + MEET_EVERY_NS;
		if (!unseen->pid_count)
			meet_begin(unseen, samples);
	}
	if (unseen->pid_count && now_ns >= unseen->portion_ns)
		portion(unseen, samples, now_ns);
	if (is_limited || has_lost || unseen->pid_count)
		unseen->until_ns = now_ns + GO_ON_NS;
	if (now_ns >= unseen->until_ns) {
		unseen->look_ns = unseen->until_ns = 0;
		return 0;
	}
	if (now_ns >= unseen->look_ns) {
		hp_outside_look(samples, LONG_NS);
		unseen->look_ns = hp_outside_next(now_ns, HP_OUTSIDE_IDLE_NS);
	}
	return unseen->pid_count && unseen->portion_ns < unseen->look_ns ? unseen->portion_ns
									 : unseen->look_ns;
}
