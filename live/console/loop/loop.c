/* SPDX-License-Identifier: MIT */
/*
 * loop.c - see loop.h.
 */
#include "live/console/loop/loop.h"

#include "live/console/draw/draw.h"
#include "live/console/loop/keys.h"
#include "live/console/loop/save.h"

static void wish(struct hp_app *app, struct hp_feed *feed)
{
	char paths[HP_FEED_WISHES][HP_FEED_PATH];
	size_t count = hp_app_wish(app, paths);

	hp_feed_wish(feed, (const char(*)[HP_FEED_PATH])paths, count);
}

/* Executes a key's request. */
static void asked_hand_on(struct hp_app *app, struct hp_feed *feed)
{
	struct hp_asked asked = app->asked;
	bool is_taken;

	if (!*asked.path)
		return;
	app->asked.path[0] = 0;
	is_taken = hp_feed_do(feed, asked.method, asked.path);
	if (asked.is_to_save)
		app->wants_save = is_taken;
	if (asked.said && is_taken)
		hp_app_say(app, "%s", asked.said);
}

static void press(struct hp_app *app, struct hp_feed *feed, const struct hp_press *press)
{
	bool was_paused = app->is_paused;

	hp_app_press(app, press);
	asked_hand_on(app, feed);
	if (app->is_paused != was_paused)
		hp_feed_pause(feed, app->is_paused);
}

static void hear(struct hp_app *app, struct hp_feed *feed)
{
	hp_app_hear(app, hp_feed_take(feed));
	if (!app->to_save)
		return;
	hp_app_save(app, &app->to_save->heard);
	hp_news_free(app->to_save);
	app->to_save = NULL;
}

int hp_loop_run(struct hp_app *app, struct hp_feed *feed)
{
	struct hp_press next;
	int ended = 0;

	while (!app->is_over && !ended) {
		wish(app, feed);
		hp_app_draw(app);
		ended = hp_screen_wait(hp_feed_fd(feed), 1000);
		while (!ended && !app->is_over && hp_screen_press(&next))
			press(app, feed, &next);
		hear(app, feed);
	}
	return ended;
}
