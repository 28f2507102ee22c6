/* SPDX-License-Identifier: MIT */
/*
 * above.c - the list of recorders, one line each (preload/guest/above.h).
 */
#include "preload/guest/above.h"

#include "preload/call/local.h"
#include "preload/channel/channel.h"
#include "preload/future/connect.h"
#include "preload/future/future.h"
#include "preload/future/ring.h"
#include "preload/heap/direct.h"
#include "preload/heap/heap.h"
#include "preload/hook/birth.h"
#include "preload/hook/start.h"
#include "preload/lock/lock.h"
#include "preload/loop/loop.h"
#include "preload/loop/share.h"
#include "preload/stream/stream.h"
#include "preload/value/value.h"
#include "preload/wait/cpu_timer.h"
#include "preload/wait/offcpu_note.h"

/*
 * They are configured, and get their end notifications, in this order. Calls
 * come first: an ending thread charges its calls' allocations before its heap
 * is released.
 */
const struct hp_above hp_above = {
	.start = hp_start_session,
	.enter = hp_start_enter,
	.recorders = {
		&hp_call_recorder,
		&hp_heap_recorder,
		&hp_direct_recorder,
		&hp_lock_recorder,
		&hp_thread_recorder,
		&hp_timer_recorder,
		&hp_channel_recorder,
		&hp_loop_recorder,
		&hp_share_recorder,
		&hp_offcpu_note_recorder,
		&hp_value_recorder,
		&hp_stream_recorder,
		&hp_future_recorder,
		&hp_connect_recorder,
		&hp_ring_recorder,
	},
};
