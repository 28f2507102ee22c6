/* SPDX-License-Identifier: MIT */
/*
 * hook_key.c - interposes pthread_key_create and related functions: a program
 * that needs all keys gets ours, too (preload/thread/end.h).
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/thread/end.h"

/* Not declared in any header of the C library. */
int __pthread_key_create(pthread_key_t *key, void (*end)(void *));

static bool may_try_again(void)
{
	return !hp_is_early() && hp_end_give_up();
}

HP_EXPORT int pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	int error = hp_real()->pthread_key_create(key, end);

	return error == EAGAIN && may_try_again() ? hp_real()->pthread_key_create(key, end) : error;
}

/* libstdc++ and related libraries use this name. */
HP_EXPORT int __pthread_key_create(pthread_key_t *key, void (*end)(void *))
{
	int error = hp_real()->__pthread_key_create(key, end);

	return error == EAGAIN && may_try_again() ? hp_real()->__pthread_key_create(key, end)
						  : error;
}

HP_EXPORT int tss_create(tss_t *key, tss_dtor_t end)
{
	int result = hp_real()->tss_create(key, end);

	return result == thrd_error && may_try_again() ? hp_real()->tss_create(key, end) : result;
}
