/* SPDX-License-Identifier: MIT */
/*
 * picture.c - see picture.h: life cycle and requests.
 */
#include "live/cache/picture.h"

#include <stdlib.h>
#include <string.h>

#include "live/answer/json_room.h"
#include "live/cache/picture_part.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define MS UINT64_C(1000000)
#define OLD_NS (1000 * MS)	/* maximum age of an answer */
#define NAMES_NS (250 * MS)	/* limit of waiting for names */
#define JOBS_MAX 16	/* concurrent timed requests */

/* --- its life --- */

struct hp_picture *hp_picture_new(const struct hp_target *target,
				  const struct hp_settings *settings,
				  const struct hp_routes *routes)
{
	struct hp_picture *picture = hp_xcalloc(1, sizeof(*picture));
	pthread_condattr_t attributes;

	hp_json_room_init();
	hp_snapshot_init(&picture->snapshot, target, settings, routes);
	pthread_mutex_init(&picture->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&picture->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	picture->asked_ns = hp_clock_raw_ns();
	if (pthread_create(&picture->worker, NULL, hp_picture_work, picture) == 0)
		return picture;
	hp_snapshot_release(&picture->snapshot);
	free(picture);
	return NULL;
}

static void leave_alone(struct hp_client *clients)
{
	struct hp_answer *answer = clients ? hp_picture_no_target() : NULL;

	hp_clients_call(clients, answer);
	hp_answer_drop(answer);
}

void hp_picture_free(struct hp_picture *picture)
{
	if (!picture)
		return;
	pthread_mutex_lock(&picture->lock);
	picture->is_over = true;
	pthread_cond_signal(&picture->wake);
	pthread_mutex_unlock(&picture->lock);
	pthread_join(picture->worker, NULL);
	for (struct hp_client *clients; hp_slots_pop(&picture->slots, &clients);)
		leave_alone(clients);
	while (picture->jobs) {
		struct hp_job *job = picture->jobs;

		picture->jobs = job->next;
		free(job->begun);
		job->client.done(job->client.context, hp_picture_no_target());
		free(job);
	}
	hp_snapshot_release(&picture->snapshot);
	pthread_cond_destroy(&picture->wake);
	pthread_mutex_destroy(&picture->lock);
	free(picture);
}

/* --- questions --- */

const struct hp_routes *hp_picture_routes(const struct hp_picture *picture)
{
	return picture->snapshot.routes;
}

struct hp_answer *hp_picture_peek(struct hp_picture *picture, const struct hp_request *request)
{
	uint64_t now = hp_clock_raw_ns();
	struct hp_answer *answer = NULL;
	struct hp_slot *slot;

	if (!request->route->render)
		return NULL;
	pthread_mutex_lock(&picture->lock);
	slot = hp_slot_find(&picture->slots, request);
	if (slot && slot->answer &&
	    (!slot->answer->taken_ns || now - slot->answer->taken_ns < OLD_NS)) {
		bool was_hot = hp_slot_is_regular(slot, now);

		answer = hp_answer_hold(slot->answer);
		hp_slot_touch(slot, now);
		picture->asked_ns = now;
		if (!was_hot)	/* the worker may be sleeping without a timeout */
			pthread_cond_signal(&picture->wake);
	}
	pthread_mutex_unlock(&picture->lock);
	return answer;
}

/* Clients that refresh every second get the names a second later. */
static uint64_t patience_of(const struct hp_request *request)
{
	const char *path = request->route->path;

	return request->is_once || strcmp(path, "/report") == 0 ||
			       strncmp(path, "/debug/pprof/", 13) == 0
		       ? HP_NAMES_WHOLE_NS
		       : NAMES_NS;
}

static void job_ask(struct hp_picture *picture, const struct hp_request *request,
		    hp_picture_done done, void *context)
{
	struct hp_job *job = NULL;

	pthread_mutex_lock(&picture->lock);
	picture->asked_ns = hp_clock_raw_ns();
	if (picture->job_count < JOBS_MAX) {
		job = hp_xcalloc(1, sizeof(*job));
		job->request = *request;
		job->client = (struct hp_client){ .done = done, .context = context };
		job->next = picture->jobs;
		picture->jobs = job;
		picture->job_count++;
		pthread_cond_signal(&picture->wake);
	}
	pthread_mutex_unlock(&picture->lock);
	if (!job)
		done(context, hp_answer_error(409, "retry when one of them has ended",
					      "%d profiles are already being taken", JOBS_MAX));
}

void hp_picture_ask(struct hp_picture *picture, const struct hp_request *request,
		    hp_picture_done done, void *context)
{
	struct hp_slot *slot;

	if (!request->route->render) {
		job_ask(picture, request, done, context);
		return;
	}
	pthread_mutex_lock(&picture->lock);
	picture->asked_ns = hp_clock_raw_ns();
	slot = hp_slot_make(&picture->slots, request);
	hp_slot_touch(slot, picture->asked_ns);
	hp_slot_wait(slot,
		     &(struct hp_client){ .done = done,
					  .context = context,
					  .until_ns = picture->asked_ns + patience_of(request) });
	pthread_cond_signal(&picture->wake);
	pthread_mutex_unlock(&picture->lock);
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

struct hp_answer *hp_picture_get(struct hp_picture *picture, const char *method, const char *path)
{
	struct pause pause = { .answer = NULL };
	const char *mark = strchr(path, '?'), *allowed;
	char *plain = mark ? hp_xprintf("%.*s", (int)(mark - path), path) : hp_xstrdup(path);
	struct hp_question question = { method, plain, mark ? mark + 1 : NULL };
	struct hp_request request;
	struct hp_answer *answer =
		hp_route_find(hp_picture_routes(picture), &question, &request, &allowed);

	free(plain);
	if (answer)
		return answer;
	request.is_once = true;
	answer = hp_picture_peek(picture, &request);
	if (answer)
		return answer;
	pthread_mutex_init(&pause.lock, NULL);
	pthread_cond_init(&pause.wake, NULL);
	hp_picture_ask(picture, &request, pause_end, &pause);
	pthread_mutex_lock(&pause.lock);
	while (!pause.answer)
		pthread_cond_wait(&pause.wake, &pause.lock);
	pthread_mutex_unlock(&pause.lock);
	pthread_cond_destroy(&pause.wake);
	pthread_mutex_destroy(&pause.lock);
	return pause.answer;
}
