/* SPDX-License-Identifier: MIT */
/*
 * value.c - see value.h: records, and their logs.
 *
 * Records are in a list of the process. A thread searches for a record, and if it is missing,
 * pushes it onto exactly the list that it searched: so none exists twice.
 */
#include "preload/value/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "preload/call/block.h"
#include "preload/call/local.h"
#include "preload/channel/channel.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/thread/process.h"
#include "preload/thread/state.h"
#include "segment/section_key.h"
#include "segment/seq.h"
#include "util/random.h"

#define VALUE_NAME_MAX 1000	/* bytes */
#define FILE_MAX 4000

/* Ticks that an entry costs, the share of the time that may go there, and how far ahead. */
#define LOG_COST 200
#define LOG_SHARE 50
#define LOG_AHEAD 1024
#define LOG_GAP 256	/* without credit: one in this many, at random */

static bool is_wanted;

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

/* --- records --- */

static bool is_same(const struct hp_shown *value, const struct hotpath_value *place,
		    enum hp_value_kind kind, size_t length)
{
	const struct hp_text *name = at(value->name);
	const struct hp_text *file = value->file ? at(value->file) : NULL;

	if (value->kind != (uint32_t)kind || name->length != length ||
	    memcmp(name->bytes, place->name, length) != 0)
		return false;
	/* An expression is identified by its place. */
	return kind != HP_VALUE_DBG ||
	       (value->line == place->line &&
		(!file || !place->file || strncmp(file->bytes, place->file, file->length) == 0));
}

static struct hp_shown *among(uint64_t offset, uint64_t end, const struct hotpath_value *place,
			      enum hp_value_kind kind, size_t length)
{
	while (offset != end) {
		struct hp_shown *value = at(offset);

		if (is_same(value, place, kind, length))
			return value;
		offset = value->next;
	}
	return NULL;
}

static struct hp_shown *value_new(const struct hotpath_value *place, enum hp_value_kind kind,
				  size_t length)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_shown), HP_LINE);
	struct hp_shown *value = hp_segment_at(&hp_segment, offset, sizeof(*value));
	const double none = HUGE_VAL, no_most = -HUGE_VAL;

	if (!value)
		return NULL;
	value->kind = (uint32_t)kind;
	value->line = place->line;
	value->name = hp_text_new(place->name, length);
	value->file =
		place->file ? hp_text_new(place->file, hp_block_text(place->file, FILE_MAX)) : 0;
	value->pid = hp_self->pid;
	memcpy(&value->least, &none, sizeof(none));
	memcpy(&value->most, &no_most, sizeof(no_most));
	return value->name ? value : NULL;
}

/* A record that an ended process of the same program left is continued, except for its sum. */
static void value_adopt(struct hp_shown *value)
{
	uint32_t pid = hp_self->pid;

	if (atomic_exchange_explicit(&value->pid, pid, memory_order_relaxed) != pid) {
		uint64_t was[2] = { value->bits, value->count };

		while (!hp_value_swap(value, was, 0, was[1]))
			;
	}
}

static struct hp_shown *value_get(struct hp_account *account, const struct hotpath_value *place,
				  enum hp_value_kind kind)
{
	size_t length = hp_block_text(place->name, VALUE_NAME_MAX);
	uint64_t head = atomic_load_explicit(&account->values, memory_order_acquire);
	struct hp_shown *value = among(head, 0, place, kind, length), *fresh;

	if (value) {
		value_adopt(value);
		return value;
	}
	fresh = value_new(place, kind, length);
	while (fresh) {
		fresh->next = head;
		/* Release: a thread that finds it finds it complete. */
		if (atomic_compare_exchange_strong_explicit(
			    &account->values, &head, hp_segment_offset(&hp_segment, fresh),
			    memory_order_acq_rel, memory_order_acquire))
			return fresh;
		value = among(head, fresh->next, place, kind, length);
		if (value)
			return value;
	}
	return NULL;
}

HP_COLD struct hp_shown *hp_value_meet(struct hotpath_value *place, enum hp_value_kind kind)
{
	struct hp_shown *value = NULL;
	struct hp_process *process;
	struct hp_account *account;
	int saved;

	if (hp_is_early() || place->size < sizeof(*place) || !place->name)
		return NULL;
	saved = errno;
	if (hp_channel_thread_has_process() && is_wanted) {
		process = hp_self->process;
		account = process->account ? at((uint64_t)process->account * HP_LINE) : NULL;
		value = account ? value_get(account, place, kind) : NULL;
		if (account && !value)
			atomic_fetch_add_explicit(&account->lost_values, 1, memory_order_relaxed);
		if (value) {
			place->key = value;
			/* Release: a thread that finds the owner finds the key. */
			__atomic_store_n(&place->owner, process, __ATOMIC_RELEASE);
		}
	}
	errno = saved;
	return value;
}

/* --- logs --- */

static struct hp_value_log *log_of(struct hp_shown *value)
{
	uint32_t log = __atomic_load_n(&value->log, __ATOMIC_ACQUIRE), none = 0;
	uint64_t offset;

	if (HP_LIKELY(log))
		return at((uint64_t)log * HP_LINE);
	offset = hp_segment_take(&hp_segment, sizeof(struct hp_value_log), HP_LINE);
	if (!hp_segment_at(&hp_segment, offset, sizeof(struct hp_value_log)))
		return NULL;
	__atomic_compare_exchange_n(&value->log, &none, (uint32_t)(offset / HP_LINE), 0,
				    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return at((uint64_t)value->log * HP_LINE);
}

static uint32_t tid_now(void)
{
	const struct hp_local *me = hp_local();

	if (me->state == HP_THREAD_OPEN || me->state == HP_THREAD_BUSY)
		return me->tid;
	return hp_channel_thread()->key ? hp_channel_thread()->tid : hp_tid();
}

/* A thread stopped in this entry has been overtaken by all others: this change is skipped. */
static void entry_write(struct hp_value_entry *entry, uint64_t number, uint64_t now,
			const struct hp_shown *value, const struct hp_value_change *changed)
{
	if (!hp_seq_claim(&entry->number))
		return;
	hp_seq_set(&entry->ticks, now);
	hp_seq_set_pair(&entry->tid, tid_now(), changed->type);
	hp_seq_set_pair(&entry->line, changed->place->line, (uint32_t)(value->file / HP_LINE));
	hp_seq_set(&entry->bits, changed->bits);
	if (changed->bytes)
		hp_seq_put(entry->bytes, changed->bytes, changed->size);
	hp_seq_end(&entry->number, number);
}

/* How many changes pass until the next one is logged. */
static uint32_t next_one(struct hp_shown *value, uint64_t now, uint64_t number)
{
	const int64_t ahead = (int64_t)LOG_AHEAD * LOG_COST;
	int64_t credit = number == 1 ? ahead : value->credit;
	uint64_t seed = now;

	if (value->last_ticks && now > value->last_ticks)
		credit = credit > ahead ? ahead
					: credit + (int64_t)((now - value->last_ticks) / LOG_SHARE);
	credit = (credit > ahead ? ahead : credit) - LOG_COST;
	value->last_ticks = now;
	value->credit = credit < 0 ? 0 : credit;
	return credit > 0 ? 1 : hp_random_gap(&seed, LOG_GAP);
}

void hp_value_log(struct hp_shown *value, uint64_t number, const struct hp_value_change *changed)
{
	struct hp_value_log *log = log_of(value);
	uint64_t now = hp_ticks(), place;

	__atomic_store_n(&value->due, number + next_one(value, now, number), __ATOMIC_RELAXED);
	if (!log || !now)
		return;
	place = atomic_fetch_add_explicit(&log->logged, 1, memory_order_relaxed);
	entry_write(&log->entries[place % HP_VALUE_ENTRIES], number, now, value, changed);
}

void hp_value_keep(struct hp_shown *value, uint64_t number, const struct hp_value_change *changed)
{
	struct hp_value_log *log = log_of(value);

	if (log)
		entry_write(&log->lasts[number % HP_VALUE_LASTS], number, 0, value, changed);
}

/* --- the process --- */

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks(settings, HP_KEY_DEBUG);
	if (is_wanted)
		hp_segment_recorded(&hp_segment, HP_RECORDED_VALUES);
}

const struct hp_recorder hp_value_recorder = { .configure = configure };
