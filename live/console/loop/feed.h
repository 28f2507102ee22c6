/* SPDX-License-Identifier: MIT */
/*
 * feed.h - answers for the screen, fetched in a thread of their own, so that no
 * slow source ever holds up a key.
 *
 *   screen's thread    hp_feed_wish: what is visible now; hp_feed_do: once
 *   feed's thread      asks the origin for each wish, once an interval
 *   screen's thread    is woken by hp_feed_fd, and takes the news
 */
#ifndef HP_LIVE_CONSOLE_LOOP_FEED_H
#define HP_LIVE_CONSOLE_LOOP_FEED_H

#include <stdint.h>

#include "live/console/loop/origin.h"

struct hp_feed;

/* Takes over the origin and starts the thread, which hears no signals.  NULL = there is no thread. */
struct hp_feed *hp_feed_new(struct hp_origin *origin, uint32_t interval_ms);

/* Readable when there is news. */
int hp_feed_fd(const struct hp_feed *feed);

/* From now on these paths, in this order, and nothing else. */
void hp_feed_wish(struct hp_feed *feed, const char paths[][HP_FEED_PATH], size_t count);

/* Once, before all else.  One at a time: false = another one is under way. */
bool hp_feed_do(struct hp_feed *feed, const char *method, const char *path);

void hp_feed_pause(struct hp_feed *feed, bool is_paused);

/* The news, the oldest first, each to be freed; NULL = none. */
struct hp_news *hp_feed_take(struct hp_feed *feed);

#endif
