/* SPDX-License-Identifier: MIT */
/*
 * perf.h - samples of the session's CPU use, by perf_event.
 *
 * The kernel's counters are opened on the root process as soon as it is known,
 * for each CPU, and inherited by everything that it starts: threads and
 * processes are sampled from their start, without a signal, a stop or tracing. A
 * process that joined the session otherwise gets its own. Everything is read
 * from rings when they fill, and at each scan of the sampler.
 */
#ifndef HP_SAMPLER_SESSION_PERF_H
#define HP_SAMPLER_SESSION_PERF_H

#include "sampler/sample/offcpu_note.h"
#include "sampler/session/member.h"
#include "sampler/perf/calm.h"
#include "sampler/perf/fds.h"
#include "sampler/perf/interrupt.h"
#include "sampler/perf/ring.h"
#include "sampler/perf/whole.h"
#include "sampler/sample/sample.h"
#include "sampler/sample/unseen.h"
#include "segment/layout/sample.h"
#include "segment/setting.h"

/* See perf_burst.h. */
struct hp_perf_burst {
	bool is_on;
	bool is_refused;
	bool is_in_hurry;	/* our time slices are short */
	uint64_t count_ns;	/* start of counting switches; 0 = not yet */
	uint64_t slot_ns;	/* the current slot: its start, */
	uint64_t slot_end_ns;	/* its end, */
	uint64_t start_ns;	/* when its burst starts, */
	uint64_t began_ns;	/* began, */
	uint64_t end_ns;	/* and ends; 0 = none is running */
	uint32_t slots;	/* of HP_BURST_SLOT_NS in it */
	uint32_t parts;	/* the take is one in this many parts of HP_BURST_SLOT_NS */
	uint32_t calm;	/* consecutive bursts with few switches */
	uint32_t calm_wanted;
	uint64_t toggle_ns;	/* the time it took to turn the events on or off */
	uint64_t counted;	/* switches, */
	uint64_t counted_ns;	/* when they were last notified; 0 = not yet */
	uint64_t follow_ns;	/* when waiting threads are scanned next */
	uint64_t random;	/* util/random.h */
};

/* How often threads switched between the last two scans of all threads. */
struct hp_pace {
	uint64_t switches;	/* at the last scan, */
	uint64_t cpu_ns;	/* and their CPU time, */
	uint64_t scan_ns;	/* which was then; 0 = not yet */
	uint64_t by_time;	/* switches in a second, */
	uint64_t by_cpu;	/* and in a second of CPU time; 0 = not known yet */
	uint32_t spans;	/* between scans, so far */
};

/* See perf_crowd.h. */
struct hp_perf_crowd {
	uint32_t threads;	/* that were alive when they were last counted, */
	uint32_t begun;	/* and that had started by then, by their records */
	uint64_t lost;	/* records, then */
	uint64_t counted_ns;	/* 0 = not yet */
	bool is_on;
	bool is_refused;
	bool is_begun;	/* threads were counted once */
	uint32_t started;	/* threads so far, when they were last counted */
	uint64_t few_ns;	/* since when there have been few; 0 = there are many */
	uint64_t few_wanted_ns;	/* for so long, until threads have events again */
};

/* See perf_crowd.h. */
struct hp_perf_starts {
	bool is_on;
	bool is_refused;
	bool has_many;	/* tasks that start */
	uint64_t until_ns;	/* not ended before, unless other processes are busy */
	uint64_t few_wanted_ns;	/* for so long, until threads have events again */
	uint64_t counted_ns;	/* the last count, */
	uint32_t started;	/* tasks up to then, */
	uint64_t own;	/* records of the session, */
	uint64_t others;	/* and of other processes */
};

struct hp_perf {
	const struct hp_segment *segment;
	const struct hp_settings *settings;
	struct hp_members *members;
	struct hp_sampling *record;	/* NULL = no samples requested */
	struct hp_perf_rings rings;
	int epoll;	/* that the rings wake, */
	uint64_t epoll_data;	/* with this */
	struct hp_samples samples;
	struct perf_event_attr attr;	/* of the events, once one could be opened */
	bool has_counts;	/* each sample has hp_counts */
	struct perf_event_attr wait_attr;	/* of the events at switches */
	bool has_samples;	/* requested: CPU samples */
	bool has_waits;	/* requested: threads' waits */
	bool is_open;
	uint32_t source;	/* the record's settings of the events, out of the members' reach */
	uint32_t frequency;
	bool has_kernel;
	uint64_t window_ns;	/* start of counting stacks of waits */
	uint64_t window_samples;
	uint64_t waits_most;	/* stacks in a window */
	uint64_t window_lost;	/* records, at its start */
	uint64_t switch_ns;	/* not switched off or on again before this */
	bool are_waits_off;	/* there were too many in this window */
	bool was_losing;	/* in the window before */
	bool are_notes_asked;	/* for users who may sample the kernel; others always are */
	uint32_t idle_looks;	/* when a wait was last found */
	struct hp_offcpu_notes notes;
	uint64_t early_ns;	/* when switches are counted next, soon after the start; 0 = when rings are full */
	uint64_t early_gap_ns;
	uint64_t look_ns;	/* when waiting threads or their notes are scanned next; 0 = never, the kernel sends their stacks */
	struct hp_unseen unseen;	/* for users who may sample the kernel */
	struct hp_perf_fds wait_fds;
	struct hp_calm calm;
	struct hp_pace pace;
	struct hp_perf_burst burst;
	struct hp_perf_crowd crowd;
	struct hp_perf_starts starts;
	bool is_first;	/* the rate is that of the first second of CPU time */
	struct hp_whole whole;
	bool is_renewing;	/* threads get other events; meanwhile they have both */
	bool is_wide;	/* threads have no events: those of the CPUs report everything */
	uint32_t met;	/* members that were examined */
	uint32_t stack_size;	/* initially, bytes */
	uint64_t looked_samples;	/* when the size of stacks was last checked */
	uint64_t looked_cut;
	struct hp_perf_fds fds;	/* of the events */
	struct hp_interrupt interrupt;
	uint32_t own_most;	/* threads of a process that get their own events, */
	uint32_t without;	/* and those that got none */
	uint64_t checked_lost;	/* records, when the processes that may have ended were last checked */
	uint32_t trim_at;	/* with this many descriptors of events, ended threads are searched for */
};

/* The needs of the reported sections. */
struct hp_perf_wish {
	bool samples;
	bool waits;
};

/* `perf` is zero: it is large, so its pages are not touched here. */
void hp_perf_init(struct hp_perf *perf, const struct hp_segment *segment,
		  const struct hp_settings *settings, struct hp_members *members,
		  struct hp_perf_wish wish);
void hp_perf_release(struct hp_perf *perf);

/* Begins with the root.  Rings that fill wake the epoll with this data. */
void hp_perf_start(struct hp_perf *perf, uint32_t pid, int epoll, uint64_t data);

/*
 * Total CPU time and time slices of all threads: threads that switch all the time are sampled
 * less often, unless samples or a rate were requested. If threads end before their first
 * sample is due, CPUs are sampled.
 */
void hp_perf_calm(struct hp_perf *perf, uint64_t cpu_ns, uint64_t switches);

/*
 * Events that sample the CPUs exist, but do not count yet; threads' events opened from now on take
 * no samples. False = not permitted, or it would differ from sampling threads.
 */
bool hp_perf_whole_prepare(struct hp_perf *perf);

/*
 * Replaces all threads' events by events of the CPUs, which are sampled from now on, if permitted
 * and if that differs from sampling threads. Events of a thread cost some time at each of its
 * switches, even if they are disabled. False = threads keep theirs.
 */
bool hp_perf_wide(struct hp_perf *perf);

/*
 * From now on the permanent rate applies to events that are opened. False = it did already, or
 * threads that switch often have a lower one.
 */
bool hp_perf_first_end(struct hp_perf *perf);

/* Threads of all processes that are alive, or those processes if they are more. */
uint32_t hp_perf_threads(struct hp_perf *perf);

/*
 * Are there more than `most`?  They are counted only if the records since the last count leave that
 * open: that reads a file of each process.
 */
bool hp_perf_has_threads(struct hp_perf *perf, uint32_t most);

/* Those of each process beyond its first `most`. */
uint32_t hp_perf_threads_beyond(const struct hp_perf *perf, uint32_t most);

/* Then reopening events takes long, and threads that start or end wait for it in the kernel. */
bool hp_perf_is_crowd(struct hp_perf *perf);

/* Reads all that is available; samples of members that joined since are taken from now on. */
void hp_perf_read(struct hp_perf *perf);

/* The same to the last record: the report follows. */
void hp_perf_finish(struct hp_perf *perf);

/*
 * After hp_perf_finish: closes the events and rings, unless they are so many that this takes long.
 * The memory of rings is limited by user, and the next run needs it before this helper has ended.
 */
void hp_perf_leave(struct hp_perf *perf);

#endif
