/* SPDX-License-Identifier: MIT */
/*
 * stream.c - see stream.h.
 */
#include "report/section/stream/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/namesake.h"
#include "report/name/symbol.h"
#include "report/read/model.h"
#include "report/section/core/views.h"
#include "report/section/wait/lock_section.h"
#include "segment/layout/process.h"
#include "segment/seq.h"

#define ROWS_MAX 4096	/* a damaged list may hold the same record many times over */

struct build {
	struct hp_report *report;
	struct hp_streams *streams;
	size_t room;
	bool is_running;	/* the process that is read */
};

/* --- logs --- */

static bool entry_read(const struct hp_stream_entry *there, struct hp_stream_entry *entry)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		entry->number = hp_seq_look(&there->number);
		if (!entry->number)
			return false;
		entry->ticks = hp_seq_get_word(&there->ticks);
		entry->item = hp_seq_get_word(&there->item);
		entry->size = hp_seq_get_word(&there->size);
		hp_seq_get_pair(&there->tid, &entry->tid, &entry->length);
		hp_seq_get(entry->text, there->text, sizeof(entry->text));
		if (entry->number != HP_SEQ_BUSY && hp_seq_is_same(&there->number, entry->number))
			return true;
	}
	return false;
}

static int compare_items(const void *left, const void *right)
{
	const struct hp_stream_item *a = left, *b = right;

	return a->record.ticks > b->record.ticks ? -1 : a->record.ticks < b->record.ticks;
}

static char *text_of(const struct hp_stream_entry *entry)
{
	uint32_t length = entry->length & ~HP_STREAM_CUT;

	if (!length || length > HP_STREAM_BYTES)
		return NULL;
	return hp_xprintf("%.*s%s", (int)length, entry->text,
			  entry->length & HP_STREAM_CUT ? "..." : "");
}

static void logs_add(struct hp_reader *reader, uint32_t at, struct hp_stream_row *row)
{
	const struct hp_stream_log *log =
		at ? hp_reader_take(reader, (uint64_t)at * HP_LINE, sizeof(*log)) : NULL;
	size_t room = row->log_count + HP_STREAM_ENTRIES;
	struct hp_stream_item *items;

	if (!log)
		return;
	items = hp_xcalloc(room, sizeof(*items));
	if (row->log_count)
		memcpy(items, row->logs, row->log_count * sizeof(*items));
	free(row->logs);
	row->logs = items;
	for (size_t i = 0; i < HP_STREAM_ENTRIES; i++) {
		struct hp_stream_item *item = &items[row->log_count];

		if (!entry_read(&log->entries[i], &item->record))
			continue;
		item->text = text_of(&item->record);
		row->log_count++;
	}
	if (row->log_count)
		qsort(items, row->log_count, sizeof(*items), compare_items);
	while (row->log_count > HP_STREAM_LAST_MAX)
		free(items[--row->log_count].text);
}

static void logs_move(struct hp_stream_row *to, struct hp_stream_row *from)
{
	size_t room = 0, count = to->log_count + from->log_count;
	struct hp_stream_item *items = hp_xcalloc(count + 1, sizeof(*items));

	for (size_t i = 0; i < to->log_count; i++)
		items[room++] = to->logs[i];
	for (size_t i = 0; i < from->log_count; i++)
		items[room++] = from->logs[i];
	qsort(items, count, sizeof(*items), compare_items);
	while (count > HP_STREAM_LAST_MAX)
		free(items[--count].text);
	free(to->logs);
	free(from->logs);
	to->logs = items;
	to->log_count = count;
	from->logs = NULL;
	from->log_count = 0;
}

/* --- one record --- */

static void parts_add(struct build *b, const struct hp_stream *record, struct hp_stream_row *row)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_stream_part part;

	for (uint64_t at = record->parts; hp_reader_step(reader, at, &part, sizeof(part));
	     at = part.next) {
		row->items += part.items + part.more_items;
		row->bytes += part.bytes;
		row->active_ticks += part.active_ticks;
		if (part.state != HP_TAKEN)
			continue;
		/* Its bytes are known when it is closed. */
		if (!part.settled && part.items + part.more_items > part.base)
			row->flags |= HP_STREAM_NO_BYTES;
		if (part.first && part.last > part.first)
			row->active_ticks += part.last - part.first;
		if (b->is_running)
			row->open++;
		else
			row->ended[HP_STREAM_LEFT]++;
	}
}

static void row_add_up(struct build *b, const struct hp_stream *record, struct hp_stream_row *row)
{
	struct hp_model *model = &b->report->model;

	row->flags |= record->flags;
	row->instances += record->instances;
	row->same += record->name && record->instances ? 1 + record->same : 0;
	for (int i = 0; i < HP_STREAM_ENDS; i++)
		row->ended[i] += record->ended[i];
	row->gaps.timed += record->gaps;
	row->gaps.hold_ticks += (double)record->gap_ticks;
	if (record->gap_most > row->gaps.hold_most)
		row->gaps.hold_most = record->gap_most;
	hp_lock_spread_add(model, &row->gaps.holds, record->gaps_at);
	parts_add(b, record, row);
	logs_add(&model->reader, record->log, row);
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The same place in another process. */
static struct hp_stream_row *row_like(struct hp_streams *streams, const struct hp_stream_row *row)
{
	for (size_t i = 0; i < streams->count; i++) {
		struct hp_stream_row *each = &streams->rows[i];

		if (each->site.address == row->site.address &&
		    each->site.object == row->site.object && each->kind == row->kind &&
		    each->origin == row->origin && is_equal(each->label, row->label))
			return each;
	}
	return NULL;
}

static void record_read(struct build *b, const struct hp_stream *record)
{
	struct hp_model *model = &b->report->model;
	struct hp_streams *streams = b->streams;
	struct hp_stream_row row = { .kind = record->kind, .origin = record->origin }, *found;

	row.site = hp_lock_place_of(model, record->site_module, record->site_address);
	row.label = record->label ? hp_reader_text(&model->reader, record->label) : NULL;
	row.path = record->name ? hp_reader_text(&model->reader, record->name) : NULL;
	found = row_like(streams, &row);
	if (found) {
		if (!is_equal(found->path, row.path))
			found->flags |= HP_STREAM_NAMES;
		free(row.label);
		free(row.path);
	} else {
		streams->rows =
			hp_xgrow(streams->rows, streams->count, &b->room, sizeof(*streams->rows));
		found = &streams->rows[streams->count++];
		*found = row;
	}
	row_add_up(b, record, found);
}

/* --- all --- */

static void process_read(struct build *b, const struct hp_process *process)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_account account;
	struct hp_stream record;

	if (!process->account || !hp_reader_copy(reader, (uint64_t)process->account * HP_LINE,
						 &account, sizeof(account)))
		return;
	b->is_running = !process->end_ticks;
	b->streams->lost += account.lost_streams;
	for (uint64_t at = account.streams; hp_reader_step(reader, at, &record, sizeof(record));
	     at = record.next)
		if (record.kind > 0 && record.kind < HP_STREAM_KINDS &&
		    b->streams->count < ROWS_MAX)
			record_read(b, &record);
}

const struct hp_symbol_spot *hp_stream_spot(struct hp_report *report,
					    const struct hp_stream_row *row)
{
	/* A return address is after the call: the byte before it belongs to the call's line. */
	return row->site.address ? hp_symbols_spot(report->symbols, row->site.object,
						   row->site.address - 1, false)
				 : NULL;
}

/* The last part of a path, if it stands for all instances. */
static char *file_name(const struct hp_stream_row *row)
{
	const char *slash, *path = row->path;

	if (!path || row->flags & HP_STREAM_NAMES)
		return NULL;
	slash = strrchr(path, '/');
	return hp_text_clean(slash && slash[1] ? slash + 1 : path);
}

static char *name_of(struct hp_report *report, const struct hp_stream_row *row)
{
	char *site, *file, *name;

	if (row->label)
		return hp_text_clean(row->label);
	if (row->origin == HP_STREAM_STDIN && row->site.object != HP_NONE)
		return hp_xprintf("stdin (%s)",
				  hp_name_file(report->model.objects[row->site.object].path));
	site = hp_spot_text(hp_stream_spot(report, row));
	file = file_name(row);
	if (!file)
		return site;
	name = hp_xprintf("%s (%s)", file, site);
	free(file);
	free(site);
	return name;
}

const char *hp_stream_name(struct hp_report *report, const struct hp_stream_row *asked)
{
	struct hp_stream_row *row = (struct hp_stream_row *)(uintptr_t)asked;

	if (!row->name)
		row->name = name_of(report, row);
	return row->name;
}

/* --- copies --- */

static void gaps_move(struct hp_lock_sum *to, struct hp_lock_sum *from)
{
	to->timed += from->timed;
	to->hold_ticks += from->hold_ticks;
	if (from->hold_most > to->hold_most)
		to->hold_most = from->hold_most;
	hp_histogram_move(&to->holds, &from->holds);
	from->timed = 0;
}

/* `from` keeps its id and its names. */
static void row_move(struct hp_stream_row *to, struct hp_stream_row *from)
{
	to->flags |= from->flags;
	to->instances += from->instances;
	to->same += from->same;
	for (int i = 0; i < HP_STREAM_ENDS; i++)
		to->ended[i] += from->ended[i];
	to->open += from->open;
	to->items += from->items;
	to->bytes += from->bytes;
	to->active_ticks += from->active_ticks;
	gaps_move(&to->gaps, &from->gaps);
	logs_move(to, from);
	from->is_copy = true;
}

/* They would have the same name. */
static bool is_named_like(const struct hp_stream_row *a, const struct hp_stream_row *b)
{
	return a->kind == b->kind && a->origin == b->origin && is_equal(a->label, b->label) &&
	       (a->flags & HP_STREAM_NAMES) == (b->flags & HP_STREAM_NAMES) &&
	       (a->flags & HP_STREAM_NAMES || is_equal(a->path, b->path));
}

static bool is_on_line(const struct hp_symbol_spot *a, const struct hp_symbol_spot *b)
{
	return b && b->file && a->line == b->line && strcmp(a->file, b->file) == 0;
}

/* The compiler copies calls with the functions around them: the line is one. */
static void copies_join(struct hp_report *report, const struct hp_streams *streams)
{
	for (size_t i = 0; i < streams->count; i++) {
		struct hp_stream_row *row = &streams->rows[i];
		const struct hp_symbol_spot *spot = hp_stream_spot(report, row);

		if (row->is_copy || !spot || !spot->file)
			continue;
		for (size_t n = i + 1; n < streams->count; n++) {
			struct hp_stream_row *other = &streams->rows[n];

			if (!other->is_copy && is_named_like(row, other) &&
			    is_on_line(spot, hp_stream_spot(report, other)))
				row_move(row, other);
		}
	}
}

struct namer {
	struct hp_report *report;
	const struct hp_streams *streams;
};

static char *detail_new(void *context, size_t i, unsigned detail)
{
	const struct namer *namer = context;
	const struct hp_stream_row *row = &namer->streams->rows[i];

	switch (detail) {
	case 0:
		return row->path && !(row->flags & HP_STREAM_NAMES) ? hp_text_clean(row->path)
								    : NULL;
	case 1:
		return hp_spot_text(hp_stream_spot(namer->report, row));
	case 2:
		return row->site.address ? hp_xprintf("0x%" PRIx64, row->site.address) : NULL;
	default:
		return hp_xprintf("#%u", row->id);
	}
}

const struct hp_streams *hp_streams_named(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_streams *streams = (struct hp_streams *)(uintptr_t)hp_streams_of(report);
	struct namer namer = { report, streams };
	char **names;
	uint32_t *kinds;

	if (streams->is_named)
		return streams;
	streams->is_named = true;
	copies_join(report, streams);
	names = hp_xcalloc(streams->count + 1, sizeof(*names));
	kinds = hp_xcalloc(streams->count + 1, sizeof(*kinds));
	for (size_t i = 0; i < streams->count; i++) {
		free(streams->rows[i].name);
		streams->rows[i].name = names[i] = NULL;
		if (!streams->rows[i].is_copy)
			names[i] = name_of(report, &streams->rows[i]);
		kinds[i] = streams->rows[i].kind;
	}
	hp_names_part(names, kinds, streams->count, detail_new, &namer);
	for (size_t i = 0; i < streams->count; i++)
		streams->rows[i].name = names[i];
	free(names);
	free(kinds);
	return streams;
}

static void view_free(void *held)
{
	struct hp_streams *streams = held;

	for (size_t i = 0; i < streams->all; i++) {
		struct hp_stream_row *row = &streams->rows[i];

		for (size_t n = 0; n < row->log_count; n++)
			free(row->logs[n].text);
		hp_lock_sum_release(&row->gaps);
		free(row->logs);
		free(row->label);
		free(row->path);
		free(row->name);
	}
	free(streams->rows);
	free(streams);
}

/* Files that are only written go to the end: they are no streams. */
static void written_part(struct hp_streams *streams)
{
	struct hp_stream_row *written = hp_xcalloc(streams->count + 1, sizeof(*written));
	size_t count = 0;

	streams->all = streams->count;
	streams->count = 0;
	for (size_t i = 0; i < streams->all; i++) {
		struct hp_stream_row *row = &streams->rows[i];

		if (row->kind == HP_STREAM_WRITTEN)
			written[count++] = *row;
		else
			streams->rows[streams->count++] = *row;
	}
	for (size_t i = 0; i < count; i++)
		streams->rows[streams->count + i] = written[i];
	for (size_t i = 0; i < streams->all; i++)
		streams->rows[i].id = (uint32_t)i + 1;
	free(written);
}

const struct hp_streams *hp_streams_of(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_streams *streams = hp_views_get(&report->views, &kind);
	struct hp_reader *reader = &report->model.reader;
	struct build b = { .report = report };
	struct hp_process process;
	uint64_t at = hp_reader_processes(reader);

	if (streams)
		return streams;
	streams = b.streams = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*streams)));
	hp_reader_restart(reader, 2);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next))
		process_read(&b, &process);
	written_part(streams);
	return streams;
}
