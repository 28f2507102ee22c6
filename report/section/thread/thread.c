/* SPDX-License-Identifier: MIT */
/*
 * thread.c - see thread.h.
 *
 * The kernel also records a wait for a lock: its futex records are ignored if
 * the thread itself recorded waits.
 */
#include "report/section/thread/thread.h"

#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/section/wait/lock_section.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/section/wait/offcpu.h"

#define WATCHED 0.75	/* of a thread's lifetime, from its first scan to its last */

static struct hp_thread_row *row_of(struct hp_threads *threads, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->rows[i].thread->tid == tid && threads->rows[i].thread->pid == pid)
			return &threads->rows[i];
	return NULL;
}

/* --- data from the thread --- */

int hp_thread_wait_of(uint32_t kind)
{
	switch (hp_lock_family(kind)) {
	case HP_LOCK_FAMILY_COND:
	case HP_LOCK_FAMILY_SEM:
	case HP_LOCK_FAMILY_BARRIER:
		return HP_WAIT_SIGNAL;
	case HP_LOCK_FAMILY_THREAD:
		return HP_WAIT_THREAD;
	case HP_LOCK_FAMILY_FILE:
		return HP_WAIT_FILE;
	case HP_LOCK_FAMILY_CHANNEL:
		return HP_THREAD_CHANNEL;
	case HP_LOCK_FAMILY_NONE:
	case HP_LOCK_FAMILY_MUTEX:
	case HP_LOCK_FAMILY_RWLOCK:
		break;
	}
	return HP_WAIT_LOCK;
}

static void locks_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	double ns = report->model.ns_per_tick;
	struct hp_thread_row *row;

	for (size_t i = 0; i < locks->thread_count; i++) {
		const struct hp_lock_thread *waiter = &locks->threads[i];

		row = row_of(threads, waiter->pid, waiter->tid);
		if (!row)
			continue;
		row->waiter = waiter;
		for (int j = 0; j < HP_WAIT_CLASSES; j++)
			row->waits_ns[j] += (double)waiter->waited[j] * ns;
	}
	for (size_t i = 0; i < locks->wait_count; i++) {
		const struct hp_lock_wait *wait = &locks->waits[i];

		row = row_of(threads, wait->pid, wait->tid);
		if (row && locks->end_ticks > wait->since)
			row->waits_ns[hp_thread_wait_of(locks->rows[wait->lock].kind)] +=
				(double)(locks->end_ticks - wait->since) * ns;
	}
	for (size_t i = 0; i < locks->birth_count; i++) {
		row = row_of(threads, locks->births[i].pid, locks->births[i].tid);
		if (row)
			row->birth = &locks->births[i];
	}
}

/* --- data from the kernel --- */

struct cause {
	const char *on;	/* of hp_offcpu_cause */
	enum hp_thread_wait wait;
};

static enum hp_thread_wait wait_of(const char *on)
{
	static const struct cause causes[] = {
		{ "pipe", HP_THREAD_CHANNEL }, { "socket", HP_THREAD_CHANNEL },
		{ "disk", HP_THREAD_DISK },    { "poll", HP_THREAD_POLL },
		{ "sleep", HP_THREAD_SLEEP },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(causes[i].on, on) == 0)
			return causes[i].wait;
	return HP_THREAD_OTHER;
}

struct switches {
	struct hp_report *report;
	struct hp_threads *threads;
};

static void event_add(void *context, const struct hp_event *event)
{
	const struct switches *to = context;
	struct hp_report *report = to->report;
	struct hp_thread_row *row;
	const char *on;

	if (event->kind != HP_EVENT_WAIT || event->node >= report->model.sampling.stack_count ||
	    hp_offcpu_is_profiler(report, event->node))
		return;
	row = row_of(to->threads, event->pid, event->tid);
	if (!row)
		return;
	on = event->node ? hp_offcpu_cause(report, event->node) : "-";
	if (hp_offcpu_is_stop(on))
		row->stopped_ns += (double)event->span_ns;
	else if (strcmp(on, "lock") != 0)
		row->waits_ns[wait_of(on)] += (double)event->span_ns;
	else if (!row->waiter)
		row->waits_ns[HP_WAIT_LOCK] += (double)event->span_ns;
}

/* If some could not be recorded, none is used: a share would only cover the recorded part. */
static void switches_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;

	if (!sampling->is_there || sampling->record.fault || sampling->record.event_lost ||
	    !sampling->record.blocked_ns)
		return;
	hp_report_cpu(report);
	for (size_t i = 0; i < threads->count; i++)
		threads->rows[i].has_switches = true;
	hp_events_each(&report->model, event_add, &(struct switches){ report, threads });
}

/* --- all of it --- */

/* The sampler first scans a thread some time after its start, which the thread itself knows. */
static void times_set(struct hp_report *report, struct hp_thread_row *row)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_model_thread *thread = row->thread;
	uint64_t ticks = 0;

	row->ran_ns = (double)thread->cpu_ns;
	row->ready_ns = (double)thread->wait_ns;
	row->life_ns = (double)thread->life_ns;
	if (row->birth && row->birth->end > row->birth->start)
		ticks = row->birth->end - row->birth->start;
	else if (row->birth && thread->state != 'x' && locks->end_ticks > row->birth->start)
		ticks = locks->end_ticks - row->birth->start;
	if (ticks)
		row->life_ns = (double)ticks * report->model.ns_per_tick;
	if (thread->tid == thread->pid && thread->pid == report->model.reader.header.root_pid)
		row->life_ns = (double)report->model.root_ns;
	/* The sampler's last scan was before its end. */
	if (row->birth && (double)row->birth->cpu_ns > row->ran_ns)
		row->ran_ns = (double)row->birth->cpu_ns;
	if (row->life_ns < row->ran_ns + row->ready_ns)
		row->life_ns = row->ran_ns + row->ready_ns;
	row->blocked_ns = row->life_ns - row->ran_ns - row->ready_ns;
	/* The scan of the queue and the switch record are from different moments. */
	if (row->stopped_ns > row->blocked_ns)
		row->stopped_ns = row->blocked_ns;
	row->blocked_ns -= row->stopped_ns;
}

static bool is_listed(const struct hp_model *model, const struct hp_lock_birth *birth)
{
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == birth->tid && model->threads[i].pid == birth->pid)
			return true;
	return false;
}

/* Threads that the sampler never saw. */
static void unseen_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	size_t count = 0;
	double ns = report->model.ns_per_tick;

	threads->unseen = hp_xcalloc(locks->birth_count, sizeof(*threads->unseen));
	for (size_t i = 0; i < locks->birth_count; i++) {
		const struct hp_lock_birth *birth = &locks->births[i];
		struct hp_model_thread *thread;
		const char *name;

		if (!birth->end || is_listed(&report->model, birth))
			continue;
		thread = &threads->unseen[count++];
		*thread = (struct hp_model_thread){
			.tid = birth->tid,
			.pid = birth->pid,
			.state = 'x',
			.percent_last = -1,
			.percent_max = -1,
			.percent_average = -1,
			.cpu_ns = birth->cpu_ns,
			.life_ns = birth->end > birth->start
					   ? hp_whole((double)(birth->end - birth->start) * ns)
					   : 0,
		};
		name = hp_model_thread_name(&report->model, birth->pid, birth->tid, birth->end);
		if (name)
			memcpy(thread->name, name, sizeof(thread->name));
		if (thread->life_ns)
			thread->percent_average =
				100.0 * (double)thread->cpu_ns / (double)thread->life_ns;
		threads->rows[threads->count++].thread = thread;
	}
	threads->unseen_count = count;
}

/*
 * The first thread of a process has no parent; any other one without a recorded start
 * is counted with those without one.
 */
static void unlisted_count(struct hp_threads *threads, const struct hp_locks *locks)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		seen += row->is_seen && !row->birth && row->thread->tid != row->thread->pid;
	}
	threads->unlisted = locks->birthless > seen ? locks->birthless - seen : 0;
}

static void threads_free(void *held)
{
	struct hp_threads *threads = held;

	free(threads->rows);
	free(threads->unseen);
	free(threads);
}

struct hp_threads *hp_threads_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = threads_free };
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_model *model = &report->model;
	struct hp_threads *threads = hp_views_get(&report->views, &kind);

	if (threads)
		return threads;
	threads = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*threads)));
	threads->rows =
		hp_xcalloc(model->thread_count + locks->birth_count, sizeof(*threads->rows));
	for (size_t i = 0; i < model->thread_count; i++)
		if (!model->threads[i].folded) {
			threads->rows[threads->count].is_seen = true;
			threads->rows[threads->count++].thread = &model->threads[i];
		}
	unseen_add(report, threads);
	locks_add(report, threads);
	unlisted_count(threads, locks);
	switches_add(report, threads);
	for (size_t i = 0; i < threads->count; i++)
		times_set(report, &threads->rows[i]);
	return threads;
}

/* An ongoing wait may be scanned later; for folded threads, the start of each is unknown. */
static bool is_past_and_apart(const struct hp_report *report)
{
	for (size_t i = 0; i < report->model.thread_count; i++)
		if (report->model.threads[i].folded)
			return false;
	return !report->record.is_live;
}

size_t hp_threads_unseen(struct hp_report *report)
{
	return is_past_and_apart(report) ? hp_threads_of(report)->unseen_count : 0;
}

/* A thread's ready time is known up to its last scan: of little use if that was early. */
void hp_threads_sum(struct hp_report *report, struct hp_thread_sums *sums)
{
	const struct hp_model *model = &report->model;
	const struct hp_threads *threads;
	uint64_t all_ns = hp_offcpu_stopped_ns(report);
	uint64_t stopped_ns = all_ns < model->blocked_ns ? all_ns : model->blocked_ns;

	*sums = (struct hp_thread_sums){ .life_ns = model->thread_ns,
					 .blocked_ns = model->blocked_ns - stopped_ns,
					 .stopped_ns = all_ns,
					 .watched = model->thread_count,
					 .count = model->thread_count };
	for (size_t i = 0; i < model->thread_count; i++)
		sums->ready_ns += model->threads[i].wait_ns;
	if (model->thread_count + hp_threads_unseen(report) <= 1 || !is_past_and_apart(report))
		return;
	threads = hp_threads_of(report);
	*sums = (struct hp_thread_sums){ .stopped_ns = all_ns,
					 .count = threads->count + threads->unlisted,
					 .unlisted = threads->unlisted };
	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		if (!row->is_seen || (double)row->thread->life_ns < WATCHED * row->life_ns)
			continue;
		sums->watched++;
		sums->life_ns += hp_whole(row->life_ns);
		sums->ready_ns += hp_whole(row->ready_ns);
		sums->blocked_ns += hp_whole(row->blocked_ns);
	}
}
