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
#include "preload/thread/level.h"
#include "preload/thread/process.h"

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
	if (is_in_a_segment() && (hp_is_confined() || hp_self_is_main()))
		hp_drop_look();
}

void hp_drop_check(void)
{
	if (is_in_a_segment() && !hp_is_confined() && hp_level_can_change() && hp_self_is_main() &&
	    hp_level_has_changed(false))
		hp_self_drop(false);
}
