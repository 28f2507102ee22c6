/* SPDX-License-Identifier: MIT */
/*
 * future.c - see future.h: reads the records of the segment.
 *
 * Each process has a record of each place where its futures begin; equal places of several processes are one
 * row here.  Flights are written while they are read: sums may be a poll apart.
 */
#include "report/section/future/future.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/namesake.h"
#include "report/name/symbol.h"
#include "report/section/core/views.h"
#include "report/section/wait/lock_section.h"
#include "segment/layout/process.h"
#include "segment/seq.h"

struct build {
	struct hp_report *report;
	struct hp_futures *futures;
	size_t room;
	bool is_ended;	/* the process that is read */
};

/* --- words --- */

const char *hp_future_kind_name(uint32_t kind)
{
	static const char *const names[HP_FUTURE_KINDS] = {
		[HP_FUTURE_CUSTOM] = "future",	 [HP_FUTURE_COROUTINE] = "coroutine",
		[HP_FUTURE_THREAD] = "thread",	 [HP_FUTURE_CONNECT] = "connect",
		[HP_FUTURE_AIO] = "aio",	 [HP_FUTURE_TASK] = "GTask",
		[HP_FUTURE_JOB] = "GThreadPool", [HP_FUTURE_URING] = "io_uring",
		[HP_FUTURE_UV] = "libuv",	 [HP_FUTURE_CONTEXT] = "context",
	};

	return kind < HP_FUTURE_KINDS && names[kind] ? names[kind] : "?";
}

const char *hp_future_state_name(uint32_t state)
{
	static const char *const names[HP_FUTURE_STATES] = { "pending",	  "pending", "running",
							     "suspended", "ready",   "cancelled" };

	return state < HP_FUTURE_STATES ? names[state] : "?";
}

/* --- names --- */

const struct hp_symbol_spot *hp_future_spot(const struct hp_report *report,
					    const struct hp_future_row *row)
{
	struct hp_lock_place place = row->site;

	if (!place.address)
		return NULL;
	/* The function itself; for the others, hp_lock_code uses the call before the return
	 * address. */
	place.address += row->kind == HP_FUTURE_COROUTINE;
	return hp_lock_code((struct hp_report *)(uintptr_t)report, &place);
}

/* "work(int) [clone .actor]" of gcc and "work(int) (.resume)" of clang are both work(int). */
static char *coroutine_name(const char *symbol)
{
	static const char *const ends[] = { " [clone", " (.", "(.", ".actor", ".resume" };
	char *name = hp_xstrdup(symbol);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		char *end = strstr(name, ends[i]);

		if (end && end > name)
			*end = 0;
	}
	return name;
}

static char *source_new(const struct hp_report *report, const struct hp_future_row *row)
{
	const char *slash = row->file ? strrchr(row->file, '/') : NULL;

	if (!row->file)
		return hp_spot_text(hp_future_spot(report, row));
	while (slash && slash > row->file && slash[-1] != '/')
		slash--;
	return hp_xprintf("%s:%u", slash ? slash : row->file, row->line);
}

/* Where libstdc++ calls pthread_create, for all threads of the program. */
static bool is_std_thread(const struct hp_symbol_spot *spot)
{
	static const char starter[] = "std::thread::_M_start_thread(";

	return spot && spot->name && strncmp(spot->name, starter, strlen(starter)) == 0;
}

static char *name_new(const struct hp_report *report, const struct hp_future_row *row)
{
	const struct hp_symbol_spot *spot = NULL;

	if (row->label)
		return hp_text_clean(row->label);
	if (row->kind == HP_FUTURE_COROUTINE || row->kind == HP_FUTURE_THREAD)
		spot = hp_future_spot(report, row);
	if (row->kind == HP_FUTURE_THREAD && is_std_thread(spot))
		return hp_xstrdup("std::thread");
	return row->kind == HP_FUTURE_COROUTINE && spot ? coroutine_name(spot->name)
							: hp_xstrdup(row->source);
}

/* --- calls --- */

static struct hp_future_call *call_add(struct hp_future_row *row)
{
	row->logs = hp_xgrow(row->logs, row->log_count, &row->log_room, sizeof(*row->logs));
	row->logs[row->log_count] = (struct hp_future_call){ .text = NULL };
	return &row->logs[row->log_count];
}

static bool entry_read(const struct hp_future_entry *there, struct hp_future_entry *entry)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		uint64_t number = hp_seq_look(&there->number);

		if (!number)
			return false;
		hp_seq_get(entry, there, sizeof(*entry));
		entry->number = number;
		if (number != HP_SEQ_BUSY && hp_seq_is_same(&there->number, number))
			return true;
	}
	return false;
}

static void log_read(struct hp_future_row *row, const struct hp_future_log *log)
{
	for (size_t i = 0; i < HP_FUTURE_ENTRIES; i++) {
		struct hp_future_call *call = call_add(row);

		if (!entry_read(&log->entries[i], &call->entry) ||
		    call->entry.state >= HP_FUTURE_STATES)
			continue;
		if (call->entry.text_size <= HP_FUTURE_TEXT)
			call->text =
				hp_xprintf("%.*s", (int)call->entry.text_size, call->entry.text);
		row->log_count++;
	}
}

static void flight_call(struct hp_future_row *row, const struct hp_flight *flight, uint32_t state)
{
	call_add(row)->entry = (struct hp_future_entry){
		.number = flight->number,
		.created = flight->created,
		.state = state,
		.polls = flight->polls - flight->polls_before,
		.timed = flight->timed - flight->timed_before,
		.poll_ticks = flight->poll_ticks - flight->ticks_before,
		.poll_most = flight->poll_most,
		.poll_last = flight->poll_last,
		.alloc_bytes = flight->alloc_bytes - flight->bytes_before,
		.alloc_blocks = flight->alloc_blocks - flight->blocks_before,
		.alloc_most = flight->alloc_most,
		.alloc_last = flight->alloc_last,
		.queued = flight->queued_now,
	};
	row->log_count++;
}

static void flight_add(struct build *b, struct hp_future_row *row, const struct hp_flight *flight)
{
	uint32_t state = atomic_load_explicit(&flight->state, memory_order_relaxed);

	row->ready += flight->ended - flight->cancelled;
	row->cancelled += flight->cancelled;
	row->open += flight->left;
	row->polls += flight->polls;
	row->timed += flight->timed;
	row->poll_ticks += flight->poll_ticks;
	row->alloc_bytes += flight->alloc_bytes;
	row->alloc_blocks += flight->alloc_blocks;
	row->totals += flight->totals;
	row->total_ticks += flight->total_ticks;
	row->queued += flight->queued;
	row->queued_ticks += flight->queued_ticks;
	if (flight->total_most > row->total_most)
		row->total_most = flight->total_most;
	if (flight->poll_most > row->poll_most)
		row->poll_most = flight->poll_most;
	if (!state || state >= HP_FUTURE_STATES || !flight->number)
		return;
	row->open++;
	if (b->is_ended)
		return;
	row->in_state[state]++;
	flight_call(row, flight, state);
}

static int compare_calls(const void *left, const void *right)
{
	const struct hp_future_call *a = left, *b = right;

	return a->entry.number > b->entry.number ? -1 : a->entry.number < b->entry.number;
}

static void calls_cut(struct hp_future_row *row)
{
	if (row->log_count)
		qsort(row->logs, row->log_count, sizeof(*row->logs), compare_calls);
	while (row->log_count > HP_FUTURE_LOGGED)
		free(row->logs[--row->log_count].text);
}

/* --- rows --- */

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static bool is_same(const struct hp_future_row *a, const struct hp_future_row *b)
{
	if (a->kind != b->kind || !is_same_text(a->label, b->label))
		return false;
	if (a->label)
		return true;
	return a->line == b->line && is_same_text(a->file, b->file) &&
	       a->site.object == b->site.object && a->site.address == b->site.address;
}

static void row_release(struct hp_future_row *row)
{
	for (size_t i = 0; i < row->log_count; i++)
		free(row->logs[i].text);
	free(row->logs);
	free(row->label);
	free(row->file);
	free(row->name);
	free(row->source);
}

/* The row of a record's place: an earlier one, or a new one. */
static struct hp_future_row *row_of(struct build *b, const struct hp_future *record)
{
	struct hp_futures *futures = b->futures;
	struct hp_model *model = &b->report->model;
	struct hp_future_row row = { .kind = record->kind, .line = record->line };

	row.label = record->label ? hp_reader_text(&model->reader, record->label) : NULL;
	row.file = record->file ? hp_label_text(&model->reader, record->file) : NULL;
	row.site = hp_lock_place_of(model, record->site_module, record->site_address);
	for (size_t i = 0; i < futures->count; i++)
		if (is_same(&futures->rows[i], &row)) {
			row_release(&row);
			return &futures->rows[i];
		}
	futures->rows = hp_xgrow(futures->rows, futures->count, &b->room, sizeof(row));
	futures->rows[futures->count] = row;
	return &futures->rows[futures->count++];
}

static void record_add(struct build *b, const struct hp_future *record)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_future_row *row = row_of(b, record);
	const struct hp_future_log *log =
		record->log ? hp_reader_take(reader, (uint64_t)record->log * HP_LINE, sizeof(*log))
			    : NULL;
	struct hp_flight flight;

	row->calls += record->calls;
	row->lost += record->lost;
	b->futures->unseen += record->unseen;
	if (record->poll_most > row->poll_most)
		row->poll_most = record->poll_most;
	for (uint64_t at = record->flights; hp_reader_step(reader, at, &flight, sizeof(flight));
	     at = flight.next)
		flight_add(b, row, &flight);
	if (log)
		log_read(row, log);
}

/* The list begins with the newest record: ids count from the oldest. */
static void list_read(struct build *b, uint64_t at)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_future *records = NULL, record;
	size_t count = 0, room = 0;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next) {
		if (!record.kind || record.kind >= HP_FUTURE_KINDS)
			continue;
		records = hp_xgrow(records, count, &room, sizeof(*records));
		records[count++] = record;
	}
	while (count)
		record_add(b, &records[--count]);
	free(records);
}

static void view_free(void *held)
{
	struct hp_futures *futures = held;

	for (size_t i = 0; i < futures->count; i++)
		row_release(&futures->rows[i]);
	free(futures->rows);
	free(futures);
}

static void all_read(struct build *b)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_process process;
	struct hp_account account;
	uint64_t at = hp_reader_processes(reader);

	hp_reader_restart(reader, 3);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		if (!process.account || !hp_reader_copy(reader, (uint64_t)process.account * HP_LINE,
							&account, sizeof(account)))
			continue;
		b->is_ended = process.end_ticks != 0;
		b->futures->lost += account.lost_futures;
		list_read(b, account.futures);
	}
}

/*
 * Calls that ended unseen: their flights do not know it.  Where they began is not known either, so
 * the first places with calls in flight get them.
 */
static void unseen_take(struct hp_futures *futures)
{
	uint64_t left = futures->unseen;

	for (size_t i = 0; i < futures->count && left; i++) {
		struct hp_future_row *row = &futures->rows[i];
		uint64_t *pending = &row->in_state[HP_FUTURE_PENDING];
		uint64_t taken = row->open < left ? row->open : left;

		if (row->kind != HP_FUTURE_URING)
			continue;
		row->open -= taken;
		row->lost += taken;
		*pending -= taken < *pending ? taken : *pending;
		left -= taken;
	}
}

const struct hp_futures *hp_futures_of(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_futures *futures = hp_views_get(&report->views, &kind);
	struct build b = { .report = report };

	if (futures)
		return futures;
	futures = b.futures = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*futures)));
	all_read(&b);
	unseen_take(futures);
	for (size_t i = 0; i < futures->count; i++) {
		struct hp_future_row *row = &futures->rows[i];

		row->id = (uint32_t)i + 1;
		calls_cut(row);
	}
	return futures;
}

/* --- copies --- */

static bool has_line(const struct hp_report *report, const struct hp_future_row *row)
{
	const struct hp_symbol_spot *spot = row->file ? NULL : hp_future_spot(report, row);

	return row->file || (spot && spot->file);
}

static void most_set(uint64_t *most, uint64_t other)
{
	if (other > *most)
		*most = other;
}

static void logs_move(struct hp_future_row *to, struct hp_future_row *from)
{
	for (size_t i = 0; i < from->log_count; i++) {
		*call_add(to) = from->logs[i];
		to->log_count++;
	}
	free(from->logs);
	from->logs = NULL;
	from->log_count = from->log_room = 0;
	calls_cut(to);
}

/* `from` keeps its id and its names. */
static void row_move(struct hp_future_row *to, struct hp_future_row *from)
{
	uint64_t *const sums[][2] = {
		{ &to->calls, &from->calls },
		{ &to->ready, &from->ready },
		{ &to->cancelled, &from->cancelled },
		{ &to->open, &from->open },
		{ &to->lost, &from->lost },
		{ &to->polls, &from->polls },
		{ &to->timed, &from->timed },
		{ &to->poll_ticks, &from->poll_ticks },
		{ &to->alloc_bytes, &from->alloc_bytes },
		{ &to->alloc_blocks, &from->alloc_blocks },
		{ &to->totals, &from->totals },
		{ &to->total_ticks, &from->total_ticks },
		{ &to->queued, &from->queued },
		{ &to->queued_ticks, &from->queued_ticks },
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		*sums[i][0] += *sums[i][1];
		*sums[i][1] = 0;
	}
	for (size_t i = 0; i < HP_FUTURE_STATES; i++) {
		to->in_state[i] += from->in_state[i];
		from->in_state[i] = 0;
	}
	most_set(&to->poll_most, from->poll_most);
	most_set(&to->total_most, from->total_most);
	logs_move(to, from);
	from->is_copy = true;
}

/* The compiler copies calls with the functions around them: the line is one. */
static void copies_join(const struct hp_report *report, const struct hp_futures *futures)
{
	for (size_t i = 0; i < futures->count; i++) {
		struct hp_future_row *row = &futures->rows[i];

		if (row->label || row->is_copy || !has_line(report, row))
			continue;
		for (size_t n = i + 1; n < futures->count; n++) {
			struct hp_future_row *other = &futures->rows[n];

			if (!other->label && !other->is_copy && other->kind == row->kind &&
			    strcmp(other->source, row->source) == 0 &&
			    strcmp(other->name, row->name) == 0)
				row_move(row, other);
		}
	}
}

static char *detail_new(void *context, size_t i, unsigned detail)
{
	const struct hp_future_row *row = &((const struct hp_futures *)context)->rows[i];

	switch (detail) {
	case 0:
		return hp_xstrdup(row->source);
	case 1:
		return row->site.address ? hp_xprintf("0x%" PRIx64, row->site.address) : NULL;
	default:
		return hp_xprintf("#%u", row->id);
	}
}

static void names_part(struct hp_futures *futures)
{
	char **names = hp_xcalloc(futures->count + 1, sizeof(*names));
	uint32_t *kinds = hp_xcalloc(futures->count + 1, sizeof(*kinds));

	for (size_t i = 0; i < futures->count; i++) {
		names[i] = futures->rows[i].is_copy ? NULL : futures->rows[i].name;
		kinds[i] = futures->rows[i].kind;
	}
	hp_names_part(names, kinds, futures->count, detail_new, futures);
	for (size_t i = 0; i < futures->count; i++)
		if (names[i])
			futures->rows[i].name = names[i];
	free(names);
	free(kinds);
}

const struct hp_futures *hp_futures_named(const struct hp_report *report)
{
	struct hp_futures *futures = (struct hp_futures *)(uintptr_t)hp_futures_of(report);

	if (!futures->count || futures->rows[0].name)
		return futures;
	for (size_t i = 0; i < futures->count; i++) {
		struct hp_future_row *row = &futures->rows[i];

		row->source = source_new(report, row);
		row->name = name_new(report, row);
	}
	copies_join(report, futures);
	names_part(futures);
	return futures;
}
