/* SPDX-License-Identifier: MIT */
/*
 * life.c - streams at the events of a process (preload/guest/above.h).
 */
#include "preload/guest/self.h"
#include "preload/stream/stream.h"
#include "segment/section_key.h"

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	hp_stream_is_wanted = hp_settings_asks(settings, HP_KEY_STREAMS);
	if (hp_stream_is_wanted)
		hp_segment_recorded(&hp_segment, HP_RECORDED_STREAMS);
}

const struct hp_recorder hp_stream_recorder = {
	.configure = configure,
	.fold = hp_stream_fold,
	.dropped = hp_stream_forget,
};
