/* SPDX-License-Identifier: MIT */
/*
 * target.c - see target.h.
 */
#include "live/answer/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/store/live.h"
#include "report/store/parts.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define LATE_NS UINT64_C(2000000000)	/* since the last refresh: the console was paused */

void hp_target_init_fd(struct hp_target *target, int fd)
{
	*target = (struct hp_target){ .fd = fd,
				      .mapped = HP_SEGMENT_NONE,
				      .input = { .segment = HP_SEGMENT_NONE } };
	target->input.record.is_live = true;
	target->input.record.is_lazy = true;
}

/* The only session that runs: a descriptor, or -ENOENT, -EEXIST. */
static int open_only(void)
{
	size_t count;
	struct hp_live *live = hp_live_list(&count);
	int fd = count == 1 ? hp_session_look(live->token) : count ? -EEXIST : -ENOENT;

	free(live);
	return fd;
}

bool hp_target_init(struct hp_target *target, const char *name, hp_complain complain, void *context)
{
	int fd = name ? hp_live_open(name) : open_only();
	char *line;

	if (fd >= 0) {
		hp_target_init_fd(target, fd);
		return true;
	}
	if (fd == -EEXIST) {
		hp_target_init_fd(target, -1);
		line = hp_xprintf("%s%sseveral sessions run; give one shown by hotpath list",
				  name ? name : "", name ? ": " : "");
		complain(context, line);
		free(line);
		return false;
	}
	return hp_target_init_run(target, name, complain, context);
}

bool hp_target_init_run(struct hp_target *target, const char *path, hp_complain complain,
			void *context)
{
	hp_target_init_fd(target, -1);
	return hp_input_open(&target->input, path, complain, context);
}

bool hp_target_is_live(const struct hp_target *target)
{
	return target->fd >= 0;
}

/* A segment in a file may have been truncated since. */
static bool is_mapped_whole(const struct hp_target *target)
{
	struct stat status;

	return target->mapped.header && fstat(target->fd, &status) == 0 &&
	       (target->mapped.parts.count || (uint64_t)status.st_size >= target->mapped.size) &&
	       hp_segment_check(target->mapped.header, (uint64_t)status.st_size) == HP_SEGMENT_FINE;
}

/*
 * After the end: the first refresh, if it is accurate to LATE_NS, otherwise the last one
 * before, when the session still existed.
 */
static struct hp_moment moment_of(struct hp_target *target, uint32_t clock_kind)
{
	struct hp_moment now = hp_clock_moment(clock_kind);

	if (target->is_settled)
		return target->seen;
	target->is_settled = atomic_load(&target->is_over);
	if (!target->is_settled || target->seen.ns == 0 || now.ns - target->seen.ns < LATE_NS)
		target->seen = now;
	return target->seen;
}

void hp_target_stop(struct hp_target *target)
{
	atomic_store(&target->is_over, true);
}

bool hp_target_look(struct hp_target *target, struct hp_segment *segment)
{
	if (target->fd >= 0) {
		if (!is_mapped_whole(target)) {
			hp_parts_close(&target->mapped);
			hp_segment_release(&target->mapped);
			if (hp_segment_map_fd(&target->mapped, target->fd) != HP_SEGMENT_FINE)
				return false;
		}
		hp_parts_ask(&target->mapped, target->fd);
		*segment = target->mapped;
		segment->records_most = hp_parts_records_most(&target->mapped, target->fd);
		segment->is_lent = true;
		segment->now = moment_of(target, segment->header->clock_kind);
		return true;
	}
	if (target->is_taken)
		return false;
	*segment = target->input.segment;
	target->input.segment = (struct hp_segment)HP_SEGMENT_NONE;
	return target->is_taken = true;
}

void hp_target_release(struct hp_target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	hp_parts_close(&target->mapped);
	hp_segment_release(&target->mapped);
	hp_input_release(&target->input);
	target->fd = -1;
}
