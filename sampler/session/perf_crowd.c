/* SPDX-License-Identifier: MIT */
/*
 * perf_crowd.c - see perf_crowd.h.
 */
#include "sampler/session/perf_crowd.h"

#include <unistd.h>

#include "sampler/session/perf_open.h"
#include "segment/clock.h"
#include "segment/newer.h"

#define STARTS 64u	/* threads that may start until all are counted again */
#define FEW (HP_CROWD_MANY / 2)
#define FEW_NS UINT64_C(2000000000)	/* at first; */
#define FEW_MAX_NS UINT64_C(64000000000)	/* doubled each time */
#define OWN_MOST 1000u	/* if the CPUs' events are refused: see perf_crowd.h for the cost of more */
#define FIRST_NS UINT64_C(250000000)	/* of a session */
#define CPUS_MOST 8u	/* then its first moments: on more, other processes are more likely */
#define COUNT_NS UINT64_C(100000000)	/* in which the tasks are counted that start */
#define STARTS_MANY 200u	/* in a second: they would get copies of events for some 0.3 % of it */
#define STARTS_FEW (STARTS_MANY / 4)
#define OTHERS_FEW 100u	/* records of other processes that do not matter */
#define OTHERS_SHARE 4u	/* while many tasks start: so many for one of ours */

static uint64_t few_longer(uint64_t ns)
{
	uint64_t longer = ns ? ns * 2 : FEW_NS;

	return longer < FEW_MAX_NS ? longer : FEW_MAX_NS;
}

/* ---- many threads ---- */

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

/*
 * Threads beyond the first ones have no events of their own yet, or all need other ones. Those
 * that started since then have copies, and beyond OWN_MOST would lose them: so not if that leaves
 * more threads without.
 */
static void refuse(struct hp_perf *perf, bool needs_other)
{
	perf->crowd.is_refused = true;
	perf->own_most = OWN_MOST;
	if (perf->without > hp_perf_threads_beyond(perf, OWN_MOST) || needs_other)
		hp_perf_open_again(perf);
	if (!perf->is_wide)
		hp_perf_starts_leave(perf);
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
	hp_perf_starts_leave(perf);
	crowd->few_ns = 0;
	crowd->few_wanted_ns = few_longer(crowd->few_wanted_ns);
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
	       !perf->burst.is_on && (!perf->is_wide || perf->starts.is_on);
}

static void count(struct hp_perf *perf)
{
	bool are_many = hp_perf_has_threads(perf, HP_CROWD_MANY);

	perf->crowd.is_begun = true;
	perf->crowd.started = perf->samples.started;
	if (are_many)
		begin(perf, perf->crowd.threads);
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

/* ---- threads and processes that start ---- */

static bool is_asked(const struct hp_settings *settings)
{
	return settings->cpu_hz || hp_settings_wants_samples(settings) ||
	       hp_settings_wants_waits(settings);
}

/*
 * The processor's own counter needs no timer. The session's processes are recognised by their
 * forks, so all must be recorded.
 */
static bool is_possible(const struct hp_perf *perf)
{
	return perf->source != HP_SAMPLING_CYCLES && perf->has_kernel && !perf->has_counts &&
	       !hp_perf_inherits_threads(&perf->attr);
}

static void reason_note(struct hp_perf *perf, enum hp_sampling_by_cpu reason)
{
	uint64_t *by_cpu = &perf->samples.tree.chunks[0]->by_cpu;

	if (*by_cpu == HP_BY_CPU_NEVER || *by_cpu == HP_BY_CPU_FIRST)
		__atomic_store_n(by_cpu, reason, __ATOMIC_RELAXED);
}

/* The session's records, and those of others. */
static void starts_count(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_starts *starts = &perf->starts;

	starts->counted_ns = now_ns;
	starts->started = perf->samples.started;
	starts->own = perf->samples.switches + perf->record->samples;
	starts->others = perf->samples.others;
}

static bool cpus_begin(struct hp_perf *perf)
{
	bool was_wide = perf->samples.is_wide, was_whole = perf->samples.is_whole;

	perf->samples.is_wide = perf->samples.is_whole = true;
	perf->samples.helper = (uint32_t)getpid();
	if (!hp_perf_open_cpus(perf)) {
		perf->samples.is_wide = was_wide;
		perf->samples.is_whole = was_whole;
		perf->starts.is_refused = true;
		return false;
	}
	perf->are_waits_off = false;
	perf->starts.is_on = true;
	return true;
}

bool hp_perf_starts_first(struct hp_perf *perf, uint32_t pid)
{
	uint64_t now_ns = hp_clock_raw_ns();

	perf->starts.is_refused = is_asked(perf->settings);
	if (perf->starts.is_refused || perf->rings.count > CPUS_MOST || !hp_perf_open_first(perf) ||
	    !is_possible(perf))
		return false;
	if (!cpus_begin(perf))
		return false;
	perf->is_open = true;
	if (hp_perf_open_process(perf, pid) < 0) {
		hp_perf_fds_close(&perf->fds);
		hp_perf_fds_close(&perf->wait_fds);
		perf->is_open = perf->is_wide = perf->samples.is_wide = false;
		hp_perf_starts_leave(perf);
		return false;
	}
	reason_note(perf, HP_BY_CPU_FIRST);
	starts_count(perf, now_ns);
	perf->starts.until_ns = now_ns + FIRST_NS;
	return true;
}

void hp_perf_starts_leave(struct hp_perf *perf)
{
	perf->starts.is_on = false;
	perf->samples.is_whole = perf->whole.fds != NULL;
}

static void cpus_end(struct hp_perf *perf)
{
	perf->starts.is_on = false;
	hp_perf_open_again(perf);
	read_all(perf);
	perf->samples.is_wide = false;
	perf->are_waits_off = false;
	hp_perf_starts_leave(perf);
}

static bool are_others_busy(const struct hp_perf *perf)
{
	const struct hp_perf_starts *starts = &perf->starts;
	uint64_t own = perf->samples.switches + perf->record->samples - starts->own;
	uint64_t others = perf->samples.others - starts->others;

	return others > OTHERS_FEW + own * (starts->has_many ? OTHERS_SHARE : 1);
}

/*
 * Without waits, switches are not known until the threads were scanned twice. Those that start during
 * the first span are not there at its first scan.
 */
static bool is_unknown(const struct hp_perf *perf, uint64_t now_ns)
{
	return !perf->has_waits && perf->pace.spans < 2 &&
	       now_ns < perf->starts.until_ns + 2 * FIRST_NS;
}

/* Threads and processes that start. */
static bool are_many(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_starts *starts = &perf->starts;
	uint32_t started = perf->samples.started - starts->started;
	uint64_t rate = started * UINT64_C(1000000000) / (now_ns - starts->counted_ns);

	if (rate >= STARTS_MANY && !starts->has_many) {
		starts->has_many = true;
		starts->few_wanted_ns = few_longer(starts->few_wanted_ns);
	}
	if (starts->has_many && rate >= STARTS_FEW)
		starts->until_ns = now_ns + starts->few_wanted_ns;
	starts->has_many &= now_ns < starts->until_ns;
	return starts->has_many;
}

/* At the lasting rate: with events of threads, such short ones would hardly have any samples. */
static void go_on(struct hp_perf *perf)
{
	bool is_other = hp_perf_first_end(perf) || !perf->starts.is_on;

	if (!is_other || (is_possible(perf) && cpus_begin(perf)))
		reason_note(perf, HP_BY_CPU_STARTS);
}

void hp_perf_starts_look(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_starts *starts = &perf->starts;

	/* Then threads have no events anyway, or it takes long to open them. */
	if (!perf->is_open || perf->burst.is_on || perf->crowd.is_on ||
	    (perf->is_wide && !starts->is_on))
		return;
	if (starts->is_on && are_others_busy(perf)) {
		starts->is_refused = starts->has_many;
		cpus_end(perf);
		return;
	}
	if ((starts->is_refused && !starts->is_on) || now_ns < starts->counted_ns + COUNT_NS)
		return;
	bool wants = are_many(perf, now_ns) && !starts->is_refused;
	starts_count(perf, now_ns);
	if (wants)
		go_on(perf);
	else if (starts->is_on && now_ns >= starts->until_ns && !is_unknown(perf, now_ns))
		cpus_end(perf);
}
