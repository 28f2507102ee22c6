/* SPDX-License-Identifier: MIT */
/*
 * picture_work.c - the worker of picture.h: refreshes, makes answers, sleeps.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "live/answer/functions_cpu.h"
#include "live/answer/json_room.h"
#include "live/cache/picture_part.h"
#include "report/section/cpu/cpu.h"
#include "report/base/memory.h"
#include "report/name/resolver.h"
#include "segment/clock.h"

#define MS UINT64_C(1000000)
#define YOUNG_NS (200 * MS)	/* a refresh younger than this is good enough for a new request */
#define REFRESH_MIN_NS (700 * MS)	/* refresh interval while there are requests */
#define REFRESH_MAX_NS (950 * MS)
#define REFRESH_SHARE 25	/* refreshing may take 1/this of the time */
#define RETRY_NS (20 * MS)	/* interval of checks for new names */
#define REPORT_IDLE_NS (10000 * MS)	/* the report is freed after this time without requests */

/* --- making answers: without the lock --- */

struct hp_answer *hp_picture_no_target(void)
{
	return hp_answer_error(500, "the program or its helper process may just have ended",
			       "The segment cannot be read");
}

static struct hp_answer *render(struct hp_picture *picture, const struct hp_request *request)
{
	struct hp_answer *answer;

	if (!picture->snapshot.has_report)
		return hp_picture_no_target();
	hp_json_room_begin();
	answer = request->route->render(&picture->snapshot, request);
	hp_json_room_end();
	if (hp_target_is_live(&picture->snapshot.target))
		answer->taken_ns = picture->snapshot.taken_ns;
	return answer;
}

/* Refreshes unless the last refresh is younger than `most_ns`. An ended run is read once. */
static void refresh(struct hp_picture *picture, uint64_t most_ns)
{
	struct hp_snapshot *snapshot = &picture->snapshot;
	bool is_live = hp_target_is_live(&snapshot->target);

	if (snapshot->has_report && (!is_live || hp_clock_raw_ns() - snapshot->taken_ns < most_ns))
		return;
	if (!picture->is_lost && !hp_snapshot_refresh(snapshot))
		picture->is_lost = true;
}

/* Makes the entry's answer. The entry may be evicted meanwhile if nobody waits for it. */
static void slot_fill(struct hp_picture *picture, const struct hp_request *request)
{
	uint64_t missing = hp_snapshot_missing(&picture->snapshot);
	struct hp_answer *answer = render(picture, request);
	bool is_whole = hp_snapshot_missing(&picture->snapshot) == missing &&
			(!picture->snapshot.has_report || !picture->snapshot.missing);
	struct hp_client *clients = NULL;
	struct hp_slot *slot;

	pthread_mutex_lock(&picture->lock);
	slot = hp_slot_find(&picture->slots, request);
	if (slot) {
		hp_answer_drop(slot->answer);
		slot->answer = hp_answer_hold(answer);
		clients = hp_slot_served(slot, hp_clock_raw_ns(), is_whole);
	}
	pthread_mutex_unlock(&picture->lock);
	hp_clients_call(clients, answer);
	hp_answer_drop(answer);
}

/*
 * An entry waiting for names is not remade while lookups are pending. False =
 * not to be made now.
 */
static bool retry_settle(struct hp_picture *picture, const struct hp_request *request)
{
	struct hp_resolver *resolver = picture->snapshot.target.input.record.resolver;
	struct hp_slot *slot = hp_slot_find(&picture->slots, request);
	uint64_t now = hp_clock_raw_ns();

	if (!slot->retry_ns || hp_resolver_is_idle(resolver) || hp_slot_is_patience_over(slot, now))
		return true;
	hp_slot_put_off(slot, now);
	return false;
}

/* The next entry to make; false = none. */
static bool slot_next(struct hp_picture *picture, bool is_hot_too, struct hp_request *request)
{
	const struct hp_slot *slot = hp_slot_next(&picture->slots, hp_clock_raw_ns(), is_hot_too,
						  picture->snapshot.taken_ns);

	if (slot)
		*request = slot->request;
	return slot;
}

/* --- jobs --- */

/* The names of all samples, which jobs need. False = still pending. */
static bool has_names(struct hp_picture *picture)
{
	struct hp_snapshot *snapshot = &picture->snapshot;
	uint64_t missing = hp_snapshot_missing(snapshot);

	if (snapshot->has_report)
		hp_report_cpu(&snapshot->report);
	return hp_snapshot_missing(snapshot) == missing &&
	       (!snapshot->has_report || !snapshot->missing);
}

static bool is_to_wait(struct hp_picture *picture, uint64_t *until_ns, uint64_t now)
{
	if (!*until_ns)
		*until_ns = now + HP_NAMES_WHOLE_NS;
	return now < *until_ns && !has_names(picture);
}

static struct hp_job *job_due(struct hp_picture *picture, uint64_t now)
{
	for (struct hp_job *job = picture->jobs; job; job = job->next)
		if (job->due_ns <= now)
			return job;
	return NULL;
}

static void job_remove(struct hp_picture *picture, struct hp_job *job)
{
	struct hp_job **at = &picture->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	picture->job_count--;
}

/* A job may change other answers. */
static void answers_forget(struct hp_picture *picture)
{
	pthread_mutex_lock(&picture->lock);
	hp_slots_forget(&picture->slots);
	pthread_mutex_unlock(&picture->lock);
}

/* Called without the lock; only the worker uses the job. */
static void job_do(struct hp_picture *picture, struct hp_job *job)
{
	const struct hp_route *route = job->request.route;
	struct hp_snapshot *snapshot = &picture->snapshot;
	struct hp_answer *answer;

	refresh(picture, job->due_ns ? 0 : YOUNG_NS);
	if (!job->due_ns && snapshot->has_report && route->begin) {
		job->begun = route->begin(snapshot, &job->request);
		job->due_ns = hp_clock_raw_ns() + route->span_ns(&job->request);
		return;
	}
	if (is_to_wait(picture, &job->until_ns, hp_clock_raw_ns())) {
		job->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	if (!snapshot->has_report)
		answer = hp_picture_no_target();
	else
		answer = route->end(snapshot, &job->request, job->begun);
	answers_forget(picture);
	pthread_mutex_lock(&picture->lock);
	job_remove(picture, job);
	pthread_mutex_unlock(&picture->lock);
	job->client.done(job->client.context, answer);
	free(job);
}

static void snapshot_do(struct hp_picture *picture)
{
	struct hp_cpu_snapshot *capture = &picture->snapshot.cpu_snapshot;

	refresh(picture, 0);
	if (is_to_wait(picture, &picture->snapshot_until_ns, hp_clock_raw_ns())) {
		capture->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	picture->snapshot_until_ns = 0;
	if (hp_cpu_snapshot_take(&picture->snapshot))
		answers_forget(picture);
}

/* --- main loop --- */

static uint64_t refresh_interval(const struct hp_snapshot *snapshot)
{
	uint64_t interval = REFRESH_SHARE * snapshot->cost_ns;
	uint64_t most = snapshot->cost_ns < REFRESH_MAX_NS / 2 ? REFRESH_MAX_NS - snapshot->cost_ns
							       : REFRESH_MAX_NS / 2;

	if (interval < REFRESH_MIN_NS)
		interval = REFRESH_MIN_NS;
	return interval < most ? interval : most;
}

static void earlier(uint64_t *due, uint64_t other)
{
	if (other && other < *due)
		*due = other;
}

/* Time of the next task; UINT64_MAX = at the next request. */
static uint64_t due_of(const struct hp_picture *picture, uint64_t now)
{
	const struct hp_snapshot *snapshot = &picture->snapshot;
	uint64_t due = UINT64_MAX;

	if (hp_target_is_live(&snapshot->target) && !picture->is_lost &&
	    hp_slots_has_regular(&picture->slots, now))
		earlier(&due, snapshot->taken_ns + refresh_interval(snapshot));
	for (const struct hp_job *job = picture->jobs; job; job = job->next)
		due = job->due_ns < due ? job->due_ns : due;
	earlier(&due, snapshot->cpu_snapshot.due_ns);
	for (const struct hp_slot *slot = picture->slots.first; slot; slot = slot->next)
		if (slot->clients)
			earlier(&due, slot->retry_ns);
	if (snapshot->has_report && hp_target_is_live(&snapshot->target))
		earlier(&due, picture->asked_ns + REPORT_IDLE_NS);
	return due;
}

static void sleep_until(struct hp_picture *picture, uint64_t due, uint64_t now)
{
	struct timespec at;

	if (due == UINT64_MAX) {
		pthread_cond_wait(&picture->wake, &picture->lock);
		return;
	}
	/* The condition uses MONOTONIC; only the difference counts. */
	clock_gettime(CLOCK_MONOTONIC, &at);
	due = due > now ? due - now : 0;
	at.tv_sec += (time_t)(due / 1000000000);
	at.tv_nsec += (long)(due % 1000000000);
	if (at.tv_nsec >= 1000000000)
		at.tv_sec++, at.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&picture->wake, &picture->lock, &at);
}

static void memory_drop(struct hp_snapshot *snapshot)
{
	hp_snapshot_drop(snapshot);
	hp_json_room_release();
	malloc_trim(0);
}

/* Tasks that are due besides waiting requests. Called and returns with the lock held. */
static void do_due(struct hp_picture *picture, uint64_t now)
{
	struct hp_snapshot *snapshot = &picture->snapshot;
	struct hp_request request;
	struct hp_job *job = job_due(picture, now);
	bool is_hot = hp_slots_has_regular(&picture->slots, now);
	bool is_idle = now >= picture->asked_ns + REPORT_IDLE_NS && !picture->jobs;

	pthread_mutex_unlock(&picture->lock);
	if (job)
		job_do(picture, job);
	else if (snapshot->cpu_snapshot.due_ns && now >= snapshot->cpu_snapshot.due_ns)
		snapshot_do(picture);
	else if (is_hot)
		refresh(picture, 0);
	else if (is_idle)
		memory_drop(snapshot);
	pthread_mutex_lock(&picture->lock);
	while (is_hot && slot_next(picture, true, &request)) {
		pthread_mutex_unlock(&picture->lock);
		slot_fill(picture, &request);
		pthread_mutex_lock(&picture->lock);
	}
}

void *hp_picture_work(void *argument)
{
	struct hp_picture *picture = argument;
	struct hp_request request;

	pthread_mutex_lock(&picture->lock);
	while (!picture->is_over) {
		uint64_t now = hp_clock_raw_ns(), due;

		if (slot_next(picture, false, &request)) {
			bool is_retry = hp_slot_find(&picture->slots, &request)->retry_ns != 0;

			if (!retry_settle(picture, &request))
				continue;
			pthread_mutex_unlock(&picture->lock);
			refresh(picture, is_retry ? 0 : YOUNG_NS);
			slot_fill(picture, &request);
			pthread_mutex_lock(&picture->lock);
			continue;
		}
		due = due_of(picture, now);
		if (due <= now)
			do_due(picture, now);
		else
			sleep_until(picture, due, now);
	}
	pthread_mutex_unlock(&picture->lock);
	hp_json_room_release();
	return NULL;
}
