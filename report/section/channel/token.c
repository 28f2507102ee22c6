/* SPDX-License-Identifier: MIT */
/*
 * token.c - semaphores with which one thread notifies another of work:
 * rows of channels besides those of pipes and queues.
 *
 * Their users distinguish them from locks: the thread that took a lock releases
 * it. Threads that used one record in succession count as one here, and so do
 * semaphores that share a row: in doubt it is not a channel.
 */
#include "report/section/channel/token.h"

#include "report/base/memory.h"

static bool is_token(const struct hp_lock_row *row)
{
	return row->kind == HP_LOCK_SEM && !row->is_both && row->sums[HP_SIDE_POST].count &&
	       row->sums[HP_SIDE_ONLY].count;
}

static struct hp_channel_row row_of(const struct hp_lock_row *lock)
{
	const struct hp_lock_sum *taken = &lock->sums[HP_SIDE_ONLY];
	struct hp_channel_row row = { .kind = HP_CHANNEL_TOKENS, .lock = lock };

	row.site = lock->site;
	if (lock->number == HP_LOCK_STATIC)
		row.site = (struct hp_lock_place){ .object = lock->at.object };
	row.unit = HP_LANE_MESSAGES;
	row.instances = lock->objects;
	row.sent_count = lock->sums[HP_SIDE_POST].count;
	row.received_count = taken->count;
	row.queue = row.sent_count > row.received_count ? row.sent_count - row.received_count : 0;
	row.most = row.queue;
	row.empty = taken->failed + taken->timeouts;
	row.starved.count = taken->contended;
	row.starved.ticks = (uint64_t)taken->wait_ticks;
	row.starved.most = taken->wait_most;
	return row;
}

void hp_channels_add_tokens(struct hp_channels *channels, const struct hp_locks *locks)
{
	size_t count = 0;

	for (size_t i = 0; i < locks->count; i++)
		count += is_token(&locks->rows[i]);
	if (!count)
		return;
	channels->rows =
		hp_xrealloc(channels->rows, channels->count + count, sizeof(*channels->rows));
	for (size_t i = 0; i < locks->count; i++)
		if (is_token(&locks->rows[i]))
			channels->rows[channels->count++] = row_of(&locks->rows[i]);
}
