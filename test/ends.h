/* SPDX-License-Identifier: MIT */
/*
 * ends.h - preload/thread/end.h for a test of one recorder: with its own key.
 */
#ifndef HP_TEST_ENDS_H
#define HP_TEST_ENDS_H

#include <pthread.h>

#include "preload/thread/end.h"

static pthread_key_t ends_key;

int hp_end_new(void (*at_end)(void *data))
{
	return pthread_key_create(&ends_key, at_end) == 0 ? 0 : -1;
}

bool hp_end_watch(int number, void *data)
{
	return number >= 0 && pthread_setspecific(ends_key, data) == 0;
}

#endif
