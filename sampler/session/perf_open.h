/* SPDX-License-Identifier: MIT */
/*
 * perf_open.h - the events of a session's threads: which ones, and for which threads.
 */
#ifndef HP_SAMPLER_SESSION_PERF_OPEN_H
#define HP_SAMPLER_SESSION_PERF_OPEN_H

#include "sampler/session/perf.h"

/* The rate that this machine allows instead of `wish`, Hz. */
uint64_t hp_perf_frequency(uint64_t wish);

/* True if the error, as below, means missing permission. */
bool hp_perf_is_forbidden(int error);

/* All rings wake the helper; those that did so before, too. */
void hp_perf_rings_wake(const struct hp_perf *perf);

/*
 * All threads of a process.  A thread started by one without events has none
 * either, so the list is read until nothing new appears. The first one
 * determines the event. Returns 0 or -errno.
 */
int hp_perf_open_process(struct hp_perf *perf, uint32_t pid);

/*
 * Finds the event that this machine has and this user may open on a CPU. Nothing stays open. False =
 * there is none.
 */
bool hp_perf_open_first(struct hp_perf *perf);

/*
 * Processes that it had forked before it got its events, and their forks. Many of them do not get
 * their own: see perf_crowd.h.
 */
void hp_perf_open_children(struct hp_perf *perf, uint32_t pid);

/* Every process with events gets new ones, with the current `attr`. */
void hp_perf_open_again(struct hp_perf *perf);

/* Events opened from now on report switches, mappings and tasks, and take no samples. */
void hp_perf_unsample(struct hp_perf *perf);

/*
 * Closes the events of all threads, if hp_perf_open_waits works. False = threads still have events.
 */
bool hp_perf_open_wide(struct hp_perf *perf);

/*
 * Replaces all events by events of the CPUs, which report switches, mappings and tasks, and take
 * samples if `attr` does. False = nothing has changed.
 */
bool hp_perf_open_cpus(struct hp_perf *perf);

/* Waits on all CPUs are recorded until perf->wait_fds are closed. False = only on some. */
bool hp_perf_open_waits(struct hp_perf *perf);

#endif
