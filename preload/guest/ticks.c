/* SPDX-License-Identifier: MIT */
/*
 * ticks.c - see ticks.h.
 */
#include "preload/guest/ticks.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/self.h"

#ifndef PR_GET_TSC	/* x86 only */
#define PR_GET_TSC 25
#define PR_TSC_ENABLE 1
#endif

uint32_t hp_ticks_are_slow;
uint32_t hp_ticks_in_doubt;

enum allowance { UNKNOWN = 0, ALLOWED, FORBIDDEN };

static uint32_t is_inherited;	/* a thread's flag, inherited by threads that it creates */
static __thread uint32_t mine __attribute__((tls_model("initial-exec")));	/* enum allowance */

/* An unknown thread may have been created by one with the flag. */
static uint32_t inherited(void)
{
	int saved = errno, mode = PR_TSC_ENABLE;

	if (!__atomic_load_n(&is_inherited, __ATOMIC_RELAXED))
		return ALLOWED;
	if (hp_is_confined())
		return FORBIDDEN;	/* checking is forbidden: not recording is safe */
	if (syscall(SYS_prctl, PR_GET_TSC, &mode, 0, 0, 0) != 0)
		mode = PR_TSC_ENABLE;
	errno = saved;
	return mode == PR_TSC_ENABLE ? ALLOWED : FORBIDDEN;
}

HP_COLD bool hp_ticks_ask(void)
{
	if (mine == UNKNOWN)
		mine = inherited();
	return mine == FORBIDDEN;
}

HP_COLD uint64_t hp_ticks_slowly(void)
{
	return hp_ticks_are_forbidden() ? 0 : hp_clock_read(hp_segment.header->clock_kind);
}

uint64_t hp_ticks_about(void)
{
	uint64_t now = hp_ticks();

	return now ? now : __atomic_load_n(&hp_segment.header->last.ticks, __ATOMIC_RELAXED);
}

bool hp_ticks_begin(void)
{
	bool is_counter = hp_segment.header->clock_kind != HP_CLOCK_MONOTONIC_RAW;

	hp_ticks_are_slow |= !is_counter;
	return !is_counter || hp_clock_is_readable();
}

void hp_ticks_forbid(bool by_those_it_makes)
{
	mine = FORBIDDEN;
	if (by_those_it_makes) {
		hp_clock_avoid_user_space();
		__atomic_store_n(&is_inherited, 1, __ATOMIC_RELAXED);
	}
	/*
	 * Other threads may briefly see one word without the other; both cases
	 * are correct for them.
	 */
	__atomic_store_n(&hp_ticks_in_doubt, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&hp_ticks_are_slow, 1, __ATOMIC_RELEASE);
}

void hp_ticks_allow(void)
{
	mine = ALLOWED;
}
