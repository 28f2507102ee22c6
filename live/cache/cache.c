/* SPDX-License-Identifier: MIT */
/*
 * cache.c - see cache.h: life cycle and requests.
 */
#include "live/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "live/answer/json_room.h"
#include "live/cache/cache_part.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define MS UINT64_C(1000000)
#define OLD_NS (1000 * MS)	/* maximum age of an answer */
#define NAMES_NS (250 * MS)	/* limit of waiting for names */
#define JOBS_MAX 16	/* concurrent timed requests */

/* --- its life --- */

struct hp_cache *hp_cache_new(const struct hp_target *target, const struct hp_settings *settings,
			      const struct hp_routes *routes)
{
	struct hp_cache *cache = hp_xcalloc(1, sizeof(*cache));
	pthread_condattr_t attributes;

	hp_json_room_init();
	hp_snapshot_init(&cache->snapshot, target, settings, routes);
	pthread_mutex_init(&cache->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&cache->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	cache->asked_ns = hp_clock_raw_ns();
	if (pthread_create(&cache->worker, NULL, hp_cache_work, cache) == 0)
		return cache;
	hp_snapshot_release(&cache->snapshot);
	free(cache);
	return NULL;
}

static void leave_alone(struct hp_client *clients)
{
	struct hp_answer *answer = clients ? hp_cache_no_target() : NULL;

	hp_clients_call(clients, answer);
	hp_answer_drop(answer);
}

void hp_cache_free(struct hp_cache *cache)
{
	if (!cache)
		return;
	pthread_mutex_lock(&cache->lock);
	cache->is_over = true;
	pthread_cond_signal(&cache->wake);
	pthread_mutex_unlock(&cache->lock);
	pthread_join(cache->worker, NULL);
	for (struct hp_client *clients; hp_cache_entries_pop(&cache->entries, &clients);)
		leave_alone(clients);
	while (cache->jobs) {
		struct hp_job *job = cache->jobs;

		cache->jobs = job->next;
		free(job->begun);
		job->client.done(job->client.context, hp_cache_no_target());
		free(job);
	}
	hp_snapshot_release(&cache->snapshot);
	pthread_cond_destroy(&cache->wake);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* --- questions --- */

const struct hp_routes *hp_cache_routes(const struct hp_cache *cache)
{
	return cache->snapshot.routes;
}

struct hp_answer *hp_cache_peek(struct hp_cache *cache, const struct hp_request *request)
{
	uint64_t now = hp_clock_raw_ns();
	struct hp_answer *answer = NULL;
	struct hp_cache_entry *entry;

	if (!request->route->render)
		return NULL;
	pthread_mutex_lock(&cache->lock);
	entry = hp_cache_entry_find(&cache->entries, request);
	if (entry && entry->answer &&
	    (!entry->answer->taken_ns || now - entry->answer->taken_ns < OLD_NS)) {
		bool was_hot = hp_cache_entry_is_regular(entry, now);

		answer = hp_answer_hold(entry->answer);
		hp_cache_entry_touch(entry, now);
		cache->asked_ns = now;
		if (!was_hot)	/* the worker may be sleeping without a timeout */
			pthread_cond_signal(&cache->wake);
	}
	pthread_mutex_unlock(&cache->lock);
	return answer;
}

/*
 * Clients that refresh every second get the names a second later. Findings are sentences with names:
 * "lock teller" for a lock whose name has not arrived would be wrong.
 */
static uint64_t patience_of(const struct hp_request *request)
{
	const char *path = request->route->path;

	return request->is_once || strcmp(path, "/report") == 0 || strcmp(path, "/findings") == 0 ||
			       strncmp(path, "/debug/pprof/", 13) == 0
		       ? HP_NAMES_WHOLE_NS
		       : NAMES_NS;
}

static void job_ask(struct hp_cache *cache, const struct hp_request *request, hp_cache_done done,
		    void *context)
{
	struct hp_job *job = NULL;

	pthread_mutex_lock(&cache->lock);
	cache->asked_ns = hp_clock_raw_ns();
	if (cache->job_count < JOBS_MAX) {
		job = hp_xcalloc(1, sizeof(*job));
		job->request = *request;
		job->client = (struct hp_client){ .done = done, .context = context };
		job->next = cache->jobs;
		cache->jobs = job;
		cache->job_count++;
		pthread_cond_signal(&cache->wake);
	}
	pthread_mutex_unlock(&cache->lock);
	if (!job)
		done(context, hp_answer_error(409, "retry when one of them has ended",
					      "%d profiles are already being taken", JOBS_MAX));
}

void hp_cache_ask(struct hp_cache *cache, const struct hp_request *request, hp_cache_done done,
		  void *context)
{
	struct hp_cache_entry *entry;

	if (!request->route->render) {
		job_ask(cache, request, done, context);
		return;
	}
	pthread_mutex_lock(&cache->lock);
	cache->asked_ns = hp_clock_raw_ns();
	entry = hp_cache_entry_make(&cache->entries, request);
	hp_cache_entry_touch(entry, cache->asked_ns);
	hp_cache_entry_wait(
		entry, &(struct hp_client){ .done = done,
					    .context = context,
					    .until_ns = cache->asked_ns + patience_of(request) });
	pthread_cond_signal(&cache->wake);
	pthread_mutex_unlock(&cache->lock);
}

struct pause {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct hp_answer *answer;
};

static void pause_end(void *context, struct hp_answer *answer)
{
	struct pause *pause = context;

	pthread_mutex_lock(&pause->lock);
	pause->answer = answer;
	pthread_cond_signal(&pause->wake);
	pthread_mutex_unlock(&pause->lock);
}

struct hp_answer *hp_cache_get(struct hp_cache *cache, const char *method, const char *path)
{
	struct pause pause = { .answer = NULL };
	const char *mark = strchr(path, '?'), *allowed;
	char *plain = mark ? hp_xprintf("%.*s", (int)(mark - path), path) : hp_xstrdup(path);
	struct hp_question question = { method, plain, mark ? mark + 1 : NULL };
	struct hp_request request;
	struct hp_answer *answer =
		hp_route_find(hp_cache_routes(cache), &question, &request, &allowed);

	free(plain);
	if (answer)
		return answer;
	request.is_once = true;
	answer = hp_cache_peek(cache, &request);
	if (answer)
		return answer;
	pthread_mutex_init(&pause.lock, NULL);
	pthread_cond_init(&pause.wake, NULL);
	hp_cache_ask(cache, &request, pause_end, &pause);
	pthread_mutex_lock(&pause.lock);
	while (!pause.answer)
		pthread_cond_wait(&pause.wake, &pause.lock);
	pthread_mutex_unlock(&pause.lock);
	pthread_cond_destroy(&pause.wake);
	pthread_mutex_destroy(&pause.lock);
	return pause.answer;
}

void hp_cache_stop(struct hp_cache *cache)
{
	hp_target_stop(&cache->snapshot.target);
}
