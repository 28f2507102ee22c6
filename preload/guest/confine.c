/* SPDX-License-Identifier: MIT */
/*
 * confine.c - see confine.h.
 */
#include "preload/guest/confine.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HP_TID_WITHIN 1024	/* glibc keeps the thread id at 720 on x86-64 */

_Atomic uint32_t hp_confined;

static ptrdiff_t tid_at;	/* in the struct behind pthread_self(); 0 = unknown */

uint32_t hp_confine_tid(void)
{
	uint32_t tid = 0;

	if (!hp_is_confined())
		return (uint32_t)syscall(SYS_gettid);
	if (tid_at)
		memcpy(&tid, (const char *)pthread_self() + tid_at, sizeof(tid));
	return tid;
}

/* The C library keeps the thread's id up to date, also after fork. */
static ptrdiff_t find_tid(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid), found;

	for (ptrdiff_t at = sizeof(tid); at < HP_TID_WITHIN; at += (ptrdiff_t)sizeof(tid)) {
		memcpy(&found, (const char *)pthread_self() + at, sizeof(found));
		if (found == tid)
			return at;
	}
	return 0;
}

void hp_confine_prepare(void)
{
	tid_at = find_tid();
}
