/* SPDX-License-Identifier: MIT */
/*
 * life.c - channels at process events.
 */
#include "preload/channel/channel.h"
#include "preload/channel/datagram.h"
#include "preload/channel/key.h"
#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/self.h"

static void dropped(void)
{
	hp_channel_forget_all();
	hp_channel_forget_lanes();
	hp_datagram_forget();
	hp_channel_key_forget();
}

static void entered(void)
{
	if (hp_channel_base)
		hp_channel_base = (char *)hp_segment.header;
}

static void find(void)
{
	HP_EARLY_FIND(channel_thread);
}

const struct hp_recorder hp_channel_recorder = {
	.find = find,
	.configure = hp_channel_configure,
	.dropped = dropped,
	.entered = entered,
	.end = hp_channel_leave,
	.go_on = hp_channel_come_back,
};
