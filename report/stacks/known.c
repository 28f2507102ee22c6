/* SPDX-License-Identifier: MIT */
/*
 * known.c - see known.h.
 */
#include "report/stacks/known.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/sections.h"
#include "report/section/wait/lock_section.h"
#include "report/store/live.h"
#include "report/store/parts.h"
#include "segment/clock.h"
#include "segment/guard.h"
#include "segment/layout/process.h"
#include "segment/segment.h"

#define PROCESSES_MAX 65536	/* a damaged list must not trap us */
#define SEARCH_NS UINT64_C(4000000000)	/* a helper that does not answer must not, either */

extern char **environ;

struct hp_stack_known {
	struct hp_settings settings;
	struct hp_report report;
	struct hp_stack_known_thread *threads;
	size_t count;
	size_t room;
	struct hp_map places;	/* tid -> place */
	uint64_t ns;
};

/* --- the session --- */

/* A pid of an earlier process is not its, if the record has a start time. */
static bool is_its(const struct hp_process *record, const struct hp_stack_process *process)
{
	return record->pid == (uint32_t)process->pid &&
	       (!record->starttime || !process->identity.started ||
		record->starttime == process->identity.started);
}

static bool has_process(const struct hp_segment *segment, const struct hp_stack_process *wanted)
{
	uint64_t at = atomic_load_explicit(&segment->header->processes, memory_order_acquire);
	const struct hp_process *process;

	for (int i = 0; i < PROCESSES_MAX; i++, at = process->next) {
		process = hp_segment_at(segment, at, sizeof(*process));
		if (!process)
			return false;
		if (is_its(process, wanted))
			return true;
	}
	return false;
}

/* Takes over the descriptor. */
static bool segment_open(struct hp_segment *segment, int fd, const struct hp_stack_process *process)
{
	bool is_there;

	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	is_there = fd >= 0 && hp_segment_map_fd(segment, fd) == HP_SEGMENT_FINE;
	if (is_there)
		hp_parts_ask(segment, fd);
	if (fd >= 0)
		close(fd);
	if (is_there && has_process(segment, process)) {
		segment->now = hp_clock_moment(segment->header->clock_kind);
		return true;
	}
	if (is_there) {
		hp_parts_close(segment);
		hp_segment_release(segment);
	}
	return false;
}

/*
 * A session may claim any process, but only one of root's or of the process's user can have it.
 * Others than root see only their own sessions.
 */
static bool may_have(const struct hp_live *live, const struct hp_user *user)
{
	return live->owner == 0 || geteuid() != 0 || live->owner == user->user;
}

/* The process is the root of its session, or a descendant. */
static bool session_find(struct hp_segment *segment, const struct hp_stack_process *process)
{
	size_t count;
	struct hp_live *live = geteuid() == 0 ? hp_live_list_all(&count) : hp_live_list(&count);
	uint64_t deadline = hp_clock_raw_ns() + SEARCH_NS;
	bool is_found = false;

	for (int first = 1; first >= 0 && !is_found; first--)
		for (size_t i = 0; i < count && !is_found && hp_clock_raw_ns() < deadline; i++)
			if ((live[i].pid == (uint32_t)process->pid) == (bool)first &&
			    may_have(&live[i], &process->user))
				is_found = segment_open(segment, hp_session_look(live[i].token),
							process);
	free(live);
	return is_found;
}

/* --- threads --- */

static struct hp_stack_known_thread *thread_of(struct hp_stack_known *recorded, uint32_t tid)
{
	bool is_new;
	uint32_t *place = hp_map_at(&recorded->places, tid, &is_new);

	if (!is_new)
		return &recorded->threads[*place];
	*place = (uint32_t)recorded->count;
	recorded->threads = hp_xgrow(recorded->threads, recorded->count, &recorded->room,
				     sizeof(*recorded->threads));
	recorded->threads[recorded->count] = (struct hp_stack_known_thread){ .tid = tid };
	return &recorded->threads[recorded->count++];
}

static uint64_t age_ns(const struct hp_stack_known *recorded, const struct hp_locks *locks,
		       uint64_t since)
{
	return since && locks->end_ticks > since
		       ? hp_model_ns(&recorded->report.model, locks->end_ticks - since)
		       : 0;
}

static void wait_add(struct hp_stack_known *recorded, const struct hp_locks *locks,
		     const struct hp_lock_wait *wait)
{
	struct hp_report *report = &recorded->report;
	const struct hp_lock_row *lock = &locks->rows[wait->lock];
	const struct hp_lock_hold *hold = hp_lock_wait_hold(report, wait);
	struct hp_stack_known_thread *thread = thread_of(recorded, wait->tid);

	if (thread->is_waiting)
		return;
	thread->is_waiting = true;
	thread->wait = (struct hp_stack_known_wait){
		.object = hp_lock_name(report, lock),
		.kind = hp_lock_row_kind(lock, wait->side),
		.since_ns = age_ns(recorded, locks, wait->since),
		.holder = hp_lock_wait_for(report, wait),
		.holder_at = hold ? hp_lock_place_text(report, &hold->at) : NULL,
		.path = hp_lock_path_text(report, &wait->at, wait->path),
		.cycle = hp_lock_wait_cycle(report, wait),
	};
}

static void hold_add(struct hp_stack_known *recorded, const struct hp_locks *locks,
		     const struct hp_lock_hold *hold)
{
	struct hp_report *report = &recorded->report;
	const struct hp_lock_row *lock = &locks->rows[hold->lock];
	struct hp_stack_known_thread *thread = thread_of(recorded, hold->tid);

	thread->holds = hp_xgrow(thread->holds, thread->hold_count, &thread->hold_room,
				 sizeof(*thread->holds));
	thread->holds[thread->hold_count++] = (struct hp_stack_known_hold){
		.object = hp_lock_name(report, lock),
		.kind = hp_lock_row_kind(lock, HP_SIDE_ONLY),
		.at = hp_lock_place_text(report, &hold->at),
		.since_ns = age_ns(recorded, locks, hold->start),
	};
}

static void threads_read(struct hp_stack_known *recorded, pid_t pid)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(&recorded->report));

	for (size_t i = 0; i < locks->wait_count; i++)
		if (locks->waits[i].pid == (uint32_t)pid)
			wait_add(recorded, locks, &locks->waits[i]);
	for (size_t i = 0; i < locks->hold_count; i++)
		if (locks->holds[i].pid == (uint32_t)pid && !locks->holds[i].is_left)
			hold_add(recorded, locks, &locks->holds[i]);
}

static void complain(void *context, const char *line)
{
	(void)context, (void)line;
}

struct hp_stack_known *hp_stack_known_new(const struct hp_stack_process *process)
{
	const struct hp_record record = { .is_live = true, .is_lazy = true };
	struct hp_segment segment;
	struct hp_stack_known *recorded;

	hp_guard_start();
	if (!session_find(&segment, process))
		return NULL;
	recorded = hp_xcalloc(1, sizeof(*recorded));
	recorded->ns = segment.now.ns;
	hp_settings_read(&recorded->settings, environ, complain, NULL);
	hp_report_init_record(&recorded->report, &segment, &record, &recorded->settings, complain,
			      NULL);
	threads_read(recorded, process->pid);
	return recorded;
}

void hp_stack_known_free(struct hp_stack_known *recorded)
{
	if (!recorded)
		return;
	for (size_t i = 0; i < recorded->count; i++) {
		struct hp_stack_known_thread *thread = &recorded->threads[i];

		for (size_t k = 0; k < thread->hold_count; k++)
			free(thread->holds[k].at);
		free(thread->holds);
		free(thread->wait.holder_at);
		free(thread->wait.path);
	}
	free(recorded->threads);
	hp_map_release(&recorded->places);
	hp_report_release(&recorded->report);
	free(recorded);
}

const struct hp_stack_known_thread *hp_stack_known_thread(const struct hp_stack_known *recorded,
							  uint32_t tid)
{
	const uint32_t *place = hp_map_find(&recorded->places, tid);

	return place ? &recorded->threads[*place] : NULL;
}

const struct hp_stack_known_thread *hp_stack_known_threads(const struct hp_stack_known *recorded,
							   size_t *count)
{
	*count = recorded->count;
	return recorded->threads;
}

uint64_t hp_stack_known_ns(const struct hp_stack_known *recorded)
{
	return recorded->ns;
}

void hp_stack_known_deadlocks(struct hp_stack_known *recorded, FILE *out)
{
	hp_deadlocks_write(&recorded->report, out);
}
