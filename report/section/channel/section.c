/* SPDX-License-Identifier: MIT */
/*
 * section.c - see section.h.
 *
 * What was not seen is "-", or has a bound: a channel that another process has,
 * too, and of which nobody here received anything, may have a receiver there.
 */
#include "report/section/channel/section.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"

#define LIMIT 15	/* rows, where no variable says otherwise */
#define UNUSED(x) (void)(x)
#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

struct hp_channel_view {
	struct hp_channels channels;
	char **names;	/* beside channels.rows; NULL = not asked for yet */
};

struct hp_channel_view *hp_channel_view(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_channel_view *view = report->channels;

	if (view)
		return view;
	report->channels = view = hp_xcalloc(1, sizeof(*view));
	hp_channels_init(&view->channels, &report->model);
	hp_channels_add_tokens(&view->channels, hp_lock_view_locks(hp_lock_view(report)));
	view->names = hp_xcalloc(view->channels.count, sizeof(*view->names));
	return view;
}

void hp_channel_view_free(struct hp_channel_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->channels.count; i++)
		free(view->names[i]);
	free(view->names);
	hp_channels_release(&view->channels);
	free(view);
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

static const struct hp_symbol_spot *spot_of(struct hp_report *report,
					    const struct hp_channel_row *row)
{
	/* A return address is behind the call: one byte before it is of the call's line. */
	return row->site.address ? hp_symbols_spot(report->symbols, row->site.object,
						   row->site.address - 1, false)
				 : NULL;
}

static char *found_text(const struct hp_channel_row *row)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };

	if (row->number < sizeof(names) / sizeof(names[0]))
		return hp_xstrdup(names[row->number]);
	return hp_xprintf("descriptor %u", row->number);
}

static char *source_text(struct hp_report *report, const struct hp_channel_row *row)
{
	if (row->lock && row->lock->number == HP_LOCK_STATIC)
		return hp_xstrdup(hp_lock_name(report, row->lock));
	return row->origin == HP_CHANNEL_FOUND ? found_text(row)
					       : hp_lock_site_text(spot_of(report, row));
}

static bool is_pair(const struct hp_channel_row *row)
{
	return row->kind >= HP_CHANNEL_STREAM && row->kind <= HP_CHANNEL_DATAGRAM;
}

static char *name_of(struct hp_report *report, const struct hp_channel_row *row)
{
	char *base = row->label ? hp_text_clean(row->label) : source_text(report, row);
	char number[64] = "";
	struct hp_text_cell cell;
	char *name;

	if (row->number && row->origin != HP_CHANNEL_FOUND)
		snprintf(number, sizeof(number), "-%u", row->number + 1);
	else if (row->instances > 1)
		snprintf(number, sizeof(number), "\303\227%s",
			 hp_format_count(&cell, row->instances));
	name = hp_xprintf("%s%s%s", base, number,
			  !is_pair(row) || row->way > 1 ? ""
			  : row->way			? " \342\206\220"
							: " \342\206\222");
	free(base);
	return name;
}

static const char *channel_name(struct hp_report *report, const struct hp_channel_row *row)
{
	struct hp_channel_view *view = hp_channel_view(report);
	char **name = &view->names[row - view->channels.rows];

	if (!*name)
		*name = row->lock ? hp_xstrdup(hp_lock_name(report, row->lock))
				  : name_of(report, row);
	return *name;
}

void hp_channel_view_name_all(struct hp_report *report)
{
	const struct hp_channels *channels = &hp_channel_view(report)->channels;

	for (size_t i = 0; i < channels->count; i++)
		channel_name(report, &channels->rows[i]);
}

const char *hp_channel_name_at(struct hp_report *report, uint64_t at)
{
	const struct hp_channel_row *row =
		hp_channels_row_at(&hp_channel_view(report)->channels, at);

	return row ? channel_name(report, row) : "<other>";
}

struct kind {
	const char *text;
	const char *empty;
	const char *full;
};

#define KIND(text) \
	{ \
		text, text " empty", text " full" \
	}

static const struct kind kinds[HP_CHANNEL_ROW_KINDS] = {
	[HP_CHANNEL_PIPE] = KIND("pipe"),	  [HP_CHANNEL_FIFO] = KIND("fifo"),
	[HP_CHANNEL_STREAM] = KIND("stream"),	  [HP_CHANNEL_PACKET] = KIND("seqpacket"),
	[HP_CHANNEL_DATAGRAM] = KIND("datagram"), [HP_CHANNEL_EVENT] = KIND("eventfd"),
	[HP_CHANNEL_MQ] = KIND("mqueue"),	  [HP_CHANNEL_SYSV] = KIND("msgqueue"),
	[HP_CHANNEL_QUEUE] = KIND("GAsyncQueue"), [HP_CHANNEL_THREAD] = KIND("thread"),
	[HP_CHANNEL_CUSTOM] = KIND("channel"),	  [HP_CHANNEL_TOKENS] = KIND("semaphore"),
};

static const char *kind_text(uint32_t kind)
{
	return kinds[kind].text;
}

const char *hp_channel_kind_text(uint32_t kind, uint32_t side)
{
	return side == HP_SIDE_READ ? kinds[kind].empty : kinds[kind].full;
}

/* --- lists --- */

static bool is_used(const struct hp_channel_row *row)
{
	return row->sent_count || row->received_count || row->refused || row->blocked.count ||
	       row->starved.count;
}

/* Labels first, then by what they are called, as clients of this shape expect it. */
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
	hp_list_cut(list, report, report->settings->channels_limit, LIMIT);
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

const char *hp_channels_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Channel throughput statistics.";
}

const char *hp_channels_note(struct hp_report *report)
{
	struct hp_text_cell cell;
	uint64_t lost = hp_channel_view(report)->channels.lost;

	if (!lost)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s not seen for want of room", hp_format_count(&cell, lost));
	return report->text;
}

void hp_channels_fill(struct hp_report *report, struct hp_list *list)
{
	fill(report, list, is_used);
}

/*
 * Descriptors that the program was given, and threads that it waits for, are no
 * reason to show a table unasked.
 */
bool hp_channels_has_data(const struct hp_report *report)
{
	return has_some(report, is_made);
}

const char *hp_channels_empty(struct hp_report *report)
{
	UNUSED(report);
	return "nothing was sent by a pipe, a socket pair, a queue (connections are none)";
}

const char *hp_latency_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Channel send->receive latency statistics.";
}

void hp_latency_fill(struct hp_report *report, struct hp_list *list)
{
	fill(report, list, is_timed);
}

bool hp_latency_has_data(const struct hp_report *report)
{
	return hp_channels_has_data(report) && has_some(report, is_timed);
}

/* --- columns --- */

CELL(cell_id)
{
	UNUSED(percentile);
	value->number = (double)(row_at(row) - hp_channel_view(report)->channels.rows) + 1;
}

CELL(cell_name)
{
	UNUSED(percentile);
	value->text = channel_name(report, row);
	/* Not one of C++, of which the last parts would do. */
	value->is_label = true;
}

static void set_text(struct hp_report *report, char *text, struct hp_value *value)
{
	free(report->text);
	report->text = text;
	value->text = text;
}

CELL(cell_source)
{
	UNUSED(percentile);
	set_text(report, source_text(report, row), value);
}

CELL(cell_kind)
{
	UNUSED(report), UNUSED(percentile);
	value->text = kind_text(row_at(row)->kind);
}

/* In the reference's words; what a bound counts is told by the kind. */
CELL(cell_type)
{
	uint64_t capacity = row_at(row)->capacity;

	UNUSED(percentile);
	set_text(report,
		 row_at(row)->kind == HP_CHANNEL_THREAD ? hp_xstrdup("oneshot")
		 : capacity ? hp_xprintf("bounded[%llu]", (unsigned long long)capacity)
			    : hp_xstrdup("unbounded"),
		 value);
}

static bool is_closed(const struct hp_channel_row *row)
{
	return row->instances && row->closed >= row->instances;
}

CELL(cell_state)
{
	UNUSED(report), UNUSED(percentile);
	value->text = is_closed(row_at(row)) ? "closed" : "active";
}

CELL(cell_type_size)
{
	UNUSED(report), UNUSED(row), UNUSED(percentile);
	value->number = row_at(row)->kind == HP_CHANNEL_EVENT ? 8 : 0;
}

#define COUNT(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = (double)row_at(row)->field; \
	}

COUNT(cell_instances, instances)
COUNT(cell_closed, closed)
COUNT(cell_capacity, capacity)
COUNT(cell_refused, refused)
COUNT(cell_empty, empty)
COUNT(cell_timed, delay.timed)
COUNT(cell_blocked_count, blocked.count)
COUNT(cell_starved_count, starved.count)
COUNT(cell_sent_count, sent_count)
COUNT(cell_received_count, received_count)

static bool is_sender_unseen(const struct hp_channel_row *row)
{
	return row->is_shared && !row->sent_count;
}

static bool is_receiver_unseen(const struct hp_channel_row *row)
{
	return row->is_shared && !row->received_count;
}

/* What a semaphore began with; what a sender that is not seen has added, or a receiver taken. */
static bool is_queue_unknown(const struct hp_channel_row *row)
{
	return row->kind == HP_CHANNEL_TOKENS || is_sender_unseen(row) || is_receiver_unseen(row) ||
	       row->is_sender_partial || row->is_receiver_partial;
}

/* `data`, where clients expect a number, has the least: all of it may have been taken unseen. */
#define LEAST(name, field) \
	CELL(name) \
	{ \
		const struct hp_channel_row *r = row_at(row); \
\
		UNUSED(report), UNUSED(percentile); \
		value->number = \
			is_receiver_unseen(r) || r->is_receiver_partial ? 0 : (double)r->field; \
	}

LEAST(cell_queue_count, queue)
LEAST(cell_most_count, most)

#define QUEUE(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = (double)row_at(row)->field; \
		value->is_unknown = is_queue_unknown(row_at(row)); \
	}

QUEUE(cell_queue_raw, queue)
QUEUE(cell_most_raw, most)

#define SENT(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = (double)row_at(row)->field; \
		value->is_unknown = is_sender_unseen(row_at(row)); \
		value->is_bound = row_at(row)->is_sender_partial; \
	}
#define RECEIVED(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = (double)row_at(row)->field; \
		value->is_unknown = is_receiver_unseen(row_at(row)); \
		value->is_bound = row_at(row)->is_receiver_partial; \
	}

SENT(cell_sent, sent_count)
SENT(cell_sent_bytes, sent_bytes)
RECEIVED(cell_received, received_count)
RECEIVED(cell_received_bytes, received_bytes)

/* What both sides agree on, or the one that was seen. */
CELL(cell_bytes)
{
	const struct hp_channel_row *r = row_at(row);

	UNUSED(report), UNUSED(percentile);
	value->number =
		(double)(r->sent_bytes > r->received_bytes ? r->sent_bytes : r->received_bytes);
	value->is_unknown = r->kind >= HP_CHANNEL_QUEUE;
}

/* Since the first message was sent; of less than two there is none. */
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

CELL(cell_sent_rate)
{
	UNUSED(percentile);
	set_rate(report, row, row_at(row)->sent_count, value);
}

CELL(cell_received_rate)
{
	UNUSED(percentile);
	set_rate(report, row, row_at(row)->received_count, value);
}

/* Of streams in bytes, of the others in messages. */
CELL(cell_most)
{
	struct hp_text_cell cell;

	UNUSED(percentile);
	value->is_unknown = is_queue_unknown(row_at(row));
	set_text(report,
		 hp_xstrdup(row_at(row)->unit == HP_LANE_BYTES
				    ? hp_format_bytes(&cell, row_at(row)->most)
				    : hp_format_count(&cell, row_at(row)->most)),
		 value);
}

static void set_ticks(const struct hp_report *report, double ticks, struct hp_value *value)
{
	value->number = ticks * report->model.ns_per_tick;
	value->is_unknown = ticks < 0;
}

#define TICKS(name, field) \
	CELL(name) \
	{ \
		UNUSED(percentile); \
		set_ticks(report, (double)row_at(row)->field, value); \
	}

TICKS(cell_blocked, blocked.ticks)
TICKS(cell_blocked_most, blocked.most)
TICKS(cell_starved, starved.ticks)
TICKS(cell_starved_most, starved.most)
TICKS(cell_delay_total, delay.hold_ticks)

/* Not all that were received: the others went by untimed. */
static bool is_estimated(const struct hp_channel_row *row)
{
	return row->delay.timed < row->sent_count;
}

CELL(cell_delay_average)
{
	const struct hp_lock_sum *delay = &row_at(row)->delay;

	UNUSED(percentile);
	set_ticks(report, delay->timed ? delay->hold_ticks / (double)delay->timed : -1, value);
	value->is_estimated = is_estimated(row);
}

CELL(cell_delay_percentile)
{
	set_ticks(report, hp_lock_hold_percentile(&row_at(row)->delay, percentile), value);
	value->is_estimated = is_estimated(row);
	value->is_bound = value->is_estimated && percentile >= 100;
}

TICKS(cell_delay_most, delay.hold_most)

#define NUMBER(key, getter) \
	{ \
		.raw = key, .unit = HP_UNIT_NUMBER, .get = getter \
	}

const struct hp_column hp_channel_columns[HP_CHANNEL_COLUMNS] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = cell_id },
	{ "Channel", "label", "label", HP_UNIT_NAME, cell_name, false, false },
	{ NULL, "source", "source", HP_UNIT_TEXT, cell_source, false, false },
	{ "Type", "type_name", "type_name", HP_UNIT_TEXT, cell_kind, false, false },
	{ NULL, "channel_type", "channel_type", HP_UNIT_TEXT, cell_type, false, false },
	{ NULL, "state", "state", HP_UNIT_TEXT, cell_state, false, false },
	{ NULL, "type_size", "type_size", HP_UNIT_NUMBER, cell_type_size, false, false },
	{ NULL, "instances", "instances", HP_UNIT_COUNT, cell_instances, false, false },
	{ NULL, "closed_instances", "closed_instances", HP_UNIT_COUNT, cell_closed, false, false },
	{ "Sent", NULL, "sent_count", HP_UNIT_COUNT, cell_sent, false, false },
	{ .key = "sent_count", .unit = HP_UNIT_NUMBER, .get = cell_sent_count },
	{ "Received", NULL, "received_count", HP_UNIT_COUNT, cell_received, false, false },
	{ .key = "received_count", .unit = HP_UNIT_NUMBER, .get = cell_received_count },
	{ "Bytes", NULL, NULL, HP_UNIT_BYTES, cell_bytes, false, false },
	{ "Sent/s", "sent_per_sec", "sent_per_sec", HP_UNIT_RATE, cell_sent_rate, false, false },
	{ NULL, "received_per_sec", "received_per_sec", HP_UNIT_RATE, cell_received_rate, false,
	  false },
	{ "Max queue", NULL, NULL, HP_UNIT_TEXT, cell_most, false, false },
	{ .key = "queue_size", .unit = HP_UNIT_NUMBER, .get = cell_queue_count },
	{ .key = "max_queue_size", .unit = HP_UNIT_NUMBER, .get = cell_most_count },
	NUMBER("queue_size", cell_queue_raw),
	NUMBER("max_queue_size", cell_most_raw),
	{ "Blocked", NULL, "blocked_ns", HP_UNIT_TIME, cell_blocked, false, false },
	{ "Starved", NULL, "starved_ns", HP_UNIT_TIME, cell_starved, false, false },
	{ NULL, "delay_avg", "delay_avg_ns", HP_UNIT_TIME, cell_delay_average, false, false },
	{ .raw = "delay_p",
	  .unit = HP_UNIT_TIME,
	  .get = cell_delay_percentile,
	  .is_percentiles = true },
	{ NULL, "delay_sampled_count", "delay_sampled_count", HP_UNIT_NUMBER, cell_timed, false,
	  false },
	NUMBER("sent_bytes", cell_sent_bytes),
	NUMBER("received_bytes", cell_received_bytes),
	NUMBER("capacity", cell_capacity),
	NUMBER("blocked_count", cell_blocked_count),
	NUMBER("blocked_max_ns", cell_blocked_most),
	NUMBER("starved_count", cell_starved_count),
	NUMBER("starved_max_ns", cell_starved_most),
	NUMBER("refused_sends", cell_refused),
	NUMBER("empty_receives", cell_empty),
	NUMBER("delay_total_ns", cell_delay_total),
	NUMBER("delay_max_ns", cell_delay_most),
};

const struct hp_column hp_latency_columns[HP_LATENCY_COLUMNS] = {
	{ "Channel", NULL, NULL, HP_UNIT_NAME, cell_name, false, false },
	{ "Msgs", NULL, NULL, HP_UNIT_COUNT, cell_timed, false, false },
	{ "Avg", NULL, NULL, HP_UNIT_TIME, cell_delay_average, false, false },
	{ "P", NULL, NULL, HP_UNIT_TIME, cell_delay_percentile, true, false },
};

/* --- JSON --- */

/* Without debug information: the module, line 0. */
static void location_add(struct hp_report *report, const struct hp_channel_row *row, cJSON *entry)
{
	const struct hp_symbol_spot *spot = spot_of(report, row);
	uint32_t object = row->site.object;
	const char *path = object == HP_NONE ? "?" : report->model.objects[object].path;
	cJSON *location = cJSON_AddObjectToObject(entry, "location");

	cJSON_AddStringToObject(location, "file", spot && spot->file ? spot->file : path);
	hp_json_rounded(location, "line", spot && spot->file ? spot->line : 0);
	hp_json_rounded(location, "column", spot && spot->file ? spot->column : 0);
}

void hp_channel_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_channel_row *r = row;

	cJSON_AddBoolToObject(entry, "has_custom_label", r->label || (r->lock && r->lock->label));
	hp_lock_percentiles_add(report, &r->delay, true, "delay_percentiles", entry);
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

void hp_channel_messages_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_channel_row *r = row;

	messages_add(report, r->sent, r->sent_shown, true, "sent_logs", entry);
	messages_add(report, r->received, r->received_shown, false, "received_logs", entry);
}
