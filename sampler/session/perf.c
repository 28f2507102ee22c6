/* SPDX-License-Identifier: MIT */
/*
 * perf.c - see perf.h.
 */
#include "sampler/session/perf.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/sample/outside.h"
#include "sampler/session/perf_burst.h"
#include "sampler/session/perf_crowd.h"
#include "sampler/session/perf_open.h"
#include "sampler/base/proc.h"
#include "sampler/sample/open.h"
#include "segment/clock.h"
#include "segment/newer.h"

#define RING_MIN (UINT64_C(256) << 10)
#define RING_MAX (UINT64_C(8) << 20)
#define RINGS_ROOMY (UINT64_C(2) << 20)	/* each: holds the largest stacks of some 30 ms */
#define RING_SHARE 2	/* of a second's samples with stacks, at the lasting rate */
#define FIRST_NS UINT64_C(1000000000)	/* of CPU time, sampled at the first rate */
#define STACK_SIZE 8192u	/* bytes of the stack that come with a sample, at first; */
#define STACK_SIZE_ROOMY 16384u	/* if rings may be as large as we like */
#define STACK_SIZE_SMALL 32768u	/* the most in small rings, which still hold some samples then */
#define STACK_SIZE_MAX 61440u	/* a record has 64 KiB at most */
#define LOOK_AFTER 50	/* samples: how many of their stacks were longer? */
#define CUT_MAX 100	/* one in this many may be */
#define RECORD_SIZE 512	/* the rest of it, about */
#define RINGS_MAX (UINT64_C(64) << 20)	/* of all CPUs together */
#define TRIM_MIN 32	/* descriptors of events that are kept before their users are checked */
#define LATE_NS UINT64_C(500000)	/* a record may be written this long after its time */
#define WINDOW_NS UINT64_C(250000000)
/* Of the CPU time so far, 1 in this many: periods that all threads may have begun. */
#define PENDING_SHARE 2
#define LEAVE_MOST 256	/* events: closed within a few milliseconds */
#define CROWD 1000	/* threads alive */
#define COUNT_NS UINT64_C(250000000)	/* in which their records tell how many there may be */
#define SWITCH_SHARE \
	50	/* of all time, switching stacks of waits off and on may take one part in this many */
#define WAITS_MAX 1000	/* stacks of waits in a window, */
#define WAITS_UNASKED 250	/* and if nobody requested them */
#define EARLY_NS UINT64_C(10000000)	/* until the first early look, then twice as long each time, */
#define EARLY_MAX_NS UINT64_C(80000000)	/* up to this */
#define INTERRUPTS_MIN 32	/* samples: the cost of fewer does not matter */
#define IDLE_LOOKS 25	/* without waiting threads: then there are fewer */

void hp_perf_init(struct hp_perf *perf, const struct hp_segment *segment,
		  const struct hp_settings *settings, struct hp_members *members,
		  struct hp_perf_wish wish)
{
	long paranoid;

	perf->segment = segment;
	perf->settings = settings;
	perf->members = members;
	perf->has_samples = wish.samples;
	perf->has_waits = wish.waits;
	perf->waits_most = hp_settings_wants_waits(settings) ? WAITS_MAX : WAITS_UNASKED;
	perf->own_most = HP_CROWD_MANY;
	if (!wish.samples && !wish.waits)
		return;
	uint64_t offset = hp_segment_take(segment, sizeof(*perf->record), HP_LINE);
	perf->record = hp_segment_at(segment, offset, sizeof(*perf->record));
	if (!perf->record)
		return;
	perf->record->paranoid = INT32_MIN;
	if (hp_proc_read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid))
		perf->record->paranoid = (int32_t)paranoid;
}

static void fail(struct hp_perf *perf, enum hp_sampling_fault fault, int error)
{
	perf->record->fault = fault;
	perf->record->error = (uint32_t)error;
}

static void events_close(struct hp_perf *perf)
{
	hp_perf_fds_close(&perf->fds);
	hp_perf_fds_close(&perf->wait_fds);
	hp_whole_release(&perf->whole);
	hp_perf_rings_release(&perf->rings);
	perf->is_open = false;
}

void hp_perf_leave(struct hp_perf *perf)
{
	if (perf->fds.count + perf->wait_fds.count <= LEAVE_MOST)
		events_close(perf);
}

void hp_perf_release(struct hp_perf *perf)
{
	events_close(perf);
	hp_unseen_release(&perf->unseen);
	hp_samples_release(&perf->samples);
}

/* ---- the start ---- */

static size_t ring_size(const struct hp_settings *settings)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t wish =
		settings->unwind == HP_UNWIND_FP
			? RING_MIN
			: hp_settings_cpu_hz(settings) * (STACK_SIZE + RECORD_SIZE) / RING_SHARE;
	uint64_t size = RING_MIN;

	while (size < wish && size < RING_MAX)
		size *= 2;
	while (size * (uint64_t)(cpus > 0 ? cpus : 1) > RINGS_MAX)
		size /= 2;
	return (size_t)size;
}

static bool admits(void *members, uint32_t pid)
{
	return hp_members_admit(members, pid);
}

void hp_perf_start(struct hp_perf *perf, uint32_t pid, int epoll, uint64_t data)
{
	int error;

	if (!perf->record)
		return;
	if (perf->settings->cpu == HP_CPU_OFF) {
		fail(perf, HP_SAMPLING_OFF, 0);
		return;
	}
	if (perf->settings->cpu == HP_CPU_TIMER || perf->settings->cpu == HP_CPU_SAMPLY)
		return;
	perf->stack_size = STACK_SIZE;
	error = hp_perf_rings_init(&perf->rings, ring_size(perf->settings),
				   perf->has_samples && perf->has_waits);
	if (error) {
		fail(perf,
		     hp_perf_is_forbidden(error) || error == -ENOSYS ? HP_SAMPLING_REFUSED
								     : HP_SAMPLING_NO_RING,
		     -error);
		return;
	}
	if (!hp_samples_init(&perf->samples, perf->segment, perf->record)) {
		fail(perf, HP_SAMPLING_NO_RING, ENOMEM);
		return;
	}
	perf->epoll = epoll;
	perf->epoll_data = data;
	perf->samples.admits = admits;
	perf->samples.members = perf->members;
	perf->rings.ahead = hp_samples_ahead;
	perf->rings.switches = &perf->samples.switches;
	perf->samples.is_of_waits = &perf->rings.is_of_waits;
	if (perf->rings.list[0].size >= ring_size(perf->settings))
		perf->stack_size = STACK_SIZE_ROOMY;
	error = hp_perf_starts_first(perf, pid) ? 0 : hp_perf_open_process(perf, pid);
	if (!perf->is_open) {
		fail(perf, error == -ESRCH ? HP_SAMPLING_GONE : HP_SAMPLING_REFUSED, -error);
		hp_perf_release(perf);
		return;
	}
	perf->frequency = perf->record->frequency = (uint32_t)perf->attr.sample_freq;
	perf->is_first = perf->frequency > hp_perf_frequency(hp_settings_cpu_hz(perf->settings));
	perf->record->ring_size = (uint32_t)perf->rings.list[0].size;
	perf->record->stack_size = perf->attr.sample_stack_user;
	perf->samples.sample_type = perf->attr.sample_type;
	if (perf->source == HP_SAMPLING_CYCLES)
		perf->samples.period_ns = 1000000000 / perf->attr.sample_freq;
	hp_perf_rings_wake(perf);
	if (perf->has_waits) {
		perf->early_gap_ns = EARLY_NS;
		perf->early_ns = hp_clock_raw_ns() + perf->early_gap_ns;
	}
	if (perf->has_waits && !perf->has_kernel) {
		perf->look_ns = hp_clock_raw_ns();
		hp_offcpu_notes_ask(&perf->notes, &perf->members->segments, &perf->samples);
	}
	hp_perf_open_children(perf, pid);
}

/* ---- reading ---- */

/* Short-lived threads must not leave descriptors. */
static void trim(struct hp_perf *perf)
{
	if (perf->fds.count + perf->wait_fds.count < perf->trim_at)
		return;
	hp_perf_fds_trim(&perf->fds);
	hp_perf_fds_trim(&perf->wait_fds);
	perf->trim_at = 2 * (perf->fds.count + perf->wait_fds.count) + TRIM_MIN;
}

/*
 * A member without a record was not forked by a process with events: it gets its
 * own. Its record may still be pending; a thread with two sets of events would be
 * sampled twice. False = too early to know.
 */
static bool member_meet(struct hp_perf *perf, struct hp_member *m, uint64_t now_ns)
{
	if (!m->met_ns)
		m->met_ns = now_ns;
	if (m->pid == perf->members->root_pid || hp_space_known(&perf->samples.spaces, m->pid)) {
		m->is_sampled = true;
		return true;
	}
	if (!hp_perf_inherits_threads(&perf->attr) && now_ns - m->met_ns < 2 * LATE_NS)
		return false;
	m->is_sampled = true;
	hp_perf_open_process(perf, m->pid);
	trim(perf);
	return true;
}

static void meet(struct hp_perf *perf, uint64_t now_ns)
{
	uint32_t added = perf->members->added;
	bool is_done = true;

	if (perf->met == added)
		return;
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = perf->members->buckets[i]; m; m = m->next)
			if (!m->is_sampled)
				is_done &= member_meet(perf, m, now_ns);
	if (is_done)
		perf->met = added;
}

/*
 * For all live processes: a child's resources become its parent's when the parent
 * has waited for it.
 */
static struct hp_whole_use use_of_all(const struct hp_perf *perf)
{
	struct hp_whole_use all = { .ended = perf->samples.ended }, one;

	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (const struct hp_member *m = perf->members->buckets[i]; m; m = m->next)
			if (hp_whole_use(m->pid, &one)) {
				all.cpu_ns += one.cpu_ns;
				all.threads += one.threads;
			}
	return all;
}

/* Children of vfork() have no record of their own, but events like others. */
static uint32_t processes_alive(struct hp_perf *perf)
{
	struct hp_spaces *spaces = &perf->samples.spaces;

	if (perf->checked_lost != perf->samples.lost) {
		perf->checked_lost = perf->samples.lost;
		hp_spaces_check(spaces);
	}
	return spaces->count - spaces->ended;
}

uint32_t hp_perf_threads(struct hp_perf *perf)
{
	uint32_t threads = use_of_all(perf).threads, processes = processes_alive(perf);
	struct hp_perf_crowd *crowd = &perf->crowd;

	crowd->threads = threads > processes ? threads : processes;
	crowd->begun = perf->samples.started;
	crowd->lost = perf->samples.lost;
	crowd->counted_ns = hp_clock_raw_ns();
	return crowd->threads;
}

/* Those of a process without events are found by the next count. */
bool hp_perf_has_threads(struct hp_perf *perf, uint32_t most)
{
	const struct hp_perf_crowd *crowd = &perf->crowd;
	uint64_t later = perf->samples.started - crowd->begun;

	if (crowd->counted_ns && hp_clock_raw_ns() < crowd->counted_ns + COUNT_NS &&
	    perf->samples.lost == crowd->lost && crowd->threads + later <= most)
		return false;
	return hp_perf_threads(perf) > most;
}

uint32_t hp_perf_threads_beyond(const struct hp_perf *perf, uint32_t most)
{
	struct hp_whole_use one;
	uint32_t beyond = 0;

	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (const struct hp_member *m = perf->members->buckets[i]; m; m = m->next)
			if (hp_whole_use(m->pid, &one) && one.threads > most)
				beyond += (uint32_t)one.threads - most;
	return beyond;
}

bool hp_perf_is_crowd(struct hp_perf *perf)
{
	return hp_perf_has_threads(perf, CROWD);
}

/* With the current `attr`. */
static void renew(struct hp_perf *perf)
{
	if (perf->starts.is_on)
		hp_perf_open_cpus(perf);
	else
		hp_perf_open_again(perf);
}

/* Most programs have shallow stacks; compilers and interpreters have deep ones. */
static void adapt(struct hp_perf *perf)
{
	uint32_t size = perf->attr.sample_stack_user;
	uint64_t samples = perf->samples.walked - perf->looked_samples;
	uint64_t cut = perf->samples.cut - perf->looked_cut;
	uint32_t most = perf->rings.list[0].size >= RINGS_ROOMY ? STACK_SIZE_MAX : STACK_SIZE_SMALL;

	if (samples < LOOK_AFTER || !size)
		return;
	perf->looked_samples = perf->samples.walked;
	perf->looked_cut = perf->samples.cut;
	if (cut * CUT_MAX <= samples || size >= most || (!perf->is_wide && hp_perf_is_crowd(perf)))
		return;
	perf->attr.sample_stack_user = 2 * size < most ? 2 * size : most;
	perf->record->stack_size = perf->attr.sample_stack_user;
	if (!perf->is_wide || perf->starts.is_on)
		renew(perf);
	hp_whole_resize(&perf->whole, &perf->rings, perf->attr.sample_stack_user);
}

static struct hp_ticking *ticking(const struct hp_perf *perf)
{
	return (struct hp_ticking *)((char *)perf->segment->header + HP_TICKING_AT);
}

bool hp_perf_first_end(struct hp_perf *perf)
{
	if (!perf->is_first)
		return false;
	perf->is_first = false;
	ticking(perf)->first_hz = perf->frequency;
	perf->frequency = (uint32_t)hp_perf_frequency(hp_settings_cpu_hz(perf->settings));
	perf->record->frequency = perf->frequency;
	if (perf->source == HP_SAMPLING_CYCLES)
		perf->samples.period_ns = 1000000000 / perf->frequency;
	if (perf->attr.sample_freq < perf->frequency)
		return false;
	perf->attr.sample_freq = perf->frequency;
	return true;
}

/*
 * The first second of CPU time is over.  With many threads the rate is kept: opening all events
 * again would take longer than it saves.
 */
static void first_look(struct hp_perf *perf, uint64_t cpu_ns)
{
	if (!perf->is_open || !perf->is_first || cpu_ns < FIRST_NS || hp_perf_is_crowd(perf))
		return;
	if (hp_perf_first_end(perf))
		renew(perf);
}

/*
 * Samples CPUs, while the threads' events only report switches, mappings and tasks. The
 * session's samples are recognised by its forks, so all processes must be known.
 */
static bool whole_can(const struct hp_perf *perf)
{
	uint32_t source = perf->has_samples ? HP_SAMPLING_CLOCK : HP_SAMPLING_NONE;

	return !perf->whole.fds && !perf->whole.is_refused && perf->is_open &&
	       perf->source == source && perf->has_kernel && !perf->has_counts &&
	       !hp_perf_inherits_threads(&perf->attr);
}

static bool whole_prepare(struct hp_perf *perf)
{
	uint64_t hz = perf->has_samples ? hp_perf_frequency(hp_settings_cpu_hz(perf->settings)) : 0;

	if (hp_whole_open(&perf->whole, &perf->attr, &perf->rings, hz) < 0)
		return false;
	hp_perf_first_end(perf);
	perf->samples.is_whole = true;
	hp_perf_unsample(perf);
	return true;
}

static bool whole_open(struct hp_perf *perf, enum hp_sampling_by_cpu reason)
{
	if (!whole_prepare(perf))
		return false;
	perf->samples.tree.chunks[0]->by_cpu = reason;
	hp_perf_open_again(perf);
	hp_whole_begin(&perf->whole);
	return true;
}

static bool whole_look(struct hp_perf *perf)
{
	struct hp_whole_use use;

	if (perf->whole.fds || !perf->has_samples || !whole_can(perf))
		return perf->whole.fds != NULL;
	use = use_of_all(perf);
	return hp_whole_is_wanted(&perf->whole, &use, perf->samples.cpu_ns,
				  1000000000 / (perf->attr.sample_freq + 1)) &&
	       whole_open(perf, HP_BY_CPU_SHORT);
}

bool hp_perf_whole_prepare(struct hp_perf *perf)
{
	return perf->whole.fds || (whole_can(perf) && whole_prepare(perf));
}

bool hp_perf_wide(struct hp_perf *perf)
{
	if (!hp_perf_whole_prepare(perf))
		return false;
	hp_whole_begin(&perf->whole);
	if (hp_whole_report(&perf->whole, &perf->rings, true) < 0)
		return false;
	perf->samples.is_wide = true;
	if (!hp_perf_open_wide(perf))
		return false;
	hp_perf_starts_leave(perf);
	return true;
}

static bool is_asked(const struct hp_perf *perf)
{
	return perf->settings->cpu_hz || hp_settings_wants_samples(perf->settings);
}

/*
 * Each thread's part of a period is without a sample, and with it much of the time of many threads
 * that each run for a moment: 113 threads of a web server were sampled for a seventh of their 3.5 s
 * of CPU time.
 */
static bool low_is_fair(const struct hp_perf *perf, uint64_t cpu_ns)
{
	uint64_t pending_ns = use_of_all(perf).threads * (UINT64_C(1000000000) / HP_CALM_HZ);

	return pending_ns <= cpu_ns / PENDING_SHARE;
}

/* CPUs are sampled. Threads need no events at all if no records of their switches are wanted. */
static bool whole_begin(struct hp_perf *perf)
{
	if (!whole_can(perf))
		return false;
	if (perf->has_waits || !hp_perf_wide(perf))
		return whole_open(perf, HP_BY_CPU_SWITCHES);
	perf->samples.tree.chunks[0]->by_cpu = HP_BY_CPU_SWITCHES;
	return true;
}

/*
 * At the lower rate; if that would miss too much, or samples were requested, a timer of each CPU,
 * which switches do not set. A rate that was set is kept, even if CPUs may not be sampled.
 */
static bool low_begin(struct hp_perf *perf, uint64_t cpu_ns)
{
	bool is_fair = low_is_fair(perf, cpu_ns);

	if (is_fair && !is_asked(perf))
		return true;
	if (whole_begin(perf))
		return false;
	if (is_fair && !perf->settings->cpu_hz)
		return true;
	hp_calm_refuse(&perf->calm);
	return false;
}

static uint64_t in_a_second(uint64_t count, uint64_t span_ns)
{
	return span_ns ? (uint64_t)((double)count * 1e9 / (double)span_ns) : 0;
}

static void pace_note(struct hp_pace *pace, uint64_t cpu_ns, uint64_t switches, uint64_t now_ns)
{
	uint64_t count = switches - pace->switches;

	if (pace->scan_ns) {
		pace->by_time = in_a_second(count, now_ns - pace->scan_ns);
		pace->by_cpu = in_a_second(count, cpu_ns - pace->cpu_ns);
		pace->spans++;
	}
	pace->switches = switches;
	pace->cpu_ns = cpu_ns;
	pace->scan_ns = now_ns;
}

/* While waits are recorded, too, bursts decide. */
static bool are_many(const struct hp_perf *perf)
{
	return !perf->has_waits && perf->pace.by_time > HP_BURST_MANY;
}

void hp_perf_calm(struct hp_perf *perf, uint64_t cpu_ns, uint64_t switches)
{
	uint64_t hz = HP_CALM_HZ, now_ns = hp_clock_raw_ns();

	pace_note(&perf->pace, cpu_ns, switches, now_ns);
	if (perf->burst.is_on)
		hp_perf_burst_count(perf, switches);
	/* New events would take its records from it. */
	if (perf->samples.burst.is_running)
		return;
	hp_perf_crowd_scan(perf, now_ns);
	if (perf->starts.is_on && !(are_many(perf) && whole_begin(perf))) {
		first_look(perf, cpu_ns);
		return;
	}
	if (whole_look(perf) || (are_many(perf) && whole_begin(perf)))
		return;
	first_look(perf, cpu_ns);
	/* The processor's own counter has no timer. */
	if (!perf->is_open || perf->source != HP_SAMPLING_CLOCK || hp_perf_is_crowd(perf) ||
	    !hp_calm_look(&perf->calm, cpu_ns, switches) ||
	    (perf->calm.is_low && !low_begin(perf, cpu_ns)))
		return;
	if (!perf->calm.is_low || perf->frequency < HP_CALM_HZ)
		hz = perf->frequency;
	else
		ticking(perf)->low_hz = HP_CALM_HZ;
	perf->attr.sample_freq = hz;
	hp_perf_open_again(perf);
}

/* The places of waits without a kernel stack: the threads' own events report them. */
static void notes_ask(struct hp_perf *perf, bool asks)
{
	if (asks == perf->are_notes_asked)
		return;
	perf->are_notes_asked = asks;
	if (asks)
		hp_offcpu_notes_ask(&perf->notes, &perf->members->segments, &perf->samples);
	else
		hp_offcpu_notes_leave(&perf->notes);
}

/* True from the window on in which records were lost, until none are. */
static bool is_losing(struct hp_perf *perf, bool is_over)
{
	if (is_over) {
		perf->was_losing = perf->samples.lost != perf->window_lost;
		perf->window_lost = perf->samples.lost;
	}
	return perf->was_losing || perf->samples.lost != perf->window_lost;
}

/*
 * A stack at each switch is expensive for a thread that switches all the time: some 4
 * us. So a window has a limited number, and after that only the threads' own notes until
 * the next window. The rest is time without a place.
 */
static void limit_waits(struct hp_perf *perf, uint64_t now_ns)
{
	bool is_over = now_ns >= perf->window_ns + WINDOW_NS;
	bool is_short = is_losing(perf, is_over);

	if (!perf->wait_fds.count)
		return;
	if (is_over) {
		perf->window_ns = now_ns;
		perf->window_samples = perf->samples.wait_samples;
	}
	bool is_off = perf->samples.wait_samples - perf->window_samples > perf->waits_most;
	if (is_off != perf->are_waits_off && (is_off || is_over) && now_ns >= perf->switch_ns) {
		uint64_t since_ns = hp_clock_raw_ns();

		perf->are_waits_off = is_off;
		for (uint32_t i = 0; i < perf->wait_fds.count; i++)
			ioctl(perf->wait_fds.list[i],
			      is_off ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
		/* The kernel visits each thread, and none can start or end meanwhile. */
		perf->switch_ns = hp_clock_raw_ns();
		perf->switch_ns += (perf->switch_ns - since_ns) * SWITCH_SHARE;
	}
	notes_ask(perf, is_short || perf->are_waits_off);
}

/* More often while there is something to see; a thread that keeps waiting is seen once. */
static void look_outside(struct hp_perf *perf, uint64_t now_ns)
{
	uint64_t unseen_ns = perf->has_waits ? hp_unseen_look(&perf->unseen, &perf->samples,
							      perf->are_notes_asked, now_ns)
					     : 0;

	/* The kernel delivers stacks, but notes must be read before their rings are full. */
	if (perf->wait_fds.count) {
		perf->look_ns = perf->are_notes_asked ? now_ns + HP_OUTSIDE_NS : unseen_ns;
		return;
	}
	if (!perf->look_ns || now_ns < perf->look_ns)
		return;
	perf->idle_looks = hp_outside_look(&perf->samples, 0) ? 0 : perf->idle_looks + 1;
	perf->look_ns = hp_outside_next(now_ns, perf->idle_looks < IDLE_LOOKS ? HP_OUTSIDE_NS
									      : HP_OUTSIDE_IDLE_NS);
}

/*
 * A program that switches all the time from its start on would otherwise be recorded in full until
 * its records have filled a ring.
 */
static void early_next(struct hp_perf *perf, uint64_t now_ns)
{
	if (!perf->early_ns || now_ns < perf->early_ns)
		return;
	perf->early_gap_ns *= 2;
	perf->early_ns = perf->early_gap_ns > EARLY_MAX_NS ? 0 : now_ns + perf->early_gap_ns;
}

/* Measures a piece of it, up to `most` in all. */
static void interrupt_measure(struct hp_perf *perf, uint32_t most)
{
	uint32_t ns;

	if (!perf->has_samples || perf->record->samples < INTERRUPTS_MIN ||
	    perf->interrupt.pieces >= most)
		return;
	hp_interrupt_measure(&perf->interrupt, &perf->attr);
	ns = hp_interrupt_ns(&perf->interrupt);
	atomic_store_explicit(&hp_segment_recorded_at(perf->segment)->interrupt_ns, ns,
			      memory_order_relaxed);
}

void hp_perf_read(struct hp_perf *perf)
{
	uint64_t now_ns = hp_clock_raw_ns();

	if (!perf->is_open)
		return;
	hp_perf_rings_read(&perf->rings, now_ns - LATE_NS, hp_samples_handle, &perf->samples);
	/* A burst that ends is compared with all its notes. */
	if (perf->burst.end_ns && now_ns >= perf->burst.end_ns)
		perf->notes.due_ns = 0;
	uint32_t notes = hp_offcpu_notes_read(&perf->notes, now_ns - LATE_NS);
	early_next(perf, now_ns);
	meet(perf, now_ns);
	hp_perf_crowd_look(perf);
	hp_perf_starts_look(perf, now_ns);
	if (!perf->samples.burst.is_running)
		adapt(perf);
	if (perf->burst.is_on) {
		hp_perf_burst_do(perf, now_ns);
		return;
	}
	hp_open_round(&perf->samples, now_ns - LATE_NS);
	limit_waits(perf, now_ns);
	look_outside(perf, now_ns);
	/* A ring of notes holds some ms of a thread that waits all the time. */
	if (notes && perf->look_ns > now_ns + HP_OUTSIDE_NS)
		perf->look_ns = now_ns + HP_OUTSIDE_NS;
	hp_perf_burst_look(perf, now_ns);
	interrupt_measure(perf, HP_INTERRUPT_PIECES);
}

void hp_perf_finish(struct hp_perf *perf)
{
	if (perf->record && !perf->is_open && perf->record->fault == HP_SAMPLING_FINE &&
	    perf->record->source != HP_SAMPLING_TIMER)
		fail(perf, perf->settings->cpu == HP_CPU_OFF ? HP_SAMPLING_OFF : HP_SAMPLING_GONE,
		     0);
	uint64_t now_ns = hp_clock_raw_ns();

	if (!perf->is_open)
		return;
	hp_perf_rings_settle(&perf->rings, hp_samples_handle, &perf->samples);
	hp_offcpu_notes_read(&perf->notes, UINT64_MAX);
	hp_perf_burst_finish(perf, now_ns);
	hp_open_finish(&perf->samples, now_ns);
	interrupt_measure(perf, 1);
}
