/* SPDX-License-Identifier: MIT */
/*
 * cache_work.c - the worker of cache.h: refreshes, makes answers, sleeps.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "live/answer/functions_cpu.h"
#include "live/answer/json_room.h"
#include "live/cache/cache_part.h"
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

struct hp_answer *hp_cache_no_target(void)
{
	return hp_answer_error(500, "the program or its helper process may just have ended",
			       "The segment cannot be read");
}

static struct hp_answer *render(struct hp_cache *cache, const struct hp_request *request)
{
	struct hp_answer *answer;

	if (!cache->snapshot.has_report)
		return hp_cache_no_target();
	hp_json_room_begin();
	answer = request->route->render(&cache->snapshot, request);
	hp_json_room_end();
	if (hp_target_is_live(&cache->snapshot.target))
		answer->taken_ns = cache->snapshot.taken_ns;
	return answer;
}

/* Refreshes unless the last refresh is younger than `most_ns`. An ended run is read once. */
static void refresh(struct hp_cache *cache, uint64_t most_ns)
{
	struct hp_snapshot *snapshot = &cache->snapshot;
	bool is_live = hp_target_is_live(&snapshot->target);

	if (snapshot->has_report && (!is_live || hp_clock_raw_ns() - snapshot->taken_ns < most_ns))
		return;
	if (!cache->is_lost && !hp_snapshot_refresh(snapshot))
		cache->is_lost = true;
}

/* Makes the entry's answer. The entry may be evicted meanwhile if nobody waits for it. */
static void entry_fill(struct hp_cache *cache, const struct hp_request *request)
{
	uint64_t missing = hp_snapshot_missing(&cache->snapshot);
	struct hp_answer *answer = render(cache, request);
	bool is_whole = hp_snapshot_missing(&cache->snapshot) == missing &&
			(!cache->snapshot.has_report || !cache->snapshot.missing);
	struct hp_client *clients = NULL;
	struct hp_cache_entry *entry;

	pthread_mutex_lock(&cache->lock);
	entry = hp_cache_entry_find(&cache->entries, request);
	if (entry) {
		hp_answer_drop(entry->answer);
		entry->answer = hp_answer_hold(answer);
		clients = hp_cache_entry_served(entry, hp_clock_raw_ns(), is_whole);
	}
	pthread_mutex_unlock(&cache->lock);
	hp_clients_call(clients, answer);
	hp_answer_drop(answer);
}

/*
 * An entry waiting for names is not remade while lookups are pending. False =
 * not to be made now.
 */
static bool retry_settle(struct hp_cache *cache, const struct hp_request *request)
{
	struct hp_resolver *resolver = cache->snapshot.target.input.record.resolver;
	struct hp_cache_entry *entry = hp_cache_entry_find(&cache->entries, request);
	uint64_t now = hp_clock_raw_ns();

	if (!entry->retry_ns || hp_resolver_is_idle(resolver) ||
	    hp_cache_entry_is_patience_over(entry, now))
		return true;
	hp_cache_entry_put_off(entry, now);
	return false;
}

/* The next entry to make; false = none. */
static bool entry_next(struct hp_cache *cache, bool is_hot_too, struct hp_request *request)
{
	const struct hp_cache_entry *entry = hp_cache_entry_next(
		&cache->entries, hp_clock_raw_ns(), is_hot_too, cache->snapshot.taken_ns);

	if (entry)
		*request = entry->request;
	return entry;
}

/* --- jobs --- */

/* The names of all samples, which jobs need. False = still pending. */
static bool has_names(struct hp_cache *cache)
{
	struct hp_snapshot *snapshot = &cache->snapshot;
	uint64_t missing = hp_snapshot_missing(snapshot);

	if (snapshot->has_report)
		hp_report_cpu(&snapshot->report);
	return hp_snapshot_missing(snapshot) == missing &&
	       (!snapshot->has_report || !snapshot->missing);
}

static bool is_to_wait(struct hp_cache *cache, uint64_t *until_ns, uint64_t now)
{
	if (!*until_ns)
		*until_ns = now + HP_NAMES_WHOLE_NS;
	return now < *until_ns && !has_names(cache);
}

static struct hp_job *job_due(struct hp_cache *cache, uint64_t now)
{
	for (struct hp_job *job = cache->jobs; job; job = job->next)
		if (job->due_ns <= now)
			return job;
	return NULL;
}

static void job_remove(struct hp_cache *cache, struct hp_job *job)
{
	struct hp_job **at = &cache->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	cache->job_count--;
}

/* A job may change other answers. */
static void answers_forget(struct hp_cache *cache)
{
	pthread_mutex_lock(&cache->lock);
	hp_cache_entries_forget(&cache->entries);
	pthread_mutex_unlock(&cache->lock);
}

/* Called without the lock; only the worker uses the job. */
static void job_do(struct hp_cache *cache, struct hp_job *job)
{
	const struct hp_route *route = job->request.route;
	struct hp_snapshot *snapshot = &cache->snapshot;
	struct hp_answer *answer;

	refresh(cache, job->due_ns ? 0 : YOUNG_NS);
	if (!job->due_ns && snapshot->has_report && route->begin) {
		job->begun = route->begin(snapshot, &job->request);
		job->due_ns = hp_clock_raw_ns() + route->span_ns(&job->request);
		return;
	}
	if (is_to_wait(cache, &job->until_ns, hp_clock_raw_ns())) {
		job->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	if (snapshot->has_report) {
		answer = route->end(snapshot, &job->request, job->begun);
	} else {
		free(job->begun);
		answer = hp_cache_no_target();
	}
	answers_forget(cache);
	pthread_mutex_lock(&cache->lock);
	job_remove(cache, job);
	pthread_mutex_unlock(&cache->lock);
	job->client.done(job->client.context, answer);
	free(job);
}

static void snapshot_do(struct hp_cache *cache)
{
	struct hp_cpu_snapshot *capture = &cache->snapshot.cpu_snapshot;

	refresh(cache, 0);
	if (is_to_wait(cache, &cache->snapshot_until_ns, hp_clock_raw_ns())) {
		capture->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	cache->snapshot_until_ns = 0;
	if (hp_cpu_snapshot_take(&cache->snapshot))
		answers_forget(cache);
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
static uint64_t due_of(const struct hp_cache *cache, uint64_t now)
{
	const struct hp_snapshot *snapshot = &cache->snapshot;
	uint64_t due = UINT64_MAX;

	if (hp_target_is_live(&snapshot->target) && !cache->is_lost &&
	    hp_cache_entries_has_regular(&cache->entries, now))
		earlier(&due, snapshot->taken_ns + refresh_interval(snapshot));
	for (const struct hp_job *job = cache->jobs; job; job = job->next)
		due = job->due_ns < due ? job->due_ns : due;
	earlier(&due, snapshot->cpu_snapshot.due_ns);
	for (const struct hp_cache_entry *entry = cache->entries.first; entry; entry = entry->next)
		if (entry->clients)
			earlier(&due, entry->retry_ns);
	if (snapshot->has_report && hp_target_is_live(&snapshot->target))
		earlier(&due, cache->asked_ns + REPORT_IDLE_NS);
	return due;
}

static void sleep_until(struct hp_cache *cache, uint64_t due, uint64_t now)
{
	struct timespec at;

	if (due == UINT64_MAX) {
		pthread_cond_wait(&cache->wake, &cache->lock);
		return;
	}
	/* The condition uses MONOTONIC; only the difference counts. */
	clock_gettime(CLOCK_MONOTONIC, &at);
	due = due > now ? due - now : 0;
	at.tv_sec += (time_t)(due / 1000000000);
	at.tv_nsec += (long)(due % 1000000000);
	if (at.tv_nsec >= 1000000000)
		at.tv_sec++, at.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&cache->wake, &cache->lock, &at);
}

static void memory_drop(struct hp_snapshot *snapshot)
{
	hp_snapshot_drop(snapshot);
	hp_json_room_release();
	malloc_trim(0);
}

/* Tasks that are due besides waiting requests. Called and returns with the lock held. */
static void do_due(struct hp_cache *cache, uint64_t now)
{
	struct hp_snapshot *snapshot = &cache->snapshot;
	struct hp_request request;
	struct hp_job *job = job_due(cache, now);
	bool is_hot = hp_cache_entries_has_regular(&cache->entries, now);
	bool is_idle = now >= cache->asked_ns + REPORT_IDLE_NS && !cache->jobs;

	pthread_mutex_unlock(&cache->lock);
	if (job)
		job_do(cache, job);
	else if (snapshot->cpu_snapshot.due_ns && now >= snapshot->cpu_snapshot.due_ns)
		snapshot_do(cache);
	else if (is_hot)
		refresh(cache, 0);
	else if (is_idle)
		memory_drop(snapshot);
	pthread_mutex_lock(&cache->lock);
	while (is_hot && entry_next(cache, true, &request)) {
		pthread_mutex_unlock(&cache->lock);
		entry_fill(cache, &request);
		pthread_mutex_lock(&cache->lock);
	}
}

void *hp_cache_work(void *argument)
{
	struct hp_cache *cache = argument;
	struct hp_request request;

	pthread_mutex_lock(&cache->lock);
	while (!cache->is_over) {
		uint64_t now = hp_clock_raw_ns(), due;

		if (entry_next(cache, false, &request)) {
			bool is_retry =
				hp_cache_entry_find(&cache->entries, &request)->retry_ns != 0;

			if (!retry_settle(cache, &request))
				continue;
			pthread_mutex_unlock(&cache->lock);
			refresh(cache, is_retry ? 0 : YOUNG_NS);
			entry_fill(cache, &request);
			pthread_mutex_lock(&cache->lock);
			continue;
		}
		due = due_of(cache, now);
		if (due <= now)
			do_due(cache, now);
		else
			sleep_until(cache, due, now);
	}
	pthread_mutex_unlock(&cache->lock);
	hp_json_room_release();
	return NULL;
}
