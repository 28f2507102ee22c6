/* SPDX-License-Identifier: MIT */
/*
 * channel.h - the channels in a segment: a row is one direction of the channels
 * that one place in the program creates, summed over processes.
 *
 * Folder: report/section/channel/row - channels as the segment has them, and
 *   their names
 * May use: report/section/core report/name report/read report/base
 *   segment/layout
 */
#ifndef HP_REPORT_SECTION_CHANNEL_ROW_CHANNEL_H
#define HP_REPORT_SECTION_CHANNEL_ROW_CHANNEL_H

#include "report/read/lock_place.h"
#include "report/read/lock_sum.h"
#include "segment/layout/channel.h"

/* Kinds of rows that are not channels in the segment, after those of enum hp_channel_kind. */
#define HP_CHANNEL_TOKENS HP_CHANNEL_KINDS	/* a semaphore: see report/section/channel/token.h */
#define HP_CHANNEL_ROW_KINDS (HP_CHANNEL_KINDS + 1)

#define HP_CHANNEL_LAST 50	/* messages that are shown */

struct hp_lock_row;

struct hp_channel_message {
	struct hp_message record;
	char *text;	/* NULL = not kept */
};

struct hp_channel_wait {
	uint64_t count;
	uint64_t ticks;
	uint64_t most;
};

struct hp_channel_row {
	uint32_t kind;	/* enum hp_channel_kind, or HP_CHANNEL_TOKENS */
	uint32_t way;
	uint32_t number;
	uint32_t origin;	/* enum hp_channel_origin */
	struct hp_lock_place site;
	const struct hp_lock_row *lock;	/* of HP_CHANNEL_TOKENS, the semaphore; else NULL */
	char *label;	/* NULL = none */
	uint32_t unit;	/* enum hp_lane_unit */
	uint64_t instances;
	uint64_t closed;
	uint64_t capacity;	/* 0 = unbounded, or not known */
	uint64_t sent_count;	/* messages */
	uint64_t sent_bytes;
	uint64_t received_count;
	uint64_t received_bytes;
	uint64_t queue;	/* in the unit, of all instances */
	uint64_t most;	/* of one of them */
	uint64_t refused;
	uint64_t empty;
	uint64_t first_ticks;	/* 0 = unknown */
	bool is_shared;	/* another process has or had it */
	bool is_sender_partial;	/* more was received than sent, as far as recorded */
	bool is_receiver_partial;	/* more is in transit than there is room for */
	struct hp_channel_wait blocked;
	struct hp_channel_wait starved;
	struct hp_lock_sum delay;	/* its holds are the times from send to receive, `timed` of them */
	struct hp_channel_message *sent;	/* the newest first, at most HP_CHANNEL_LAST */
	size_t sent_shown;
	struct hp_channel_message *received;
	size_t received_shown;
};

/* The location of a row, or a part of it, in the segment. */
struct hp_channel_offset {
	uint64_t at;
	size_t row;
};

struct hp_channels {
	struct hp_channel_offset *offsets;
	size_t offset_count;
	struct hp_channel_row *rows;
	size_t count;
	uint64_t lost;	/* unknown objects */
	uint64_t end_ticks;	/* the last moment known */
};

/* Reads the channels of the model's segment.  Never fails. */
void hp_channels_init(struct hp_channels *channels, struct hp_model *model);
/* The row of the hp_channel at an offset; NULL = not one. */
const struct hp_channel_row *hp_channels_row_at(const struct hp_channels *channels, uint64_t at);

void hp_channels_release(struct hp_channels *channels);

#endif
