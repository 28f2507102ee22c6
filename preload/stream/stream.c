/* SPDX-License-Identifier: MIT */
/*
 * stream.c - see stream.h: records, their parts, counts, time stamps and logs.
 */
#include "preload/stream/stream.h"

#include <errno.h>
#include <string.h>

#include "preload/call/block.h"
#include "preload/call/local.h"
#include "preload/channel/channel.h"
#include "preload/guest/budget.h"
#include "preload/guest/claim.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/lock/lock.h"
#include "preload/thread/process.h"
#include "segment/histogram.h"
#include "segment/layout/lock.h"
#include "segment/layout/process.h"
#include "segment/seq.h"
#include "util/count.h"
#include "util/random.h"

#define NAME_SIZE_MAX 1000	/* bytes of a path */
#define LABEL_SIZE_MAX 1000
#define RECORDS_MAX 100000	/* a damaged list must not cause an endless loop */

/* Ticks that a stamped item costs, the share of the time that may go there, and how far ahead. */
#define STAMP_COST 200
#define STAMP_SHARE 50
#define STAMP_AHEAD 1024
#define STAMP_LEAST 4	/* of each stream's burst, even if all spend too much */
#define STAMP_GAP 256	/* without credit: two in a row out of this many, at random */

bool hp_stream_is_wanted;

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

static struct hp_account *account_of(const struct hp_process *process)
{
	return process && process->account ? at((uint64_t)process->account * HP_LINE) : NULL;
}

static void count_lost(void)
{
	struct hp_account *account = account_of(hp_self->process);

	if (account)
		atomic_fetch_add_explicit(&account->lost_streams, 1, memory_order_relaxed);
}

bool hp_stream_is_on(void)
{
	return hp_channel_thread_has_process() && hp_stream_is_wanted;
}

/* --- records --- */

struct hp_stream *hp_stream_of_part(const struct hp_stream_part *part)
{
	return at(part->stream);
}

static uint64_t object_of(uint64_t module)
{
	return module ? ((const struct hp_module *)at(module))->object : 0;
}

static bool is_same(const struct hp_stream *a, const struct hp_stream *b)
{
	return a->site_address == b->site_address && a->kind == b->kind && a->origin == b->origin &&
	       object_of(a->site_module) == object_of(b->site_module);
}

static struct hp_stream *stream_find(const struct hp_account *account,
				     const struct hp_stream *wanted)
{
	uint64_t offset = atomic_load_explicit(&account->streams, memory_order_acquire);

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_stream *stream = at(offset);

		if (is_same(stream, wanted))
			return stream;
		offset = stream->next;
	}
	return NULL;
}

static size_t length_of(const char *text, size_t most)
{
	return text ? hp_block_text(text, most) : 0;
}

static struct hp_stream *stream_new(struct hp_account *account, const struct hp_stream *wanted,
				    const char *name)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(*wanted), HP_LINE);
	struct hp_stream *stream = hp_segment_at(&hp_segment, offset, sizeof(*stream));
	size_t length = length_of(name, NAME_SIZE_MAX);

	if (!stream)
		return NULL;
	stream->kind = wanted->kind;
	stream->origin = wanted->origin;
	stream->site_module = wanted->site_module;
	stream->site_address = wanted->site_address;
	stream->name = length ? hp_text_new(name, length) : 0;
	stream->path = hp_lock_path();
	hp_list_push(&account->streams, offset, &stream->next);
	return stream;
}

/* Names are compared only with the first one: what matters is whether it stands for all. */
static void name_compare(struct hp_stream *stream, const char *name)
{
	const struct hp_text *first = stream->name ? at(stream->name) : NULL;
	size_t length;

	if (!name)
		return;
	length = length_of(name, NAME_SIZE_MAX);
	if (first && first->length == length && memcmp(first->bytes, name, length) == 0)
		hp_count_up_atomic(&stream->same);
	else if (!(atomic_load_explicit(&stream->flags, memory_order_relaxed) & HP_STREAM_NAMES))
		atomic_fetch_or_explicit(&stream->flags, HP_STREAM_NAMES, memory_order_relaxed);
}

void hp_stream_label(struct hp_stream *stream, const char *text)
{
	size_t length = length_of(text, LABEL_SIZE_MAX);

	if (length && !atomic_load_explicit(&stream->label, memory_order_relaxed))
		atomic_store_explicit(&stream->label, hp_text_new(text, length),
				      memory_order_release);
}

/* Two threads may create one each: the report adds them up. */
static struct hp_stream *stream_of(const struct hp_stream_wish *wish)
{
	struct hp_account *account = account_of(hp_self->process);
	struct hp_stream wanted = { .kind = wish->kind, .origin = wish->origin };
	struct hp_stream *stream;

	if (!account)
		return NULL;
	hp_lock_place(wish->caller, &wanted.site_module, &wanted.site_address);
	stream = stream_find(account, &wanted);
	if (stream)
		name_compare(stream, wish->name);
	else
		stream = stream_new(account, &wanted, wish->name);
	if (stream)
		hp_stream_label(stream, wish->label);
	return stream;
}

/* --- parts --- */

static struct hp_stream_part *part_free(const struct hp_stream *stream)
{
	uint64_t offset = atomic_load_explicit(&stream->parts, memory_order_acquire);

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_stream_part *part = at(offset);

		if (hp_claim(&part->state, HP_FREE, HP_TAKEN))
			return part;
		offset = part->next;
	}
	return NULL;
}

static struct hp_stream_part *part_make(struct hp_stream *stream)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_stream_part), HP_LINE);
	struct hp_stream_part *part = hp_segment_at(&hp_segment, offset, sizeof(*part));

	if (!part)
		return NULL;
	part->stream = hp_segment_offset(&hp_segment, stream);
	atomic_store_explicit(&part->state, HP_TAKEN, memory_order_relaxed);
	hp_list_push(&stream->parts, offset, &part->next);
	return part;
}

struct hp_stream_part *hp_stream_part_new(const struct hp_stream_wish *wish, bool has_place)
{
	struct hp_stream *stream = has_place ? stream_of(wish) : NULL;
	struct hp_stream_part *part = stream ? part_free(stream) : NULL;

	if (stream && !part)
		part = part_make(stream);
	/* If each item reused the name, it would be lost just as often. */
	if (!part) {
		if (wish->origin == HP_STREAM_OPENED)
			count_lost();
		return NULL;
	}
	part->pid = hp_self->pid;
	part->credit = 0;
	atomic_store_explicit(&part->first, 0, memory_order_relaxed);
	atomic_store_explicit(&part->last, 0, memory_order_relaxed);
	atomic_store_explicit(&part->timed, 0, memory_order_relaxed);
	atomic_store_explicit(&part->due, 1, memory_order_relaxed);
	atomic_store_explicit(&part->settled, wish->kind != HP_STREAM_FILE, memory_order_relaxed);
	atomic_store_explicit(&part->opened, hp_ticks(), memory_order_relaxed);
	atomic_store_explicit(&part->base,
			      part->items +
				      atomic_load_explicit(&part->more_items, memory_order_relaxed),
			      memory_order_relaxed);
	hp_count_up_atomic(&stream->instances);
	return part;
}

void hp_stream_tally(const struct hp_stream_wish *wish)
{
	struct hp_stream *stream = stream_of(wish);

	if (!stream) {
		count_lost();
		return;
	}
	hp_count_up_atomic(&stream->instances);
	hp_count_up_atomic(&stream->ended[HP_STREAM_CLOSED]);
}

static void part_release(struct hp_stream_part *part, enum hp_stream_end how, uint64_t until)
{
	uint64_t first = atomic_load_explicit(&part->first, memory_order_relaxed);

	if (first && until > first)
		atomic_fetch_add_explicit(&part->active_ticks, until - first, memory_order_relaxed);
	atomic_store_explicit(&part->first, 0, memory_order_relaxed);
	hp_count_up_atomic(&hp_stream_of_part(part)->ended[how]);
	/* The next owner continues with these counts. */
	hp_claim_end(&part->state);
}

/* It lasted until its last item; if that one was not stamped, until now. */
void hp_stream_part_end(struct hp_stream_part *part, enum hp_stream_end how)
{
	uint64_t until = atomic_load_explicit(&part->last, memory_order_relaxed);

	if (hp_stream_number(part) != atomic_load_explicit(&part->timed, memory_order_relaxed))
		until = hp_ticks();
	part_release(part, how, until);
}

void hp_stream_flag(const struct hp_stream_part *part, uint32_t flags)
{
	struct hp_stream *stream = hp_stream_of_part(part);

	if (~atomic_load_explicit(&stream->flags, memory_order_relaxed) & flags)
		atomic_fetch_or_explicit(&stream->flags, flags, memory_order_relaxed);
}

/* --- logs --- */

static void *once(uint32_t *place, uint64_t size)
{
	uint32_t found = __atomic_load_n(place, __ATOMIC_ACQUIRE), none = 0;
	uint64_t offset;

	if (HP_LIKELY(found))
		return at((uint64_t)found * HP_LINE);
	offset = hp_segment_take(&hp_segment, size, HP_LINE);
	if (!hp_segment_at(&hp_segment, offset, size))
		return NULL;
	__atomic_compare_exchange_n(place, &none, (uint32_t)(offset / HP_LINE), 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
	return at((uint64_t)*place * HP_LINE);
}

static uint32_t tid_now(void)
{
	const struct hp_local *me = hp_local();
	const struct hp_channel_thread *thread;

	if (me->state == HP_THREAD_OPEN || me->state == HP_THREAD_BUSY)
		return me->tid;
	/* Asking the kernel takes longer than the rest of a stamp. */
	thread = hp_channel_thread_open();
	return thread ? thread->tid : hp_tid();
}

/* A writer stopped in this entry has been overtaken by all others: its entry is skipped. */
static void entry_write(struct hp_stream_log *log, uint64_t now, uint64_t item, uint64_t size,
			const char *text)
{
	uint64_t number = 1 + atomic_fetch_add_explicit(&log->logged, 1, memory_order_relaxed);
	struct hp_stream_entry *entry = &log->entries[(number - 1) % HP_STREAM_ENTRIES];
	uint32_t length = (uint32_t)length_of(text, HP_STREAM_BYTES);

	if (!hp_seq_claim(&entry->number))
		return;
	hp_seq_set(&entry->ticks, now);
	hp_seq_set(&entry->item, item);
	hp_seq_set(&entry->size, size);
	hp_seq_set_pair(&entry->tid, tid_now(),
			length | (text && text[length] ? HP_STREAM_CUT : 0));
	if (length)
		hp_seq_put(entry->text, text, length);
	hp_seq_end(&entry->number, number);
}

/* --- time stamps --- */

/* Any thread, so unlike other spreads its counters are added to atomically. */
static void gap_add(struct hp_stream *stream, uint64_t ticks)
{
	struct hp_spread *spread = once(&stream->gaps_at, sizeof(*spread));
	unsigned group = hp_bucket_group(ticks);
	uint64_t *counters =
		spread ? once(&spread->groups[group], HP_GROUP_SIZE * sizeof(uint64_t)) : NULL;
	uint64_t most = atomic_load_explicit(&stream->gap_most, memory_order_relaxed);

	if (counters)
		__atomic_fetch_add(&counters[hp_bucket_place(ticks, group)], 1, __ATOMIC_RELAXED);
	atomic_fetch_add_explicit(&stream->gaps, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&stream->gap_ticks, ticks, memory_order_relaxed);
	while (ticks > most &&
	       !atomic_compare_exchange_weak_explicit(&stream->gap_most, &most, ticks,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* How many items pass until the next one is stamped; `is_second`: this one followed a stamped one. */
static uint64_t next_one(struct hp_stream_part *part, uint64_t before, uint64_t now, bool is_second)
{
	const int64_t ahead = (int64_t)STAMP_AHEAD * STAMP_COST;
	struct hp_budget *budget = &hp_segment_credit(&hp_segment)->items;
	int64_t most = (int64_t)hp_budget_part(budget, (uint64_t)ahead, now), credit = part->credit;
	uint64_t seed = now;

	if (most < STAMP_LEAST * STAMP_COST)
		most = STAMP_LEAST * STAMP_COST;
	if (!before)
		credit = most;
	else if (now > before)
		credit = now - before > (uint64_t)ahead * STAMP_SHARE
				 ? most
				 : credit + (int64_t)hp_budget_part(
						    budget, (now - before) / STAMP_SHARE, now);
	credit = (credit > most ? most : credit) - STAMP_COST;
	hp_budget_spend(budget, STAMP_COST, now, STAMP_SHARE, 1);
	part->credit = credit < 0 ? 0 : credit;
	return credit > 0 || !is_second ? 1 : hp_random_gap(&seed, STAMP_GAP);
}

static HP_COLD void stamp(struct hp_stream_part *part, uint64_t number, uint64_t count,
			  uint64_t size, const char *text)
{
	struct hp_stream *stream = hp_stream_of_part(part);
	struct hp_stream_log *log = once(&stream->log, sizeof(*log));
	uint64_t now = hp_ticks();
	uint64_t before = atomic_load_explicit(&part->last, memory_order_relaxed);
	uint64_t timed = atomic_load_explicit(&part->timed, memory_order_relaxed);
	bool is_second = before && timed + count == number;

	if (!now)
		return;
	if (!atomic_load_explicit(&part->first, memory_order_relaxed))
		atomic_store_explicit(&part->first, now, memory_order_relaxed);
	if (is_second && now > before)
		gap_add(stream, now - before);
	atomic_store_explicit(&part->due, number + next_one(part, before, now, is_second),
			      memory_order_relaxed);
	atomic_store_explicit(&part->last, now, memory_order_relaxed);
	atomic_store_explicit(&part->timed, number, memory_order_relaxed);
	if (log)
		entry_write(log, now, number, size, text);
}

void hp_stream_items(struct hp_stream_part *part, uint64_t count, uint64_t size, const char *text)
{
	uint64_t number = count + part->items -
			  atomic_load_explicit(&part->base, memory_order_relaxed) +
			  atomic_fetch_add_explicit(&part->more_items, count, memory_order_relaxed);

	if (size != UINT64_MAX)
		atomic_fetch_add_explicit(&part->bytes, size, memory_order_relaxed);
	if (HP_UNLIKELY(number >= atomic_load_explicit(&part->due, memory_order_relaxed)))
		stamp(part, number, count, size, text);
}

void hp_stream_meets_end(struct hp_stream_part *part)
{
	uint64_t now = hp_ticks();

	if (!now || !atomic_load_explicit(&part->first, memory_order_relaxed))
		return;
	atomic_store_explicit(&part->last, now, memory_order_relaxed);
	atomic_store_explicit(&part->timed, hp_stream_number(part), memory_order_relaxed);
}

/* --- the process --- */

static void parts_leave(const struct hp_stream *stream)
{
	uint64_t offset = atomic_load_explicit(&stream->parts, memory_order_acquire);

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_stream_part *part = at(offset);

		if (atomic_load_explicit(&part->state, memory_order_relaxed) == HP_TAKEN)
			part_release(part, HP_STREAM_LEFT, part->last);
		offset = part->next;
	}
}

void hp_stream_fold(struct hp_process *process)
{
	struct hp_account *account = account_of(process);
	uint64_t offset =
		account ? atomic_load_explicit(&account->streams, memory_order_acquire) : 0;

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		const struct hp_stream *stream = at(offset);

		parts_leave(stream);
		offset = stream->next;
	}
}
