/* SPDX-License-Identifier: MIT */
/*
 * perf_crowd.c - see perf_crowd.h.
 */
#include "sampler/session/perf_crowd.h"

#include "sampler/session/perf_open.h"
#include "segment/newer.h"

#define STARTS 64u	/* threads that may start until all are counted again */
#define FEW (HP_CROWD_MANY / 2)
#define FEW_NS UINT64_C(2000000000)	/* at first; */
#define FEW_MAX_NS UINT64_C(64000000000)	/* doubled each time */
#define OWN_MOST 1000u	/* if the CPUs' events are refused: see perf_crowd.h for the cost of more */

/* Everything that was recorded so far. */
static void read_all(struct hp_perf *perf)
{
	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
}

/* The report says so. */
static void note(struct hp_perf *perf, uint32_t threads)
{
	uint64_t *most = &perf->samples.tree.chunks[0]->crowd;

	if (threads > *most)
		__atomic_store_n(most, threads, __ATOMIC_RELAXED);
}

/* Threads beyond the first ones have no events of their own yet, or all need other ones. */
static void refuse(struct hp_perf *perf, bool needs_other)
{
	perf->crowd.is_refused = true;
	perf->own_most = OWN_MOST;
	if (perf->has_more || needs_other)
		hp_perf_open_again(perf);
}

static bool open_cpus(struct hp_perf *perf)
{
	/* Their records include those of other processes. */
	perf->samples.is_wide = true;
	if (!hp_perf_open_cpus(perf)) {
		perf->samples.is_wide = perf->is_wide;
		return false;
	}
	perf->are_waits_off = false;
	return true;
}

static void begin(struct hp_perf *perf, uint32_t threads)
{
	struct hp_perf_crowd *crowd = &perf->crowd;

	/* The session's processes are recognised by their forks, so all must be recorded. */
	if (hp_perf_inherits_threads(&perf->attr) || !perf->has_kernel ||
	    (perf->has_samples && !hp_perf_whole_prepare(perf))) {
		refuse(perf, false);
		return;
	}
	read_all(perf);
	if (!open_cpus(perf))
		refuse(perf, perf->has_samples);
	else
		crowd->is_on = perf->samples.counts_all = true;
	if (perf->has_samples)
		hp_whole_begin(&perf->whole);
	if (!crowd->is_on)
		return;
	crowd->few_ns = 0;
	crowd->few_wanted_ns = crowd->few_wanted_ns ? crowd->few_wanted_ns * 2 : FEW_NS;
	if (crowd->few_wanted_ns > FEW_MAX_NS)
		crowd->few_wanted_ns = FEW_MAX_NS;
	note(perf, threads);
}

static void end(struct hp_perf *perf)
{
	perf->crowd.is_on = perf->samples.counts_all = false;
	hp_perf_open_again(perf);
	read_all(perf);
	perf->samples.is_wide = false;
	perf->are_waits_off = false;
}

/* While switches are recorded in bursts, or CPUs report everything, threads have no events anyway. */
static bool can_begin(const struct hp_perf *perf)
{
	return perf->is_open && !perf->crowd.is_on && !perf->crowd.is_refused &&
	       !perf->burst.is_on && !perf->is_wide;
}

static void count(struct hp_perf *perf)
{
	uint32_t threads = hp_perf_threads(perf);

	perf->crowd.is_begun = true;
	perf->crowd.started = perf->samples.started;
	if (threads > HP_CROWD_MANY)
		begin(perf, threads);
}

void hp_perf_crowd_begin(struct hp_perf *perf)
{
	if (can_begin(perf))
		begin(perf, HP_CROWD_MANY);
}

void hp_perf_crowd_look(struct hp_perf *perf)
{
	if (can_begin(perf) &&
	    (!perf->crowd.is_begun || perf->samples.started - perf->crowd.started >= STARTS))
		count(perf);
}

void hp_perf_crowd_scan(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_crowd *crowd = &perf->crowd;

	if (can_begin(perf)) {
		count(perf);
		return;
	}
	if (!crowd->is_on || perf->burst.is_on)
		return;
	uint32_t threads = hp_perf_threads(perf);
	note(perf, threads);
	if (threads > FEW)
		crowd->few_ns = 0;
	else if (!crowd->few_ns)
		crowd->few_ns = now_ns;
	else if (now_ns >= crowd->few_ns + crowd->few_wanted_ns)
		end(perf);
}

bool hp_perf_crowd_again(struct hp_perf *perf)
{
	if (!perf->crowd.is_on || perf->burst.is_on)
		return false;
	if (open_cpus(perf))
		return true;
	perf->crowd.is_on = perf->samples.counts_all = false;
	return false;
}
