/* SPDX-License-Identifier: MIT */
/*
 * state.h - how a thread stands to a recorder.
 */
#ifndef HP_PRELOAD_THREAD_STATE_H
#define HP_PRELOAD_THREAD_STATE_H

enum hp_thread_state {
	HP_THREAD_UNBORN = 0,
	HP_THREAD_OPEN,
	HP_THREAD_BUSY,
	HP_THREAD_CLOSED,	/* for good: no segment, or not to be recorded */
	HP_THREAD_LOST,	/* for good: no room; its calls are counted in the header only */
};

#endif
