/* SPDX-License-Identifier: MIT */
/*
 * unseen.c - see unseen.h.
 */
#include "sampler/sample/unseen.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sampler/sample/outside.h"
#include "sampler/sample/open.h"

#define LONG_NS UINT64_C(20000000)	/* shorter waits are recorded by the threads themselves */
#define GO_ON_NS \
	UINT64_C(1000000000)	/* a wait that began under the limit has become long by then */
#define MEET_EVERY_NS UINT64_C(1000000000)

static void meet_process(struct hp_samples *samples, uint32_t pid, uint64_t now_ns)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", pid);
	DIR *folder = opendir(path);
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		unsigned long tid = strtoul(entry->d_name, NULL, 10);

		if (tid)
			hp_open_meet(samples, pid, (uint32_t)tid, now_ns);
	}
	if (folder)
		closedir(folder);
}

static void meet(struct hp_samples *samples, uint64_t now_ns)
{
	for (int i = 0; i < HP_SPACE_BUCKETS; i++)
		for (const struct hp_space *s = samples->spaces.buckets[i]; s; s = s->next)
			if (!s->is_ended)
				meet_process(samples, s->pid, now_ns);
}

uint64_t hp_unseen_look(struct hp_unseen *unseen, struct hp_samples *samples, bool is_limited,
			uint64_t now_ns)
{
	bool has_lost = unseen->lost != samples->lost;

	if (has_lost && now_ns >= unseen->meet_ns) {
		unseen->lost = samples->lost;
		unseen->meet_ns = now_ns + MEET_EVERY_NS;
		meet(samples, now_ns);
	}
	if (is_limited || has_lost)
		unseen->until_ns = now_ns + GO_ON_NS;
	if (now_ns >= unseen->until_ns) {
		unseen->look_ns = unseen->until_ns = 0;
		return 0;
	}
	if (now_ns >= unseen->look_ns) {
		hp_outside_look(samples, LONG_NS);
		unseen->look_ns = now_ns + HP_OUTSIDE_IDLE_NS;
	}
	return unseen->look_ns;
}
