/* SPDX-License-Identifier: MIT */
/*
 * lock.c - reads the records of locks and sums them up: see lock.h.
 */
#include "report/section/wait/lock.h"

#include <stdlib.h>
#include <string.h>

#include "report/section/wait/lock_build.h"
#include "report/base/memory.h"
#include "report/read/label.h"
#include "segment/layout/process.h"
#include "segment/layout/channel.h"

/* --- locks --- */

/* One that was used before it got its label has two records. */
static void keep_label(struct hp_lock_row *row, char *label)
{
	if (!row->label)
		row->label = label;
	else if (row->label != label)
		free(label);
}

/* Returns false if its channel is invalid. */
static bool row_of_channel(struct hp_lock_build *b, const struct hp_lock *record,
			   struct hp_lock_row *row)
{
	struct hp_channel channel;

	if (record->number != HP_LOCK_OF_CHANNEL ||
	    !hp_reader_copy(&b->model->reader, record->address, &channel, sizeof(channel)) ||
	    channel.kind == 0 || channel.kind >= HP_CHANNEL_KINDS)
		return false;
	row->at = (struct hp_lock_place){ .object = HP_NONE, .address = record->address };
	row->site.object = HP_NONE;
	row->channel = record->address;
	row->channel_kind = channel.kind;
	row->is_found = channel.origin == HP_CHANNEL_FOUND;
	return true;
}

static void read_locks(struct hp_lock_build *b, uint64_t at)
{
	struct hp_lock record;
	bool is_new;

	for (; hp_reader_step(&b->model->reader, at, &record, sizeof(record)); at = record.next) {
		struct hp_lock_row row = { .kind = record.kind, .number = record.number };
		uint32_t place;

		if (record.kind == 0 || record.kind >= HP_LOCK_KINDS)
			continue;
		if (record.kind == HP_LOCK_CHANNEL) {
			if (!row_of_channel(b, &record, &row))
				continue;
		} else if (record.number == HP_LOCK_STATIC) {
			row.at = hp_lock_build_place(b, record.module, record.address);
			row.site.object = HP_NONE;
		} else {
			row.at.object = HP_NONE;
			row.site = hp_lock_build_place(b, record.site_module, record.site_address);
			row.is_made = record.is_made != 0;
			row.inside = record.is_made == HP_LOCK_ALLOCATED ? record.inside : 0;
			row.offset = record.inside;
			row.block = record.block;
		}
		row.label = record.label ? hp_label_text(&b->model->reader, record.label) : NULL;
		if (row.number == HP_LOCK_LABEL && !row.label)
			row.number = HP_LOCK_MORE;
		place = hp_lock_build_row(b, &row);
		keep_label(&b->locks->rows[place - 1], row.label);
		b->locks->rows[place - 1].objects += record.objects;
		if (record.number == HP_LOCK_STATIC && !b->locks->rows[place - 1].objects)
			b->locks->rows[place - 1].objects = 1;
		*hp_map_at(&b->rows, at, &is_new) = place;
	}
}

/* --- all --- */

static void read_processes(struct hp_lock_build *b)
{
	struct hp_reader *reader = &b->model->reader;
	struct hp_process process;
	struct hp_lockset set;
	uint64_t at = hp_reader_processes(reader);
	bool is_new;

	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		if (!process.lockset || !hp_reader_copy(reader, process.lockset, &set, sizeof(set)))
			continue;
		/* One of each process; in a damaged segment many may lead to the same. */
		hp_map_at(&b->sets, process.lockset, &is_new);
		if (!is_new)
			continue;
		b->locks->lost += set.lost;
		if (set.thread_count > HP_THREADS_MAX)
			b->locks->birthless += set.thread_count - HP_THREADS_MAX;
		read_locks(b, set.locks);
		b->process = &process;
		hp_lock_read_waiters(b, set.waiters, process.modules);
		hp_lock_read_births(b, set.threads, process.modules);
	}
}

void hp_locks_init(struct hp_locks *locks, struct hp_model *model)
{
	struct hp_lock_build b = { .model = model, .locks = locks };

	memset(locks, 0, sizeof(*locks));
	hp_reader_restart(&model->reader, 2);
	read_processes(&b);
	hp_lock_fold(&b);
	locks->end_ticks = hp_reader_end_ticks(&model->reader);
	hp_map_release(&b.sets);
	hp_map_release(&b.rows);
	hp_map_release(&b.same);
	hp_map_release(&b.uses);
	hp_map_release(&b.objects);
	free(b.modules);
}

void hp_locks_release(struct hp_locks *locks)
{
	for (size_t i = 0; i < locks->count; i++)
		free(locks->rows[i].label);
	for (size_t i = 0; i < locks->count; i++)
		for (int side = 0; side < HP_SIDES; side++)
			hp_lock_sum_release(&locks->rows[i].sums[side]);
	free(locks->rows);
	free(locks->contests);
	free(locks->holds);
	free(locks->spans);
	free(locks->waits);
	free(locks->orders);
	free(locks->threads);
	free(locks->parties);
	free(locks->posters);
	free(locks->births);
	hp_lock_paths_release(&locks->paths);
}
