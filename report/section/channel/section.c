/* SPDX-License-Identifier: MIT */
/*
 * section.c - see section.h.
 *
 * Unknown values are "-", or have a bound: a channel that another process
 * has, too, and that received nothing here, may have a receiver there.
 */
#include "report/section/channel/section.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/section/core/list.h"
#include "report/base/json.h"
#include "report/section/channel/row/name.h"
#include "report/section/channel/token.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */

/* --- the view --- */

/* The report's rows, and those of semaphores after them. */
struct hp_channel_view {
	struct hp_channels channels;	/* its rows' data is the report's */
};

static void view_free(void *held)
{
	struct hp_channel_view *view = held;

	free(view->channels.rows);
	free(view);
}

struct hp_channel_view *hp_channel_view(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_channel_view *view = hp_views_get(&report->views, &kind);
	const struct hp_channels *own;

	if (view)
		return view;
	own = hp_channel_rows(report);
	view = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*view)));
	view->channels = *own;
	view->channels.rows = hp_xcalloc(own->count, sizeof(*own->rows));
	if (own->count)
		memcpy(view->channels.rows, own->rows, own->count * sizeof(*own->rows));
	hp_channels_add_tokens(&view->channels, hp_lock_view_locks(hp_lock_view(report)));
	return view;
}

const struct hp_channels *hp_channel_view_channels(const struct hp_channel_view *view)
{
	return &view->channels;
}

/* --- names --- */

static const struct hp_channel_row *row_at(const void *row)
{
	return row;
}

static char *source_text(struct hp_report *report, const struct hp_channel_row *row)
{
	return row->lock && row->lock->number == HP_LOCK_STATIC
		       ? hp_xstrdup(hp_lock_name(report, row->lock))
		       : hp_channel_source_text(report, row);
}

static const char *channel_name(struct hp_report *report, const struct hp_channel_row *row)
{
	return row->lock ? hp_lock_name(report, row->lock)
			 : hp_channel_row_name(
				   report, (size_t)(row - hp_channel_view(report)->channels.rows));
}

void hp_channel_view_name_all(struct hp_report *report)
{
	const struct hp_channels *channels = &hp_channel_view(report)->channels;

	for (size_t i = 0; i < channels->count; i++)
		channel_name(report, &channels->rows[i]);
}

/* --- lists --- */

static bool is_used(const struct hp_channel_row *row)
{
	return row->sent_count || row->received_count || row->refused || row->blocked.count ||
	       row->starved.count;
}

/* Labels first, then by name, as clients of this shape expect it. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct hp_channel_row *a = *(const struct hp_channel_row *const *)left;
	const struct hp_channel_row *b = *(const struct hp_channel_row *const *)right;
	int order;

	if (!a->label != !b->label)
		return a->label ? -1 : 1;
	order = strcmp(channel_name(context, a), channel_name(context, b));
	return order ? order : a < b ? -1 : a > b;
}

static void fill(struct hp_report *report, struct hp_list *list,
		 bool (*is_wanted)(const struct hp_channel_row *row))
{
	const struct hp_channels *channels = &hp_channel_view(report)->channels;

	list->rows = hp_xcalloc(channels->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < channels->count; i++)
		if (is_wanted(&channels->rows[i]))
			list->rows[list->total++] = &channels->rows[i];
	if (list->total)
		qsort_r(list->rows, list->total, sizeof(*list->rows), compare_rows, report);
	hp_section_cut(&hp_channels_section, report, list);
}

static bool has_some(const struct hp_report *report,
		     bool (*is_wanted)(const struct hp_channel_row *row))
{
	const struct hp_channels *channels = &hp_channel_view(report)->channels;

	for (size_t i = 0; i < channels->count; i++)
		if (is_wanted(&channels->rows[i]))
			return true;
	return false;
}

static bool is_made(const struct hp_channel_row *row)
{
	return is_used(row) && row->kind != HP_CHANNEL_THREAD &&
	       (row->origin != HP_CHANNEL_FOUND || row->kind == HP_CHANNEL_FIFO);
}

static bool is_timed(const struct hp_channel_row *row)
{
	return row->delay.timed != 0;
}

static const char *note(struct hp_report *report)
{
	struct hp_text_cell cell;
	uint64_t lost = hp_channel_view(report)->channels.lost;

	if (!lost)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s not recorded for lack of room", hp_format_count(&cell, lost));
	return report->text;
}

static void channels_fill(struct hp_report *report, struct hp_list *list)
{
	fill(report, list, is_used);
}

/*
 * Inherited descriptors, and threads that it waits for, do not justify a
 * table on their own.
 */
static bool channels_have_data(const struct hp_report *report)
{
	return has_some(report, is_made);
}

static void latency_fill(struct hp_report *report, struct hp_list *list)
{
	fill(report, list, is_timed);
}

static bool latency_has_data(const struct hp_report *report)
{
	return channels_have_data(report) && has_some(report, is_timed);
}

/* --- columns --- */

static void cell_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number =
		(double)(row_at(cell->row) - hp_channel_view(cell->report)->channels.rows) + 1;
}

static void cell_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = channel_name(cell->report, cell->row);
	/* Not a C++ name, of which the last parts would be enough. */
	value->is_label = true;
}

static void cell_source(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, source_text(cell->report, cell->row), value);
}

static void cell_kind(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_channel_kind_name(row_at(cell->row)->kind);
}

/* In the terms of the Rust crate; the kind defines the meaning of a bound. */
static void cell_type(const struct hp_cell *cell, struct hp_value *value)
{
	uint64_t capacity = row_at(cell->row)->capacity;

	hp_cell_set_text(cell,
			 row_at(cell->row)->kind == HP_CHANNEL_THREAD ? hp_xstrdup("oneshot")
			 : capacity ? hp_xprintf("bounded[%llu]", (unsigned long long)capacity)
				    : hp_xstrdup("unbounded"),
			 value);
}

static bool is_closed(const struct hp_channel_row *row)
{
	return row->instances && row->closed >= row->instances;
}

static void cell_state(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;
	bool is_told = row->kind == HP_CHANNEL_THREAD && row->received_count >= row->instances;

	value->text = is_told ? "notified" : is_closed(row) ? "closed" : "active";
}

static void cell_type_size(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;

	switch (row->kind) {
	case HP_CHANNEL_EVENT:
		value->number = sizeof(uint64_t);
		break;
	case HP_CHANNEL_THREAD:
	case HP_CHANNEL_QUEUE:
		value->number = sizeof(void *);
		break;
	default:	/* the mean, since C has no type to ask */
		value->number = rint(
			row->sent_count ? (double)row->sent_bytes / (double)row->sent_count : 0);
	}
}

static bool is_sender_unseen(const struct hp_channel_row *row)
{
	return row->is_shared && !row->sent_count;
}

static bool is_receiver_unseen(const struct hp_channel_row *row)
{
	return row->is_shared && !row->received_count;
}

/* A semaphore's initial value; contributions of an unrecorded sender or receiver. */
static bool is_queue_unknown(const struct hp_channel_row *row)
{
	return row->kind == HP_CHANNEL_TOKENS || is_sender_unseen(row) || is_receiver_unseen(row) ||
	       row->is_sender_partial || row->is_receiver_partial;
}

/* `data`, where clients expect a number, has the minimum: all of it may have been received
 * unrecorded. */
static void cell_queue_least(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;

	if (!is_receiver_unseen(row) && !row->is_receiver_partial)
		hp_cell_get_member(cell, value);
}

static void cell_queue_known(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = is_queue_unknown(cell->row);
}

static void cell_sent(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;

	hp_cell_get_member(cell, value);
	value->is_unknown = is_sender_unseen(row);
	value->is_bound = row->is_sender_partial;
}

static void cell_received(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;

	hp_cell_get_member(cell, value);
	value->is_unknown = is_receiver_unseen(row);
	value->is_bound = row->is_receiver_partial;
}

/* The value on which both sides agree, or that of the visible one. */
static void cell_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *r = row_at(cell->row);

	value->number =
		(double)(r->sent_bytes > r->received_bytes ? r->sent_bytes : r->received_bytes);
	value->is_unknown = r->kind >= HP_CHANNEL_QUEUE;
}

/* Since the first message was sent; none for fewer than two. */
static void set_rate(const struct hp_report *report, const struct hp_channel_row *row,
		     uint64_t count, struct hp_value *value)
{
	uint64_t end = hp_channel_view(report)->channels.end_ticks;
	double ns = row->first_ticks && end > row->first_ticks
			    ? (double)(end - row->first_ticks) * report->model.ns_per_tick
			    : 0;

	value->is_unknown = count < 2 || ns <= 0 || row->kind == HP_CHANNEL_THREAD;
	value->number = value->is_unknown ? 0 : (double)count * 1e9 / ns;
}

static void cell_sent_rate(const struct hp_cell *cell, struct hp_value *value)
{
	set_rate(cell->report, cell->row, row_at(cell->row)->sent_count, value);
}

static void cell_received_rate(const struct hp_cell *cell, struct hp_value *value)
{
	set_rate(cell->report, cell->row, row_at(cell->row)->received_count, value);
}

/* Of streams in bytes, of the others in messages. */
static void cell_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_channel_row *row = cell->row;
	struct hp_text_cell most;

	value->is_unknown = is_queue_unknown(row);
	hp_cell_set_text(cell,
			 hp_xstrdup(row->unit == HP_LANE_BYTES ? hp_format_bytes(&most, row->most)
							       : hp_format_count(&most, row->most)),
			 value);
}

/* Not all that were received: the others were not timed. */
static bool is_estimated(const struct hp_channel_row *row)
{
	return row->delay.timed < row->sent_count;
}

static void cell_delay_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *delay = &row_at(cell->row)->delay;

	hp_lock_set_ticks(cell, delay->timed ? delay->hold_ticks / (double)delay->timed : -1,
			  value);
	value->is_estimated = is_estimated(cell->row);
}

static void cell_delay_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(
		cell, hp_lock_hold_percentile(&row_at(cell->row)->delay, cell->percentile), value);
	value->is_estimated = is_estimated(cell->row);
	value->is_bound = value->is_estimated && cell->percentile >= 100;
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = cell_id },
	{ "Channel", "label", "label", HP_UNIT_NAME, .get = cell_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = cell_source },
	{ "Type", "type_name", "type_name", HP_UNIT_TEXT, .get = cell_kind },
	{ NULL, "channel_type", "channel_type", HP_UNIT_TEXT, .get = cell_type },
	{ NULL, "state", "state", HP_UNIT_TEXT, .get = cell_state },
	{ NULL, "type_size", "type_size", HP_UNIT_NUMBER, .get = cell_type_size },
	{ NULL, "instances", "instances", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_channel_row, instances) },
	{ NULL, "closed_instances", "closed_instances", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_channel_row, closed) },
	{ "Sent", NULL, "sent_count", HP_UNIT_COUNT, .get = cell_sent,
	  .member = HP_MEMBER(hp_channel_row, sent_count) },
	{ .key = "sent_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, sent_count) },
	{ "Received", NULL, "received_count", HP_UNIT_COUNT, .get = cell_received,
	  .member = HP_MEMBER(hp_channel_row, received_count) },
	{ .key = "received_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, received_count) },
	{ "Bytes", NULL, NULL, HP_UNIT_BYTES, .get = cell_bytes },
	{ "Sent/s", "sent_per_sec", "sent_per_sec", HP_UNIT_RATE, .get = cell_sent_rate },
	{ NULL, "received_per_sec", "received_per_sec", HP_UNIT_RATE, .get = cell_received_rate },
	{ "Max queue", NULL, NULL, HP_UNIT_TEXT, .get = cell_most },
	{ .key = "queue_size",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_queue_least,
	  .member = HP_MEMBER(hp_channel_row, queue) },
	{ .key = "max_queue_size",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_queue_least,
	  .member = HP_MEMBER(hp_channel_row, most) },
	{ .raw = "queue_size",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_queue_known,
	  .member = HP_MEMBER(hp_channel_row, queue) },
	{ .raw = "max_queue_size",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_queue_known,
	  .member = HP_MEMBER(hp_channel_row, most) },
	{ "Blocked", NULL, "blocked_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_channel_row, blocked.ticks) },
	{ "Starved", NULL, "starved_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_channel_row, starved.ticks) },
	{ NULL, "delay_avg", "delay_avg_ns", HP_UNIT_TIME, .get = cell_delay_average },
	{ .raw = "delay_p",
	  .unit = HP_UNIT_TIME,
	  .get = cell_delay_percentile,
	  .is_percentiles = true },
	{ NULL, "delay_sampled_count", "delay_sampled_count", HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, delay.timed) },
	{ .raw = "sent_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_sent,
	  .member = HP_MEMBER(hp_channel_row, sent_bytes) },
	{ .raw = "received_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = cell_received,
	  .member = HP_MEMBER(hp_channel_row, received_bytes) },
	{ .raw = "capacity", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_channel_row, capacity) },
	{ .raw = "blocked_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, blocked.count) },
	{ .raw = "blocked_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_channel_row, blocked.most) },
	{ .raw = "starved_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, starved.count) },
	{ .raw = "starved_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_channel_row, starved.most) },
	{ .raw = "refused_sends",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, refused) },
	{ .raw = "empty_receives",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_channel_row, empty) },
	{ .raw = "delay_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_channel_row, delay.hold_ticks) },
	{ .raw = "delay_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_channel_row, delay.hold_most) },
	{ 0 },
};

static const struct hp_column latency_columns[] = {
	{ "Channel", NULL, NULL, HP_UNIT_NAME, .get = cell_name },
	{ "Msgs", NULL, NULL, HP_UNIT_COUNT, .member = HP_MEMBER(hp_channel_row, delay.timed) },
	{ "Avg", NULL, NULL, HP_UNIT_TIME, .get = cell_delay_average },
	{ "P", NULL, NULL, HP_UNIT_TIME, .get = cell_delay_percentile, .is_percentiles = true },
	{ 0 },
};

/* --- JSON --- */

/* Without debug information: the module, line 0. */
static void location_add(struct hp_report *report, const struct hp_channel_row *row, cJSON *entry)
{
	const struct hp_symbol_spot *spot = hp_channel_spot(report, row);
	uint32_t object = row->site.object;

	if (spot && spot->file)
		hp_json_location(entry, spot->file, spot->line, spot->column);
	else
		hp_json_location(
			entry, object == HP_NONE ? "?" : report->model.objects[object].path, 0, 0);
}

static void add_identity(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_channel_row *r = row;

	cJSON_AddBoolToObject(entry, "has_custom_label", r->label || (r->lock && r->lock->label));
	hp_lock_add_percentiles(report, &r->delay, true, "delay_percentiles", entry);
	location_add(report, r, entry);
	hp_json_rounded(entry, "iter", r->origin == HP_CHANNEL_MADE ? r->number : 0);
}

static double ns_since_start(const struct hp_report *report, uint64_t ticks)
{
	uint64_t start = report->model.reader.header.start.ticks;

	return ticks > start ? (double)(ticks - start) * report->model.ns_per_tick : 0;
}

static void messages_add(struct hp_report *report, const struct hp_channel_message *list,
			 size_t count, bool is_sent, const char *key, cJSON *entry)
{
	cJSON *array = cJSON_AddArrayToObject(entry, key);

	for (size_t i = 0; i < count; i++) {
		const struct hp_message *message = &list[i].record;
		cJSON *item = cJSON_CreateObject();

		hp_json_rounded(item, "msg_id", (double)message->number);
		hp_json_rounded(item, "timestamp_ns", ns_since_start(report, message->ticks));
		hp_json_rounded(item, "size", message->size);
		hp_json_rounded(item, "tid", message->tid);
		if (is_sent && message->delay)
			hp_json_rounded(item, "delay_ns",
					(double)message->delay * report->model.ns_per_tick);
		if (list[i].text) {
			char *text = hp_text_clean(list[i].text);

			cJSON_AddStringToObject(item, "message", text);
			free(text);
		}
		cJSON_AddItemToArray(array, item);
	}
}

static void add_messages(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_channel_row *r = row;

	messages_add(report, r->sent, r->sent_shown, true, "sent_logs", entry);
	messages_add(report, r->received, r->received_shown, false, "received_logs", entry);
}

/* --- the sections --- */

static void spread_delay(struct hp_report *report, const void *row, struct hp_metric_spread *spread)
{
	spread->histogram = &row_at(row)->delay.holds;
	spread->unit = report->model.ns_per_tick / 1e9;
}

static const struct hp_metric metrics[] = {
	{ "sent_count", true, "hotpath_channel_sent", .help = "Messages sent on each channel." },
	{ "received_count", true, "hotpath_channel_received",
	  .help = "Messages received from each channel." },
	{ "instances", true, "hotpath_channel_instances_created",
	  .help = "Channels created at this place." },
	{ "closed_instances", true, "hotpath_channel_instances_closed",
	  .help = "Closed ones of these channels." },
	{ "queue_size", false, "hotpath_channel_queue_size",
	  .help = "Messages sent and not yet received." },
	{ "max_queue_size", false, "hotpath_channel_max_queue_size",
	  .help = "Largest number of messages not yet received, since the start." },
	{ "delay_avg", .name = "hotpath_channel_delay_seconds", .spread = spread_delay,
	  .help = "Time from send to receive of messages that were timed." },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "source", "source" },	    { "label", "label" },	{ "iter", "iter" },
	{ "type", "channel_type" }, { "payload", "type_name" }, { 0 },
};

#define NONE \
	"nothing was sent through a pipe, socket pair or queue (network connections are not covered)"

const struct hp_section hp_channels_section = {
	.key = "channels",
	.json = "channels",
	.name = "channels",
	.help = "channels",
	.subject = HP_SUBJECT_CHANNEL,
	.columns = columns,
	.needs = HP_RECORDED_CHANNELS,
	.fill = channels_fill,
	.limit = HP_MEMBER(hp_settings, channels_limit),
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = channels_have_data,
	.about = "Channel throughput statistics.",
	.none = NONE,
	.note = note,
	.estimate = HP_ESTIMATE_MESSAGES,
	.extra = { .head = hp_lock_add_head,
		   .data = add_identity,
		   .raw = add_messages,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys = "has_custom_label:b delay_percentiles:o location:@location iter:i",
		   .raw_keys = "sent_logs:[@message] received_logs:[@message]" },
	.name_all = hp_channel_view_name_all,
	.tool = { .help = "Channels between threads and processes: messages, queue, delay.",
		  .meaning =
			  "Messages sent and received, the queue's length and how long messages waited.",
		  .next = "channel_logs with a row's id; threads for the one that does not keep up." },
	.has_own_ids = true,
	.metrics = metrics,
	.labels = labels,
};

const struct hp_section hp_channels_latency_section = {
	.key = "channels-latency",
	.json = "",
	.name = "channels latency",
	.help = "how long messages wait in channels",
	.subject = HP_SUBJECT_CHANNEL,
	.columns = latency_columns,
	.needs = HP_RECORDED_CHANNELS,
	.fill = latency_fill,
	.limit = HP_MEMBER(hp_settings, channels_limit),
	.usual = LIMIT,
	.with = &hp_channels_section,
	.is_quiet = true,
	.has_data = latency_has_data,
	.about = "Channel send->receive latency statistics.",
	.none = NONE,
	.estimate = HP_ESTIMATE_MESSAGES,
};
