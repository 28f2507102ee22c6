/* SPDX-License-Identifier: MIT */
/*
 * level.c - see level.h.
 *
 * Credentials are read from the kernel, not derived from calls: the effect of a
 * call depends on the process's ids, capabilities and flags.
 *
 * A vfork child shares its parent's memory, and changes nothing.
 */
#include "preload/thread/level.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/confine.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/say.h"
#include "preload/guest/self.h"
#include "preload/thread/module.h"
#include "segment/rights.h"
#include "segment/segment.h"
#include "segment/session.h"

enum place { INSIDE = 0, OUT, ALONE };	/* ALONE: out, permanently */

uint32_t hp_drops;

static struct hp_rights rights;	/* credentials when the segment was entered */
static _Atomic uint32_t place;	/* enum place */

/* ---- rights ---- */

static uint64_t user_namespace(void)
{
	return hp_rights_namespace(AT_FDCWD, "/proc/self/ns/user");
}

bool hp_level_is_fresh;

void hp_level_begin(uint64_t known)
{
	int saved = errno;

	if (hp_rights_own(&rights) && !hp_rights_are_least(&rights))
		hp_segment_reserve(&hp_segment);
	rights.user_namespace = known ? known : user_namespace();
	errno = saved;
}

/* ---- leaving ---- */

bool hp_level_has_changed(bool asks_namespace)
{
	struct hp_rights now;
	int saved = errno;
	bool has_changed = false;

	if (hp_rights_own(&now)) {
		now.user_namespace = asks_namespace && !hp_level_is_fresh ? user_namespace() : 0;
		/* As a rule nothing has changed: only then does it matter whose memory this is. */
		has_changed = !hp_rights_are_same(&now, &rights) && !hp_self_is_borrowed();
		if (has_changed)
			rights = now;
	}
	errno = saved;
	return has_changed;
}

bool hp_level_can_change(void)
{
	return !hp_rights_are_least(&rights);
}

void hp_level_taint(void)
{
	if (!hp_segment.is_private)
		atomic_store_explicit(&hp_segment_levels(&hp_segment)->is_tainted, 1,
				      memory_order_relaxed);
}

/* A process that is out permanently may drop more privileges. */
void hp_level_leaves(void)
{
	uint32_t before = INSIDE;

	atomic_compare_exchange_strong(&place, &before, OUT);
}

void hp_level_left(void)
{
	hp_module_forget();
	__atomic_fetch_add(&hp_drops, 1, __ATOMIC_RELEASE);
}

/* ---- entering ---- */

bool hp_level_is_out(void)
{
	return atomic_load_explicit(&place, memory_order_acquire) != INSIDE;
}

/* The next segment may predate the first calibration, and this process makes no other. */
static void hand_over(const struct hp_header *from, struct hp_header *to)
{
	if (__atomic_load_n(&to->cost_timed, __ATOMIC_ACQUIRE) || !from->cost_timed)
		return;
	to->cost_counted = from->cost_counted;
	to->cost_clock = from->cost_clock;
	to->cost_inside = from->cost_inside;
	to->cost_inside_sampled = from->cost_inside_sampled;
	to->cost_less = from->cost_less;
	to->cost_less_sampled = from->cost_less_sampled;
	/* Last: it tells others that the rest is complete. */
	__atomic_store_n(&to->cost_timed, from->cost_timed, __ATOMIC_RELEASE);
}

/* The helper's socket is found by name in its own network namespace only. */
static void say_alone(int error)
{
	uint32_t helper =
		atomic_load_explicit(&hp_segment.header->sampler_pid, memory_order_relaxed);
	bool is_elsewhere = error == -ECONNREFUSED && helper && !(helper & HP_SAMPLER_DIED);
	char name[16] = "";

	hp_kernel_call(SYS_prctl, PR_GET_NAME, (long)name, 0);
	hp_say(name, " is no longer recorded since it dropped privileges: ",
	       error == -ENOMEM ? "no addresses"
	       : is_elsewhere	? "the session's helper is in another network namespace; start "
				  "hotpath-run in this one"
				: "the helper process provides no segment",
	       NULL);
}

bool hp_level_enter(void)
{
	struct hp_header before;
	uint32_t kinds;
	int error;

	if (!hp_level_is_out())
		return true;
	if (atomic_load(&place) == ALONE || hp_is_confined())
		return false;
	memcpy(&before, hp_segment.header, sizeof(before));
	kinds = hp_segment_recorded_kinds(&hp_segment);
	error = hp_above.enter();
	if (error) {
		atomic_store(&place, ALONE);
		say_alone(error);
		return false;
	}
	hand_over(&before, hp_segment.header);
	hp_segment_recorded(&hp_segment, kinds);
	HP_ABOVE(entered);
	atomic_store_explicit(&place, INSIDE, memory_order_release);
	return true;
}
