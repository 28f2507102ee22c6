/* SPDX-License-Identifier: MIT */
/*
 * feed.c - see feed.h.
 *
 * The thread is never joined: the process ends even if the thread waits for a
 * silent server.
 */
#include "live/console/loop/feed.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "segment/clock.h"

#define MS UINT64_C(1000000)
#define LONGEST_NS (3600000 * MS)
#define VALUES_MAX 3000000	/* of an answer; cJSON takes 64 bytes for each */

struct feed_task {
	char method[8];
	char path[HP_FEED_PATH];	/* "" = none */
};

struct hp_feed {
	struct hp_origin *origin;
	uint64_t interval_ns;
	int event;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	char wishes[HP_FEED_WISHES][HP_FEED_PATH];
	size_t wish_count;
	uint32_t turn;	/* how often the wishes changed */
	struct feed_task task;
	bool is_paused;
	struct hp_news *first;
	struct hp_news **last;
};

/* --- the thread --- */

static bool is_answer(const struct hp_heard *heard)
{
	return heard->phase == HP_PHASE_FINE || heard->phase == HP_PHASE_OVER;
}

/*
 * 64 MB of JSON may be 32 million numbers, which would take 2 GB. Text has separators, too, but
 * our answers are far from the limit.
 */
static bool has_too_many_values(const struct hp_heard *heard)
{
	size_t count = 0;

	for (size_t i = 0; i < heard->size; i++)
		count += heard->body[i] == ',' || heard->body[i] == '[' || heard->body[i] == '{';
	return count > VALUES_MAX;
}

/* A body that is not JSON counts as a failure. */
static void understand(struct hp_news *news)
{
	struct hp_heard *heard = &news->heard;
	bool is_too_large = heard->body && has_too_many_values(heard);

	if (heard->body && !is_too_large)
		news->json = cJSON_ParseWithLength(heard->body, heard->size);
	if (is_too_large)
		hp_heard_say(heard, HP_PHASE_FAILS,
			     "is this the port of a profiled program? hotpath list shows them",
			     "The answer to %s has more than %d values", news->path, VALUES_MAX);
	else if (!news->json && is_answer(heard) && heard->status)
		hp_heard_say(heard, HP_PHASE_FAILS,
			     "is this the port of a profiled program? hotpath list shows them",
			     "The answer to %s is not JSON", news->path);
	if (!news->is_once) {
		free(heard->body);
		heard->body = NULL;
	}
}

static void publish(struct hp_feed *feed, struct hp_news *news)
{
	uint64_t one = 1;

	pthread_mutex_lock(&feed->lock);
	*feed->last = news;
	feed->last = &news->next;
	pthread_mutex_unlock(&feed->lock);
	while (write(feed->event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void fetch(struct hp_feed *feed, const char *method, const char *path, bool is_once)
{
	struct hp_news *news = hp_xcalloc(1, sizeof(*news));

	snprintf(news->path, sizeof(news->path), "%s", path);
	news->is_once = is_once;
	if (strncmp(path, HP_VIEWER_PATH, strlen(HP_VIEWER_PATH)) == 0)
		hp_viewer_open(path + strlen(HP_VIEWER_PATH), &news->heard);
	else
		feed->origin->ask(feed->origin, method, path, &news->heard);
	news->at_ns = hp_clock_raw_ns();
	understand(news);
	publish(feed, news);
}

/* Called and returns with the lock held. */
static void task_do(struct hp_feed *feed)
{
	struct feed_task task = feed->task;

	pthread_mutex_unlock(&feed->lock);
	fetch(feed, task.method, task.path, true);
	pthread_mutex_lock(&feed->lock);
	feed->task.path[0] = 0;
}

/*
 * The wishes as they are now. Called and returns with the lock held. False =
 * they changed meanwhile.
 */
static bool round_do(struct hp_feed *feed)
{
	uint32_t turn = feed->turn;

	for (size_t i = 0; i < feed->wish_count && feed->turn == turn && !feed->task.path[0]; i++) {
		char path[HP_FEED_PATH];

		memcpy(path, feed->wishes[i], sizeof(path));
		pthread_mutex_unlock(&feed->lock);
		fetch(feed, "GET", path, false);
		pthread_mutex_lock(&feed->lock);
	}
	return feed->turn == turn;
}

static void sleep_until(struct hp_feed *feed, uint64_t due)
{
	uint64_t now = hp_clock_raw_ns(), left = due > now ? due - now : 0;
	struct timespec at;

	left = left < LONGEST_NS ? left : LONGEST_NS;
	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += (time_t)(left / 1000000000);
	at.tv_nsec += (long)(left % 1000000000);
	if (at.tv_nsec >= 1000000000)
		at.tv_sec++, at.tv_nsec -= 1000000000;
	pthread_cond_timedwait(&feed->wake, &feed->lock, &at);
}

static void *work(void *argument)
{
	struct hp_feed *feed = argument;
	uint64_t due = 0;

	pthread_mutex_lock(&feed->lock);
	for (;;) {
		uint32_t turn = feed->turn;

		if (feed->task.path[0]) {
			task_do(feed);
			due = 0;
		}
		if (!feed->is_paused && hp_clock_raw_ns() >= due) {
			due = hp_clock_raw_ns() + feed->interval_ns;
			if (!round_do(feed))
				due = 0;
			continue;
		}
		while (feed->turn == turn && !feed->task.path[0] &&
		       (feed->is_paused || hp_clock_raw_ns() < due))
			sleep_until(feed, feed->is_paused ? UINT64_MAX / 2 : due);
		if (feed->turn != turn)
			due = 0;
	}
	return NULL;
}

/* --- its life --- */

static bool thread_start(struct hp_feed *feed)
{
	sigset_t all, before;
	pthread_t thread;
	bool is_started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = pthread_create(&thread, NULL, work, feed) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (is_started)
		pthread_detach(thread);
	return is_started;
}

struct hp_feed *hp_feed_new(struct hp_origin *origin, uint32_t interval_ms)
{
	struct hp_feed *feed = hp_xcalloc(1, sizeof(*feed));
	pthread_condattr_t attributes;

	feed->origin = origin;
	feed->interval_ns = interval_ms * MS;
	feed->last = &feed->first;
	feed->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&feed->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&feed->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	if (feed->event >= 0 && thread_start(feed))
		return feed;
	free(feed);
	return NULL;
}

int hp_feed_fd(const struct hp_feed *feed)
{
	return feed->event;
}

void hp_feed_wish(struct hp_feed *feed, const char paths[][HP_FEED_PATH], size_t count)
{
	bool is_new;

	pthread_mutex_lock(&feed->lock);
	is_new = count != feed->wish_count;
	for (size_t i = 0; i < count && !is_new; i++)
		is_new = strcmp(paths[i], feed->wishes[i]) != 0;
	if (is_new) {
		memcpy(feed->wishes, paths, count * sizeof(paths[0]));
		feed->wish_count = count;
		feed->turn++;
		/* Relaxed: the origin only checks whether to continue. */
		atomic_fetch_add_explicit(&feed->origin->turn, 1, memory_order_relaxed);
		pthread_cond_signal(&feed->wake);
	}
	pthread_mutex_unlock(&feed->lock);
}

bool hp_feed_do(struct hp_feed *feed, const char *method, const char *path)
{
	bool is_free;

	pthread_mutex_lock(&feed->lock);
	is_free = !feed->task.path[0];
	if (is_free) {
		snprintf(feed->task.method, sizeof(feed->task.method), "%s", method);
		snprintf(feed->task.path, sizeof(feed->task.path), "%s", path);
		pthread_cond_signal(&feed->wake);
	}
	pthread_mutex_unlock(&feed->lock);
	return is_free;
}

void hp_feed_pause(struct hp_feed *feed, bool is_paused)
{
	pthread_mutex_lock(&feed->lock);
	feed->is_paused = is_paused;
	feed->turn++;
	pthread_cond_signal(&feed->wake);
	pthread_mutex_unlock(&feed->lock);
}

struct hp_news *hp_feed_take(struct hp_feed *feed)
{
	struct hp_news *news;
	uint64_t count;

	while (read(feed->event, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&feed->lock);
	news = feed->first;
	feed->first = NULL;
	feed->last = &feed->first;
	pthread_mutex_unlock(&feed->lock);
	return news;
}
