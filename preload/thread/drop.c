/* SPDX-License-Identifier: MIT */
/*
 * drop.c - see drop.h.
 *
 * The C library changes the credentials of all threads at once; a raw system
 * call only changes one thread's. Then the first thread's count for the
 * process, as in /proc.
 *
 * Under a filter no mapping can be changed: then the segment is marked as
 * writable by a process with fewer privileges.
 */
#include "preload/thread/drop.h"

#include <stdbool.h>

#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/thread/level.h"
#include "preload/thread/process.h"

#define PAUSE (UINT64_C(1) << 20)	/* ticks: 0.3 to 1 ms of a processor's counter */

static bool is_in_a_segment(void)
{
	return hp_segment.header && !hp_is_early();
}

void hp_drop_look(void)
{
	if (!is_in_a_segment())
		return;
	if (hp_is_confined())
		hp_level_taint();
	else if (hp_level_has_changed(true))
		hp_self_drop(true);
}

void hp_drop_look_at_thread(void)
{
	if (is_in_a_segment() && (hp_is_confined() || hp_tid_is_main()))
		hp_drop_look();
}

static bool may_drop(void)
{
	return is_in_a_segment() && !hp_is_confined() && hp_level_can_change() && hp_tid_is_main();
}

static void check(void)
{
	if (hp_level_has_changed(false))
		hp_self_drop(false);
}

void hp_drop_check(void)
{
	if (may_drop())
		check();
}

/* Only the first thread gets here, so one variable is enough. */
void hp_drop_check_at_times(void)
{
	static uint64_t last;
	uint64_t now;

	if (!may_drop())
		return;
	now = hp_ticks_about();
	if (now - last < PAUSE)
		return;
	last = now;
	check();
}
