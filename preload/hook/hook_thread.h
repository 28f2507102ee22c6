/* SPDX-License-Identifier: MIT */
/*
 * hook_thread.h - the records of threads are made by the stand-ins themselves.
 */
#ifndef HP_PRELOAD_HOOK_HOOK_THREAD_H
#define HP_PRELOAD_HOOK_HOOK_THREAD_H

#include "preload/guest/above.h"

extern const struct hp_recorder hp_thread_recorder;

#endif
