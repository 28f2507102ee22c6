/* SPDX-License-Identifier: MIT */
/*
 * feed.h - fetches answers for the screen in its own thread, so that a slow
 * source never delays a key.
 *
 *   screen's thread    hp_feed_wish: the visible items; hp_feed_do: once
 *   feed's thread      asks the origin for each wish, once per interval
 *   screen's thread    is woken by hp_feed_fd, and takes the news
 */
#ifndef HP_LIVE_CONSOLE_LOOP_FEED_H
#define HP_LIVE_CONSOLE_LOOP_FEED_H

#include <stdint.h>

#include "live/console/loop/origin.h"

struct hp_feed;

/* Takes over the origin and starts the thread, which blocks all signals. NULL = no thread. */
struct hp_feed *hp_feed_new(struct hp_origin *origin, uint32_t interval_ms);

/* Readable when news has arrived. */
int hp_feed_fd(const struct hp_feed *feed);

/* Sets the paths to fetch, in this order, replacing earlier ones. */
void hp_feed_wish(struct hp_feed *feed, const char paths[][HP_FEED_PATH], size_t count);

/* Fetches once, before anything else. One at a time: false = another one is in progress. */
bool hp_feed_do(struct hp_feed *feed, const char *method, const char *path);

void hp_feed_pause(struct hp_feed *feed, bool is_paused);

/* The news, oldest first; the caller frees each. NULL = none. */
struct hp_news *hp_feed_take(struct hp_feed *feed);

#endif
