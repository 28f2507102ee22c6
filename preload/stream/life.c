/* SPDX-License-Identifier: MIT */
/*
 * life.c - streams at the events of a process (preload/guest/above.h).
 */
#include "preload/guest/self.h"
#include "preload/stream/file.h"
#include "segment/section_key.h"

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	hp_stream_is_wanted = hp_settings_asks(settings, HP_KEY_STREAMS);
	if (!hp_stream_is_wanted)
		return;
	hp_segment_recorded(&hp_segment, HP_RECORDED_STREAMS);
	hp_file_configure();
}

static void find(void)
{
	HP_EARLY_FIND(streamer);
}

static void dropped(void)
{
	hp_file_forget();
	hp_stream_forget();
}

static void end(bool is_exec)
{
	(void)is_exec;
	/* Not in a vfork child: the streams are its parent's, whose threads go on reading. */
	if (hp_self_is_me())
		hp_file_leave();
}

const struct hp_recorder hp_stream_recorder = {
	.find = find,
	.configure = configure,
	.fold = hp_stream_fold,
	.end = end,
	.dropped = dropped,
	.read = hp_stream_fd_read,
	.closed = hp_stream_fd_closed,
};
