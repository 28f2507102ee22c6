/* SPDX-License-Identifier: MIT */
/*
 * channel.c - reads the records of channels and sums them up: see channel.h.
 */
#include "report/section/channel/row/channel.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/label.h"
#include "segment/layout/lock.h"
#include "segment/layout/process.h"
#include "report/read/logged.h"

struct build {
	struct hp_model *model;
	struct hp_channels *channels;
	size_t room;
	size_t offset_room;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- rows --- */

static bool is_same(const struct hp_channel_row *a, const struct hp_channel_row *b)
{
	return a->kind == b->kind && a->way == b->way && a->number == b->number &&
	       a->origin == b->origin && a->site.object == b->site.object &&
	       a->site.address == b->site.address;
}

static struct hp_channel_row *row_of(struct build *b, const struct hp_channel_row *wanted)
{
	struct hp_channels *channels = b->channels;

	for (size_t i = 0; i < channels->count; i++)
		if (is_same(&channels->rows[i], wanted))
			return &channels->rows[i];
	channels->rows =
		hp_xgrow(channels->rows, channels->count, &b->room, sizeof(*channels->rows));
	channels->rows[channels->count] = *wanted;
	return &channels->rows[channels->count++];
}

/* --- messages --- */

static int compare_messages(const void *left, const void *right)
{
	const struct hp_message *a = &((const struct hp_channel_message *)left)->record;
	const struct hp_message *b = &((const struct hp_channel_message *)right)->record;

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	return a->number > b->number ? -1 : a->number < b->number;
}

/*
 * A number is one more than its sender's count, so overlapping senders, and the
 * channels of one place, have the same ones: later ones are increased.
 * None is above the number of messages.
 */
static void messages_number(struct hp_channel_message *list, size_t count, uint64_t sent)
{
	for (size_t i = count; i-- > 1;)
		if (list[i - 1].record.number <= list[i].record.number)
			list[i - 1].record.number = list[i].record.number + 1;
	for (size_t i = 0; i < count && sent > i; i++)
		if (list[i].record.number > sent - i)
			list[i].record.number = sent - i;
}

static void messages_add(struct build *b, struct hp_channel_message **list, size_t *shown,
			 const struct hp_message *ring, const struct hp_lane *lane)
{
	*list = hp_xrealloc(*list, *shown + HP_MESSAGES, sizeof(**list));
	for (uint64_t i = 0; i < HP_MESSAGES; i++) {
		struct hp_channel_message *message = &(*list)[*shown];

		if (!hp_logged_message(&ring[i], &message->record))
			continue;
		message->text = lane ? hp_logged_text(&b->model->reader, lane, i,
						      message->record.number, message->record.size)
				     : NULL;
		++*shown;
	}
	if (*shown)
		qsort(*list, *shown, sizeof(**list), compare_messages);
	while (*shown > hp_logged_most(&b->model->reader, HP_CHANNEL_LAST))
		free((*list)[--*shown].text);
}

static void read_log(struct build *b, struct hp_channel_row *row, const struct hp_lane *lane)
{
	const struct hp_lane_log *log =
		lane->probes ? hp_reader_take(&b->model->reader, (uint64_t)lane->probes * HP_LINE,
					      sizeof(*log))
			     : NULL;

	if (!log)
		return;
	messages_add(b, &row->sent, &row->sent_shown, log->sent, lane);
	messages_add(b, &row->received, &row->received_shown, log->received, NULL);
}

/* --- lanes --- */

static void wait_add(struct hp_channel_wait *to, const struct hp_lane_wait *wait)
{
	to->count += wait->count;
	to->ticks += wait->ticks;
	to->most = larger(to->most, wait->most);
}

/* In messages and in bytes. */
static uint64_t messages_of(const struct hp_lane *lane, const struct hp_lane_side *side)
{
	return lane->unit == HP_LANE_BYTES ? side->others + side->more_others
					   : side->units + side->more_units;
}

static uint64_t bytes_of(const struct hp_lane *lane, const struct hp_lane_side *side)
{
	return lane->unit == HP_LANE_BYTES ? side->units + side->more_units
					   : side->others + side->more_others;
}

/*
 * An eventfd passed to another process: additions and removals by others may cancel
 * out, so neither figure reveals it.
 */
static bool is_given_away(const struct hp_lane *lane)
{
	const uint32_t both = HP_VEILED_SENDS | HP_VEILED_RECEIVES;

	return lane->unit == HP_LANE_TOKENS && (lane->veiled & both) == both;
}

static void queue_add(struct hp_channel_row *row, const struct hp_lane *lane)
{
	int64_t depth =
		(int64_t)(lane->sends.units + lane->sends.more_units - lane->receives.units -
			  lane->receives.more_units - lane->abandoned);

	row->capacity = larger(row->capacity, lane->capacity);
	row->most = larger(row->most, lane->most);
	if (depth < 0 ||
	    (lane->veiled & HP_VEILED_SENDS && !lane->receives.units && !lane->receives.more_units))
		row->is_sender_partial = true;
	if (depth > 0 && lane->veiled & HP_VEILED_RECEIVES)
		row->is_receiver_partial = true;
	if (is_given_away(lane))
		row->is_sender_partial = row->is_receiver_partial = true;
	if (lane->capacity && depth > 0 && (uint64_t)depth > lane->capacity) {
		row->is_receiver_partial = true;
		depth = (int64_t)lane->capacity;
	}
	row->queue += depth > 0 ? (uint64_t)depth : 0;
	/* Of several channels of one place: together they hold at least what they hold now. */
	row->most = larger(row->most, row->queue);
}

static void add_lane(struct build *b, struct hp_channel_row *row, const struct hp_lane *lane)
{
	row->unit = lane->unit;
	row->sent_count += messages_of(lane, &lane->sends);
	row->sent_bytes += bytes_of(lane, &lane->sends);
	row->received_count += messages_of(lane, &lane->receives);
	row->received_bytes += bytes_of(lane, &lane->receives);
	queue_add(row, lane);
	row->refused += lane->refused;
	row->empty += lane->empty;
	if (lane->first_ticks && (!row->first_ticks || lane->first_ticks < row->first_ticks))
		row->first_ticks = lane->first_ticks;
	row->is_shared |= lane->shared != 0;
	wait_add(&row->blocked, &lane->blocked);
	wait_add(&row->starved, &lane->starved);
	row->delay.timed += lane->timed;
	row->delay.hold_ticks += (double)lane->delay_ticks;
	row->delay.hold_most = larger(row->delay.hold_most, lane->delay_most);
	hp_lock_spread_add(b->model, &row->delay.holds, lane->delays);
	read_log(b, row, lane);
}

static void read_lanes(struct build *b, struct hp_channel_row *row, uint64_t at)
{
	struct hp_lane lane;

	for (; hp_reader_step(&b->model->reader, at, &lane, sizeof(lane)); at = lane.next)
		add_lane(b, row, &lane);
}

static void offset_add(struct build *b, uint64_t at, size_t row)
{
	struct hp_channels *channels = b->channels;

	channels->offsets = hp_xgrow(channels->offsets, channels->offset_count, &b->offset_room,
				     sizeof(*channels->offsets));
	channels->offsets[channels->offset_count++] = (struct hp_channel_offset){ at, row };
}

static void read_channels(struct build *b, uint64_t at)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_channel record;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next) {
		struct hp_channel_row wanted = { .kind = record.kind,
						 .way = record.way,
						 .number = record.number,
						 .origin = record.origin };
		struct hp_channel_row *row;

		if (record.kind == 0 || record.kind >= HP_CHANNEL_KINDS)
			continue;
		wanted.site = hp_lock_place_of(b->model, record.site_module, record.site_address);
		row = row_of(b, &wanted);
		offset_add(b, at, (size_t)(row - b->channels->rows));
		row->instances += record.instances;
		row->closed += record.closed;
		if (record.label && !row->label)
			row->label = hp_label_text(reader, record.label);
		read_lanes(b, row, record.lanes);
	}
}

void hp_channels_init(struct hp_channels *channels, struct hp_model *model)
{
	struct build b = { .model = model, .channels = channels };
	struct hp_reader *reader = &model->reader;
	struct hp_process process;
	struct hp_lockset set;
	uint64_t at = hp_reader_processes(reader);

	memset(channels, 0, sizeof(*channels));
	hp_reader_restart(reader, 2);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		if (!process.lockset || !hp_reader_copy(reader, process.lockset, &set, sizeof(set)))
			continue;
		channels->lost += set.lost_channels;
		read_channels(&b, set.channels);
	}
	for (size_t i = 0; i < channels->count; i++) {
		struct hp_channel_row *row = &channels->rows[i];

		messages_number(row->sent, row->sent_shown, row->sent_count);
		messages_number(row->received, row->received_shown, row->sent_count);
	}
	channels->end_ticks = hp_reader_end_ticks(reader);
}

const struct hp_channel_row *hp_channels_row_at(const struct hp_channels *channels, uint64_t at)
{
	for (size_t i = 0; i < channels->offset_count; i++)
		if (channels->offsets[i].at == at)
			return &channels->rows[channels->offsets[i].row];
	return NULL;
}

void hp_channels_release(struct hp_channels *channels)
{
	for (size_t i = 0; i < channels->count; i++) {
		struct hp_channel_row *row = &channels->rows[i];

		hp_lock_sum_release(&row->delay);
		for (size_t n = 0; n < row->sent_shown; n++)
			free(row->sent[n].text);
		free(row->label);
		free(row->sent);
		free(row->received);
	}
	free(channels->rows);
	free(channels->offsets);
}
