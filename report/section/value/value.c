/* SPDX-License-Identifier: MIT */
/*
 * value.c - see value.h: the records of the segment.
 */
#include "report/section/value/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/logged.h"
#include "report/section/core/views.h"
#include "segment/layout/process.h"
#include "segment/seq.h"

/* --- one record --- */

static bool entry_read(const struct hp_value_entry *there, struct hp_value_seen *seen,
		       uint32_t place[2])
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		seen->number = hp_seq_look(&there->number);
		if (!seen->number)
			return false;
		seen->ticks = hp_seq_get_word(&there->ticks);
		hp_seq_get_pair(&there->tid, &seen->tid, &seen->type);
		hp_seq_get_pair(&there->line, &place[0], &place[1]);
		seen->bits = hp_seq_get_word(&there->bits);
		hp_seq_get(seen->bytes, there->bytes, sizeof(seen->bytes));
		if (seen->number != HP_SEQ_BUSY && hp_seq_is_same(&there->number, seen->number))
			return true;
	}
	seen->number = 0;
	return false;
}

static int compare_seen(const void *left, const void *right)
{
	const struct hp_value_seen *a = left, *b = right;

	return a->number > b->number ? -1 : a->number < b->number;
}

static char *source_of(struct hp_reader *reader, const uint32_t place[2])
{
	char *file = place[1] ? hp_label_text(reader, (uint64_t)place[1] * HP_LINE) : NULL;
	char *source = file ? hp_value_source(file, place[0]) : NULL;

	free(file);
	return source;
}

static void logs_read(struct hp_reader *reader, struct hp_value_row *row,
		      const struct hp_value_log *log)
{
	uint32_t place[2];

	row->logs = hp_xcalloc(HP_VALUE_ENTRIES, sizeof(*row->logs));
	for (size_t i = 0; i < HP_VALUE_ENTRIES; i++) {
		struct hp_value_seen *seen = &row->logs[row->log_count];

		if (!entry_read(&log->entries[i], seen, place) || !seen->ticks)
			continue;
		seen->source = source_of(reader, place);
		row->log_count++;
	}
	if (row->log_count)
		qsort(row->logs, row->log_count, sizeof(*row->logs), compare_seen);
	while (row->log_count > hp_logged_most(reader, HP_VALUE_LOGGED))
		free(row->logs[--row->log_count].source);
}

/* Types with bytes: the newest complete one; its writer may have been killed halfway. */
static void last_read(struct hp_value_row *row, const struct hp_value_log *log)
{
	struct hp_value_seen seen = { .number = 0 };
	uint32_t place[2];

	if (row->last.type < HP_VALUE_TEXT || row->last.type == HP_VALUE_UNREADABLE)
		return;
	row->last.number = 0;
	for (size_t i = 0; log && i < HP_VALUE_LASTS; i++)
		if (entry_read(&log->lasts[i], &seen, place) && seen.number > row->last.number)
			row->last = seen;
}

/* `count`, `bits` and `count` again: they change together. */
static void word_read(const struct hp_shown *there, struct hp_value_row *row)
{
	uint64_t count = 0;

	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		count = __atomic_load_n(&there->count, __ATOMIC_ACQUIRE);
		row->last.bits = __atomic_load_n(&there->bits, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&there->count, __ATOMIC_RELAXED) == count)
			break;
	}
	row->count = row->last.number = count >> HP_VALUE_TYPE_BITS;
	row->last.type = count & ((1U << HP_VALUE_TYPE_BITS) - 1);
}

static double double_of(uint64_t bits)
{
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static bool row_read(struct hp_reader *reader, uint64_t at, const struct hp_shown *record,
		     struct hp_value_row *row)
{
	const struct hp_shown *there = hp_reader_see(reader, at, sizeof(*there));
	const struct hp_value_log *log =
		record->log ? hp_reader_take(reader, (uint64_t)record->log * HP_LINE, sizeof(*log))
			    : NULL;

	*row = (struct hp_value_row){ .kind = record->kind,
				      .pid = record->pid,
				      .line = record->line,
				      .least = double_of(record->least),
				      .most = double_of(record->most) };
	if (!there || record->kind == 0 || record->kind >= HP_VALUE_KINDS)
		return false;
	row->name = hp_reader_text(reader, record->name);
	if (!row->name)
		return false;
	row->file = record->file ? hp_label_text(reader, record->file) : NULL;
	word_read(there, row);
	if (row->last.type >= HP_VALUE_TYPES)
		row->last.number = 0;
	last_read(row, log);
	if (log)
		logs_read(reader, row, log);
	return true;
}

/* --- all --- */

static struct hp_value_row *row_add(struct hp_values *values, size_t *room)
{
	values->rows = hp_xgrow(values->rows, values->count, room, sizeof(*values->rows));
	return &values->rows[values->count];
}

/* The list begins with the newest: ids count from the oldest. */
static void order_turn(struct hp_values *values, size_t from)
{
	for (size_t a = from, b = values->count; a + 1 < b; a++) {
		struct hp_value_row row = values->rows[a];

		values->rows[a] = values->rows[--b];
		values->rows[b] = row;
	}
}

static void list_read(struct hp_reader *reader, uint64_t at, struct hp_values *values, size_t *room)
{
	size_t from = values->count;
	struct hp_shown record;

	for (; hp_reader_step(reader, at, &record, sizeof(record)); at = record.next)
		if (row_read(reader, at, &record, row_add(values, room)))
			values->count++;
	order_turn(values, from);
}

/* Two processes may have one of the same name: then each shows its process. */
static void names_settle(struct hp_values *values)
{
	for (size_t i = 0; i < values->count; i++)
		for (size_t n = 0; n < values->count && !values->rows[i].is_one_of; n++) {
			struct hp_value_row *a = &values->rows[i], *b = &values->rows[n];

			a->is_one_of = a->pid != b->pid && a->kind == b->kind &&
				       strcmp(a->name, b->name) == 0 &&
				       (a->kind != HP_VALUE_DBG || a->line == b->line);
		}
}

static void view_free(void *held)
{
	struct hp_values *values = held;

	for (size_t i = 0; i < values->count; i++) {
		struct hp_value_row *row = &values->rows[i];

		for (size_t n = 0; n < row->log_count; n++)
			free(row->logs[n].source);
		free(row->logs);
		free(row->name);
		free(row->file);
	}
	free(values->rows);
	free(values);
}

static void all_read(struct hp_report *report, struct hp_values *values, size_t *room)
{
	struct hp_reader *reader = &report->model.reader;
	struct hp_process process;
	struct hp_account account;
	uint64_t at = hp_reader_processes(reader);

	hp_reader_restart(reader, 2);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		if (!process.account || !hp_reader_copy(reader, (uint64_t)process.account * HP_LINE,
							&account, sizeof(account)))
			continue;
		values->lost += account.lost_values;
		list_read(reader, account.values, values, room);
	}
}

const struct hp_values *hp_values_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_values *values = hp_views_get(&report->views, &kind);
	size_t room = 0;

	if (values)
		return values;
	values = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*values)));
	all_read(report, values, &room);
	names_settle(values);
	for (size_t i = 0; i < values->count; i++)
		values->rows[i].id = (uint32_t)i + 1;
	hp_values_add_free(report, values, &room);
	return values;
}
