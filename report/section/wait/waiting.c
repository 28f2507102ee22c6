/* SPDX-License-Identifier: MIT */
/*
 * waiting.c - threads that were waiting at the end, and deadlocks among them.
 *
 * A wait names the thread that held the lock when the wait began. If that thread
 * still claims to hold it, the wait is for that thread; else for any that claims
 * it. If the chain of waits returns to its start, none of them can continue.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "report/section/channel/row/name.h"
#include "report/base/format.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"
#include "report/section/core/list.h"
#include "report/name/short.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

/* --- the thread waited for --- */

static const struct hp_lock_hold *hold_for(const struct hp_locks *locks,
					   const struct hp_lock_wait *wait)
{
	const struct hp_lock_hold *any = NULL;

	for (size_t i = 0; i < locks->hold_count; i++) {
		const struct hp_lock_hold *hold = &locks->holds[i];

		if (hold->is_left || hold->pid != wait->pid || hold->address != wait->address)
			continue;
		if (hold->tid == wait->holder)
			return hold;
		any = hold;
	}
	return any;
}

static const struct hp_lock_wait *wait_of_thread(const struct hp_locks *locks, uint32_t pid,
						 uint32_t tid)
{
	for (size_t i = 0; i < locks->wait_count; i++)
		if (locks->waits[i].pid == pid && locks->waits[i].tid == tid)
			return &locks->waits[i];
	return NULL;
}

/*
 * Nobody holds a channel. The last sender may send next, and the last
 * receiver may make room: its thread, 0 = not known.
 */
static uint32_t last_user(const struct hp_report *report, const struct hp_lock_wait *wait)
{
	const struct hp_lock_row *lock =
		&hp_lock_view_locks(hp_lock_view(report))->rows[wait->lock];
	const struct hp_channel_row *row =
		lock->kind == HP_LOCK_CHANNEL
			? hp_channels_row_at(hp_channel_rows(report), lock->channel)
			: NULL;
	uint32_t tid = 0;

	if (row && wait->side == HP_SIDE_READ && row->sent_shown)
		tid = row->sent[0].record.tid;
	else if (row && wait->side == HP_SIDE_WRITE && row->received_shown)
		tid = row->received[0].record.tid;
	return tid == wait->tid ? 0 : tid;
}

static const struct hp_lock_wait *next_wait(const struct hp_report *report,
					    const struct hp_lock_wait *wait)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_lock_hold *hold = hold_for(locks, wait);
	uint32_t last = hold ? 0 : last_user(report, wait);

	if (hold)
		return wait_of_thread(locks, hold->pid, hold->tid);
	return last ? wait_of_thread(locks, wait->pid, last) : NULL;
}

size_t hp_lock_wait_cycle(const struct hp_report *report, const struct hp_lock_wait *first)
{
	const struct hp_lock_wait *wait = first;
	size_t length = 0;

	do {
		wait = next_wait(report, wait);
		if (!wait || ++length > hp_lock_view_locks(hp_lock_view(report))->wait_count)
			return 0;
	} while (wait != first);
	return length;
}

const struct hp_lock_hold *hp_lock_wait_hold(const struct hp_report *report,
					     const struct hp_lock_wait *wait)
{
	return hold_for(hp_lock_view_locks(hp_lock_view(report)), wait);
}

uint32_t hp_lock_wait_for(const struct hp_report *report, const struct hp_lock_wait *wait)
{
	const struct hp_lock_hold *hold = hp_lock_wait_hold(report, wait);
	uint32_t last = hold ? 0 : last_user(report, wait);

	return hold ? hold->tid : last ? last : wait->holder;
}

/* Each cycle is shown once, for its first wait in the list. */
static bool is_first_of_cycle(const struct hp_report *report, const struct hp_lock_wait *first)
{
	const struct hp_lock_wait *wait = first;

	do {
		wait = next_wait(report, wait);
		if (wait < first)
			return false;
	} while (wait != first);
	return true;
}

/* It contains a channel, so another thread might send or make room. */
static bool is_perhaps(const struct hp_report *report, const struct hp_lock_wait *first)
{
	const struct hp_lock_wait *wait = first;

	do {
		if (!hold_for(hp_lock_view_locks(hp_lock_view(report)), wait))
			return true;
		wait = next_wait(report, wait);
	} while (wait != first);
	return false;
}

static char *place_text(struct hp_report *report, const struct hp_lock_place *place)
{
	char *whole = hp_lock_place_text(report, place);
	char *text = hp_name_display_path(whole, (size_t)report->settings->name_depth);

	free(whole);
	return text;
}

static void edge_write(struct hp_report *report, const struct hp_lock_wait *wait, FILE *out)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_lock_row *lock = &locks->rows[wait->lock];
	const struct hp_lock_hold *hold = hold_for(locks, wait);
	char *at = place_text(report, &wait->at);
	char *since = hold ? place_text(report, &hold->at) : NULL;

	if (hold)
		fprintf(out, "thread %u waits for %s at %s,\n          which thread %u got at %s\n",
			wait->tid, hp_lock_name(report, lock), at, hold->tid, since);
	else
		fprintf(out, "thread %u waits at %s: %s, %s,\n          %s thread %u %s last\n",
			wait->tid, at, hp_lock_name(report, lock),
			hp_lock_row_kind(lock, wait->side),
			wait->side == HP_SIDE_READ ? "into which" : "from which",
			last_user(report, wait), wait->side == HP_SIDE_READ ? "sent" : "received");
	free(at);
	free(since);
}

static void cycle_write(struct hp_report *report, const struct hp_lock_wait *first, FILE *out)
{
	const struct hp_lock_wait *wait = first;

	fprintf(out,
		"note      %s: ", is_perhaps(report, first) ? "perhaps a deadlock" : "deadlock");
	do {
		if (wait != first)
			fputs("          ", out);
		edge_write(report, wait, out);
		wait = next_wait(report, wait);
	} while (wait != first);
}

void hp_deadlocks_write(struct hp_report *report, FILE *out)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	for (size_t i = 0; i < locks->wait_count; i++)
		if (hp_lock_wait_cycle(report, &locks->waits[i]) &&
		    is_first_of_cycle(report, &locks->waits[i]))
			cycle_write(report, &locks->waits[i], out);
}

/* --- the section --- */

static const struct hp_lock_wait *wait_of(const void *row)
{
	return row;
}

static void waiting_thread(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model *model = &cell->report->model;
	const char *name = "";

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == wait_of(cell->row)->tid &&
		    model->threads[i].pid == wait_of(cell->row)->pid)
			name = model->threads[i].name;
	hp_cell_set_text(
		cell, hp_xprintf("%s%s%u", name, *name ? " " : "", wait_of(cell->row)->tid), value);
}

static void waiting_object(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(cell->report));

	value->text = hp_lock_name(cell->report, &locks->rows[wait_of(cell->row)->lock]);
}

static void waiting_kind(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(cell->report));

	value->text =
		hp_lock_row_kind(&locks->rows[wait_of(cell->row)->lock], wait_of(cell->row)->side);
}

static void waiting_at(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_place(cell, &wait_of(cell->row)->at, value);
}

static void waiting_path(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell,
			 hp_lock_path_text(cell->report, &wait_of(cell->row)->at,
					   wait_of(cell->row)->path),
			 value);
}

static void waiting_since(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(cell->report));
	uint64_t since = wait_of(cell->row)->since, end = locks->end_ticks;

	value->number = end > since ? (double)(end - since) * cell->report->model.ns_per_tick : 0;
}

static void waiting_for(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = hp_lock_wait_for(cell->report, wait_of(cell->row));
	value->is_unknown = value->number <= 0;
}

static void waiting_holder(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_hold *hold =
		hold_for(hp_lock_view_locks(hp_lock_view(cell->report)), wait_of(cell->row));

	value->is_unknown = !hold;
	if (hold)
		hp_lock_set_place(cell, &hold->at, value);
}

/* How many threads wait in a circle. */
static void waiting_cycle(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)hp_lock_wait_cycle(cell->report, wait_of(cell->row));
}

static const struct hp_column columns[] = {
	{ "Thread", "thread", "thread", HP_UNIT_TEXT, .get = waiting_thread },
	{ .raw = "tid", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_wait, tid) },
	{ .raw = "pid", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_wait, pid) },
	{ "Waits for", "object", "object", HP_UNIT_CHAIN, .get = waiting_object },
	{ "Kind", "kind", "kind", HP_UNIT_TEXT, .get = waiting_kind },
	{ "At", NULL, NULL, HP_UNIT_CHAIN, .get = waiting_path },
	{ NULL, "at", "at", HP_UNIT_TEXT, .get = waiting_at },
	{ "Since", "since", "since_ns", HP_UNIT_TIME, .get = waiting_since },
	{ .raw = "holder_tid", .unit = HP_UNIT_NUMBER, .get = waiting_for },
	{ "Held by", "holder", "holder", HP_UNIT_CHAIN, .get = waiting_holder },
	{ .raw = "cycle", .unit = HP_UNIT_NUMBER, .get = waiting_cycle },
	{ 0 },
};

/* The longest wait first. */
static int compare_waiting(const void *left, const void *right)
{
	const struct hp_lock_wait *a = *(const struct hp_lock_wait *const *)left;
	const struct hp_lock_wait *b = *(const struct hp_lock_wait *const *)right;

	if (a->since != b->since)
		return a->since < b->since ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	list->total = locks->wait_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &locks->waits[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_waiting);
	hp_section_cut(&hp_waiting_section, report, list);
}

/* Idle workers wait at the end of every program: `auto` shows them only after an abnormal end. */
static bool has_data(const struct hp_report *report)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_header *header = &report->model.reader.header;
	bool is_killed = header->status_known && WIFSIGNALED((int)header->root_status);

	for (size_t i = 0; i < locks->wait_count; i++)
		if (is_killed || hp_lock_wait_cycle(report, &locks->waits[i]))
			return true;
	return false;
}

static const char *describe(const struct hp_report *report)
{
	return report->record.is_live ? "Threads that wait now, and for whom."
				      : "Threads that were waiting at the end, and for whom.";
}

static const char *empty(struct hp_report *report)
{
	return report->record.is_live ? "no thread waits now" : "no thread was waiting";
}

static void add_frames(struct hp_report *report, const void *row, struct cJSON *entry)
{
	hp_lock_path_add(report, wait_of(row)->path, "frames", entry);
}

const struct hp_section hp_waiting_section = {
	.key = "waiting",
	.json = "waiting",
	.name = "waiting",
	.help = "ongoing waits, and for whom",
	.subject = HP_SUBJECT_WAIT,
	.columns = columns,
	.needs = HP_RECORDED_LOCKS | HP_RECORDED_CHANNELS,
	.fill = fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.describe = describe,
	.empty = empty,
	.extra = { .head = hp_lock_add_head,
		   .raw = add_frames,
		   .list_keys = HP_LOCK_KEYS,
		   .raw_keys = "frames:[@frame] released_by:[@frame]" },
	.tool = { .name = "waiting_now",
		  .help = "Threads that wait for a lock at this moment, and for whom." },
};
