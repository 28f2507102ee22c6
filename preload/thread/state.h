/* SPDX-License-Identifier: MIT */
/*
 * state.h - a thread's state in a recorder.
 */
#ifndef HP_PRELOAD_THREAD_STATE_H
#define HP_PRELOAD_THREAD_STATE_H

enum hp_thread_state {
	HP_THREAD_UNBORN = 0,
	HP_THREAD_OPEN,
	HP_THREAD_BUSY,
	HP_THREAD_CLOSED,	/* permanent: no segment, or excluded */
	HP_THREAD_LOST,	/* permanent: no room; its calls are only counted in the header */
};

#endif
