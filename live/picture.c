/* SPDX-License-Identifier: MIT */
/*
 * picture.c - see picture.h.
 *
 * A slot is a question that was asked lately, with its answer.  The worker alone
 * touches the scene; all else is under the lock, which nobody holds while
 * something is read or made.
 */
#include "live/picture.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/cpu.h"
#include "report/memory.h"
#include "report/resolver.h"
#include "segment/clock.h"

#define MS UINT64_C(1000000)
#define OLD_NS (1000 * MS)	/* answers older than this are not given */
#define YOUNG_NS (200 * MS)	/* a look younger than this does for a new question */
#define HOT_NS (2500 * MS)	/* a question asked twice within this is asked regularly */
#define LOOK_LEAST_NS (700 * MS)	/* between looks, as long as somebody asks */
#define LOOK_MOST_NS (950 * MS)
#define LOOK_SHARE 25	/* a look may take one part in so many of the time */
#define SLOTS_MOST 256
#define JOBS_MOST 16	/* that take their time, at once */
#define RETRY_NS (20 * MS)	/* between looks whether names have come */
#define NAMES_NS (250 * MS)	/* so long an answer waits for names */
#define NAMES_WHOLE_NS \
	(3000 * MS)	/* the same for what is read once, and not again a second later */
#define REPORT_IDLE_NS (10000 * MS)	/* the report's memory goes when nobody asked for so long */

struct waiter {
	struct waiter *next;
	hp_picture_done done;
	void *context;
	uint64_t until_ns;	/* so long it would rather wait for names */
};

struct slot {
	struct slot *next;
	struct hp_request request;
	struct hp_answer *answer;	/* NULL = none yet */
	struct waiter *waiters;
	uint64_t asked_ns;
	uint64_t wanted_ns;	/* since when its waiters wait */
	uint64_t retry_ns;	/* not made again for them before, since names were missing; 0 = they were not */
	bool is_hot;	/* asked again, soon after */
};

/* A question that takes its time. */
struct job {
	struct job *next;
	struct hp_request request;
	struct waiter waiter;
	uint64_t due_ns;	/* 0 = has not begun */
	uint64_t until_ns;	/* so long it waits for names; 0 = does not yet */
	void *begun;
};

struct hp_picture {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t worker;
	bool is_over;
	struct slot *slots;
	size_t slot_count;
	struct job *jobs;
	size_t job_count;
	uint64_t asked_ns;
	struct hp_scene scene;	/* the worker's */
	uint64_t snapshot_until_ns;	/* the worker's: so long a snapshot waits for names; 0 = does not */
	bool is_lost;	/* the worker's: nothing can be read any more */
};

/* --- slots --- */

static bool is_same(const struct hp_request *a, const struct hp_request *b)
{
	return a->route == b->route && a->id == b->id && a->is_openmetrics == b->is_openmetrics &&
	       strcmp(a->query, b->query) == 0;
}

static struct slot *slot_find(struct hp_picture *picture, const struct hp_request *request)
{
	struct slot *slot = picture->slots;

	while (slot && !is_same(&slot->request, request))
		slot = slot->next;
	return slot;
}

static void slot_free(struct slot *slot)
{
	hp_answer_drop(slot->answer);
	free(slot);
}

/* Of those that nobody waits for the one that was asked longest ago goes. */
static void slot_evict(struct hp_picture *picture)
{
	struct slot **oldest = NULL, *slot;

	for (struct slot **at = &picture->slots; *at; at = &(*at)->next)
		if (!(*at)->waiters && (!oldest || (*at)->asked_ns < (*oldest)->asked_ns))
			oldest = at;
	if (!oldest)
		return;
	slot = *oldest;
	*oldest = slot->next;
	picture->slot_count--;
	slot_free(slot);
}

static struct slot *slot_make(struct hp_picture *picture, const struct hp_request *request)
{
	struct slot *slot = slot_find(picture, request);

	if (slot)
		return slot;
	if (picture->slot_count >= SLOTS_MOST)
		slot_evict(picture);
	slot = hp_xcalloc(1, sizeof(*slot));
	slot->request = *request;
	slot->next = picture->slots;
	picture->slots = slot;
	picture->slot_count++;
	return slot;
}

static void slot_touch(struct hp_picture *picture, struct slot *slot, uint64_t now)
{
	slot->is_hot = slot->asked_ns && now - slot->asked_ns < HOT_NS;
	slot->asked_ns = picture->asked_ns = now;
}

static bool is_asked_regularly(const struct slot *slot, uint64_t now)
{
	return slot->is_hot && now - slot->asked_ns < HOT_NS;
}

/* --- making answers: the worker, without the lock --- */

static struct hp_answer *no_target(void)
{
	return hp_answer_error(500, "the program or its helper process may just have ended",
			       "The segment cannot be read");
}

static struct hp_answer *render(struct hp_picture *picture, const struct hp_request *request)
{
	struct hp_answer *answer;

	if (!picture->scene.has_report)
		return no_target();
	answer = request->route->render(&picture->scene, request);
	if (hp_target_is_live(&picture->scene.target))
		answer->taken_ns = picture->scene.taken_ns;
	return answer;
}

/* A look that is younger than `most_ns`.  A run that is over is looked at once. */
static void look(struct hp_picture *picture, uint64_t most_ns)
{
	struct hp_scene *scene = &picture->scene;
	bool is_live = hp_target_is_live(&scene->target);

	if (scene->has_report && (!is_live || hp_clock_raw_ns() - scene->taken_ns < most_ns))
		return;
	if (!picture->is_lost && !hp_scene_look(scene))
		picture->is_lost = true;
}

static void waiters_call(struct waiter *waiters, struct hp_answer *answer)
{
	while (waiters) {
		struct waiter *waiter = waiters;

		waiters = waiter->next;
		waiter->done(waiter->context, hp_answer_hold(answer));
		free(waiter);
	}
}

/* Takes those out that do not wait for names, or no longer. */
static struct waiter *waiters_take(struct slot *slot, uint64_t now, bool is_whole)
{
	struct waiter *taken = NULL;

	for (struct waiter **at = &slot->waiters, *waiter; (waiter = *at);) {
		if (!is_whole && waiter->until_ns > now) {
			at = &waiter->next;
			continue;
		}
		*at = waiter->next;
		waiter->next = taken;
		taken = waiter;
	}
	slot->retry_ns = slot->waiters ? now + RETRY_NS : 0;
	return taken;
}

/* Makes the slot's answer.  It may have gone meanwhile if nobody waits for it. */
static void slot_fill(struct hp_picture *picture, const struct hp_request *request)
{
	uint64_t missing = hp_scene_missing(&picture->scene);
	struct hp_answer *answer = render(picture, request);
	bool is_whole = hp_scene_missing(&picture->scene) == missing &&
			(!picture->scene.has_report || !picture->scene.missing);
	struct waiter *waiters = NULL;
	struct slot *slot;

	pthread_mutex_lock(&picture->lock);
	slot = slot_find(picture, request);
	if (slot) {
		hp_answer_drop(slot->answer);
		slot->answer = hp_answer_hold(answer);
		waiters = waiters_take(slot, hp_clock_raw_ns(), is_whole);
	}
	pthread_mutex_unlock(&picture->lock);
	waiters_call(waiters, answer);
	hp_answer_drop(answer);
}

/*
 * The slot that was waited for longest; else, if wished, one with an older answer
 * that is asked regularly.  In any other order one that is always asked again
 * could keep others waiting for good.
 */
static bool slot_next(struct hp_picture *picture, bool is_hot_too, struct hp_request *request)
{
	uint64_t now = hp_clock_raw_ns();
	const struct slot *waited = NULL, *due = NULL;

	for (const struct slot *slot = picture->slots; slot; slot = slot->next) {
		bool is_older = slot->answer && slot->answer->taken_ns != picture->scene.taken_ns;

		if (slot->waiters && slot->retry_ns <= now &&
		    (!waited || slot->wanted_ns < waited->wanted_ns))
			waited = slot;
		if (is_hot_too && is_older && is_asked_regularly(slot, now))
			due = slot;
	}
	if (waited || due)
		*request = waited ? waited->request : due->request;
	return waited || due;
}

static bool is_patience_over(const struct slot *slot, uint64_t now)
{
	for (const struct waiter *waiter = slot->waiters; waiter; waiter = waiter->next)
		if (waiter->until_ns <= now)
			return true;
	return false;
}

/*
 * Those who wait for names are not asked for again while these are looked for.
 * False = the slot is not to be made now.
 */
static bool retry_settle(struct hp_picture *picture, const struct hp_request *request)
{
	struct hp_resolver *resolver = picture->scene.target.input.record.resolver;
	struct slot *slot = slot_find(picture, request);
	uint64_t now = hp_clock_raw_ns();

	if (!slot->retry_ns || hp_resolver_is_idle(resolver) || is_patience_over(slot, now))
		return true;
	slot->retry_ns = now + RETRY_NS;
	return false;
}

/* --- jobs --- */

/* The names of all samples: what jobs tell.  False = they are still to come. */
static bool has_names(struct hp_picture *picture)
{
	struct hp_scene *scene = &picture->scene;
	uint64_t missing = hp_scene_missing(scene);

	if (scene->has_report)
		hp_report_cpu(&scene->report);
	return hp_scene_missing(scene) == missing && (!scene->has_report || !scene->missing);
}

static bool is_to_wait(struct hp_picture *picture, uint64_t *until_ns, uint64_t now)
{
	if (!*until_ns)
		*until_ns = now + NAMES_WHOLE_NS;
	return now < *until_ns && !has_names(picture);
}

static struct job *job_due(struct hp_picture *picture, uint64_t now)
{
	for (struct job *job = picture->jobs; job; job = job->next)
		if (job->due_ns <= now)
			return job;
	return NULL;
}

static void job_remove(struct hp_picture *picture, struct job *job)
{
	struct job **at = &picture->jobs;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	picture->job_count--;
}

/* What a job does may change what others show. */
static void answers_forget(struct hp_picture *picture)
{
	pthread_mutex_lock(&picture->lock);
	for (struct slot *slot = picture->slots; slot; slot = slot->next) {
		hp_answer_drop(slot->answer);
		slot->answer = NULL;
	}
	pthread_mutex_unlock(&picture->lock);
}

/* Called without the lock; the job is the worker's alone. */
static void job_do(struct hp_picture *picture, struct job *job)
{
	const struct hp_route *route = job->request.route;
	struct hp_scene *scene = &picture->scene;
	struct hp_answer *answer;

	look(picture, job->due_ns ? 0 : YOUNG_NS);
	if (!job->due_ns && scene->has_report && route->begin) {
		job->begun = route->begin(scene, &job->request);
		job->due_ns = hp_clock_raw_ns() + route->span_ns(&job->request);
		return;
	}
	if (is_to_wait(picture, &job->until_ns, hp_clock_raw_ns())) {
		job->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	if (!scene->has_report)
		answer = no_target();
	else
		answer = route->end(scene, &job->request, job->begun);
	answers_forget(picture);
	pthread_mutex_lock(&picture->lock);
	job_remove(picture, job);
	pthread_mutex_unlock(&picture->lock);
	job->waiter.done(job->waiter.context, answer);
	free(job);
}

static void snapshot_do(struct hp_picture *picture)
{
	struct hp_snapshot *snapshot = &picture->scene.snapshot;

	look(picture, 0);
	if (is_to_wait(picture, &picture->snapshot_until_ns, hp_clock_raw_ns())) {
		snapshot->due_ns = hp_clock_raw_ns() + RETRY_NS;
		return;
	}
	picture->snapshot_until_ns = 0;
	if (hp_snapshot_take(&picture->scene))
		answers_forget(picture);
}

/* --- the worker --- */

static uint64_t look_interval(const struct hp_scene *scene)
{
	uint64_t interval = LOOK_SHARE * scene->cost_ns;
	uint64_t most = scene->cost_ns < LOOK_MOST_NS / 2 ? LOOK_MOST_NS - scene->cost_ns
							  : LOOK_MOST_NS / 2;

	if (interval < LOOK_LEAST_NS)
		interval = LOOK_LEAST_NS;
	return interval < most ? interval : most;
}

static bool is_anything_hot(const struct hp_picture *picture, uint64_t now)
{
	for (const struct slot *slot = picture->slots; slot; slot = slot->next)
		if (is_asked_regularly(slot, now))
			return true;
	return false;
}

static void earlier(uint64_t *due, uint64_t other)
{
	if (other && other < *due)
		*due = other;
}

/* When there is something to do; UINT64_MAX = when somebody asks. */
static uint64_t due_of(const struct hp_picture *picture, uint64_t now)
{
	const struct hp_scene *scene = &picture->scene;
	uint64_t due = UINT64_MAX;

	if (hp_target_is_live(&scene->target) && !picture->is_lost && is_anything_hot(picture, now))
		earlier(&due, scene->taken_ns + look_interval(scene));
	for (const struct job *job = picture->jobs; job; job = job->next)
		due = job->due_ns < due ? job->due_ns : due;
	earlier(&due, scene->snapshot.due_ns);
	for (const struct slot *slot = picture->slots; slot; slot = slot->next)
		if (slot->waiters)
			earlier(&due, slot->retry_ns);
	if (scene->has_report && hp_target_is_live(&scene->target))
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
	/* The condition's clock is MONOTONIC; only the distance counts. */
	clock_gettime(CLOCK_MONOTONIC, &at);
	due = due > now ? due - now : 0;
	at.tv_sec += (time_t)(due / 1000000000);
	at.tv_nsec += (long)(due % 1000000000);
	if (at.tv_nsec >= 1000000000)
		at.tv_sec++, at.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&picture->wake, &picture->lock, &at);
}

static void memory_drop(struct hp_scene *scene)
{
	hp_scene_drop(scene);
	malloc_trim(0);
}

/* What is due besides what is waited for.  Entered and left with the lock. */
static void do_due(struct hp_picture *picture, uint64_t now)
{
	struct hp_scene *scene = &picture->scene;
	struct hp_request request;
	struct job *job = job_due(picture, now);
	bool is_hot = is_anything_hot(picture, now);
	bool is_idle = now >= picture->asked_ns + REPORT_IDLE_NS && !picture->jobs;

	pthread_mutex_unlock(&picture->lock);
	if (job)
		job_do(picture, job);
	else if (scene->snapshot.due_ns && now >= scene->snapshot.due_ns)
		snapshot_do(picture);
	else if (is_hot)
		look(picture, 0);
	else if (is_idle)
		memory_drop(scene);
	pthread_mutex_lock(&picture->lock);
	while (is_hot && slot_next(picture, true, &request)) {
		pthread_mutex_unlock(&picture->lock);
		slot_fill(picture, &request);
		pthread_mutex_lock(&picture->lock);
	}
}

static void *work(void *argument)
{
	struct hp_picture *picture = argument;
	struct hp_request request;

	pthread_mutex_lock(&picture->lock);
	while (!picture->is_over) {
		uint64_t now = hp_clock_raw_ns(), due;

		if (slot_next(picture, false, &request)) {
			bool is_retry = slot_find(picture, &request)->retry_ns != 0;

			if (!retry_settle(picture, &request))
				continue;
			pthread_mutex_unlock(&picture->lock);
			look(picture, is_retry ? 0 : YOUNG_NS);
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
	return NULL;
}

/* --- its life --- */

struct hp_picture *hp_picture_new(const struct hp_target *target,
				  const struct hp_settings *settings)
{
	struct hp_picture *picture = hp_xcalloc(1, sizeof(*picture));
	pthread_condattr_t attributes;

	hp_scene_init(&picture->scene, target, settings);
	pthread_mutex_init(&picture->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&picture->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	picture->asked_ns = hp_clock_raw_ns();
	if (pthread_create(&picture->worker, NULL, work, picture) == 0)
		return picture;
	hp_scene_release(&picture->scene);
	free(picture);
	return NULL;
}

static void leave_alone(struct waiter *waiters)
{
	struct hp_answer *answer = waiters ? no_target() : NULL;

	waiters_call(waiters, answer);
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
	while (picture->slots) {
		struct slot *slot = picture->slots;

		picture->slots = slot->next;
		leave_alone(slot->waiters);
		slot_free(slot);
	}
	while (picture->jobs) {
		struct job *job = picture->jobs;

		picture->jobs = job->next;
		free(job->begun);
		job->waiter.done(job->waiter.context, no_target());
		free(job);
	}
	hp_scene_release(&picture->scene);
	pthread_cond_destroy(&picture->wake);
	pthread_mutex_destroy(&picture->lock);
	free(picture);
}

/* --- questions --- */

struct hp_answer *hp_picture_peek(struct hp_picture *picture, const struct hp_request *request)
{
	uint64_t now = hp_clock_raw_ns();
	struct hp_answer *answer = NULL;
	struct slot *slot;

	if (!request->route->render)
		return NULL;
	pthread_mutex_lock(&picture->lock);
	slot = slot_find(picture, request);
	if (slot && slot->answer &&
	    (!slot->answer->taken_ns || now - slot->answer->taken_ns < OLD_NS)) {
		bool was_hot = is_asked_regularly(slot, now);

		answer = hp_answer_hold(slot->answer);
		slot_touch(picture, slot, now);
		if (!was_hot)	/* the worker may sleep for good */
			pthread_cond_signal(&picture->wake);
	}
	pthread_mutex_unlock(&picture->lock);
	return answer;
}

/* What is read by people or machines once a second has its names a second later. */
static uint64_t patience_of(const struct hp_request *request)
{
	const char *path = request->route->path;

	return request->is_once || strcmp(path, "/report") == 0 ||
			       strncmp(path, "/debug/pprof/", 13) == 0
		       ? NAMES_WHOLE_NS
		       : NAMES_NS;
}

static void job_ask(struct hp_picture *picture, const struct hp_request *request,
		    hp_picture_done done, void *context)
{
	struct job *job = NULL;

	pthread_mutex_lock(&picture->lock);
	picture->asked_ns = hp_clock_raw_ns();
	if (picture->job_count < JOBS_MOST) {
		job = hp_xcalloc(1, sizeof(*job));
		job->request = *request;
		job->waiter = (struct waiter){ .done = done, .context = context };
		job->next = picture->jobs;
		picture->jobs = job;
		picture->job_count++;
		pthread_cond_signal(&picture->wake);
	}
	pthread_mutex_unlock(&picture->lock);
	if (!job)
		done(context, hp_answer_error(409, "ask again when one of them has ended",
					      "%d profiles are being taken already", JOBS_MOST));
}

void hp_picture_ask(struct hp_picture *picture, const struct hp_request *request,
		    hp_picture_done done, void *context)
{
	struct waiter *waiter;
	struct slot *slot;

	if (!request->route->render) {
		job_ask(picture, request, done, context);
		return;
	}
	waiter = hp_xcalloc(1, sizeof(*waiter));
	*waiter = (struct waiter){ .done = done,
				   .context = context,
				   .until_ns = hp_clock_raw_ns() + patience_of(request) };
	pthread_mutex_lock(&picture->lock);
	slot = slot_make(picture, request);
	slot_touch(picture, slot, hp_clock_raw_ns());
	if (!slot->waiters)
		slot->wanted_ns = slot->asked_ns;
	waiter->next = slot->waiters;
	slot->waiters = waiter;
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
	struct hp_request request;
	struct hp_answer *answer;
	bool is_found =
		hp_route_find(method, plain, mark ? mark + 1 : NULL, &request, &answer, &allowed);

	free(plain);
	if (!is_found)
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

uint64_t hp_picture_asked_ns(struct hp_picture *picture)
{
	uint64_t asked;

	pthread_mutex_lock(&picture->lock);
	asked = picture->asked_ns;
	pthread_mutex_unlock(&picture->lock);
	return asked;
}
