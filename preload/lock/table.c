/* SPDX-License-Identifier: MIT */
/*
 * table.c - which lock is at an address.
 *
 * One table for all threads of the process, without a lock: a place is claimed
 * by compare-exchange of its address, and gets its value by another one; the
 * loser uses the winner's.  It is used when a thread first uses a lock,
 * not at every acquisition.
 *
 * A static lock is identified by its address.  Any other lock is identified by
 * its site, the place that created it or used it first: the first
 * HP_LOCKS_OF_SITE of them are distinguished by a number, all further ones are
 * one record. So a hundred thousand short-lived mutexes take as much room as
 * 64. Labelled locks have one record for each label.
 */
#include <errno.h>
#include <string.h>

#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/lock/file.h"
#include "preload/lock/lock.h"
#include "preload/thread/module.h"
#include "preload/thread/process.h"
#include "util/hash.h"

#define HP_TABLE_FIRST 12	/* log2 of the places */
#define HP_TABLE_MORE 18	/* and of those that are probed next */
#define HP_PROBES 32
#define HP_SITES 10	/* log2 */
#define HP_INSIDE_SHIFT \
	52	/* of a site's key: above the address, which has 47 bits, and the part below it */
#define HP_LOCKS_OF_SITE 64
#define HP_LABEL_MAX 512	/* bytes of a label; longer names are truncated */
#define HP_LOCKS_STATIC 2048	/* further ones are identified by their sites */

/* Only the place is known, the lock was not used yet: a return address with this bit. */
#define HP_MADE (UINT64_C(1) << 63)

struct place {
	_Atomic uint64_t address;	/* 0 = never used */
	_Atomic uint64_t value;	/* offset of the hp_lock; HP_MADE | its site; 0 = none */
	_Atomic uint64_t label;	/* offset of a hp_text: the program's name for it; 0 = nothing */
};

struct site {
	_Atomic uint64_t key;	/* 0 = never used */
	_Atomic uint32_t count;	/* locks so far */
	_Atomic uint64_t more;	/* offset of the record for those beyond HP_LOCKS_OF_SITE */
	_Atomic uint64_t text;	/* offset of a hp_text: not a place, but all locks of one label */
};

struct hp_lock_table {
	_Atomic(struct place *) more;
	_Atomic uint32_t statics;
	struct site sites[1 << HP_SITES];
	struct place places[1 << HP_TABLE_FIRST];
};

static struct hp_lock_table *table_get(void)
{
	struct hp_lock_table *table = atomic_load_explicit(&hp_self->locks, memory_order_acquire);
	struct hp_lock_table *made;

	if (table)
		return table;
	made = hp_pages(sizeof(*made));
	if (made &&
	    !atomic_compare_exchange_strong_explicit(&hp_self->locks, &table, made,
						     memory_order_acq_rel, memory_order_acquire)) {
		hp_pages_release(made, sizeof(*made));
		return table;
	}
	return made;
}

struct hp_lockset *hp_lock_set(void)
{
	struct hp_process *process = hp_self->process;
	uint64_t offset =
		process ? atomic_load_explicit(&process->lockset, memory_order_acquire) : 0;
	uint64_t made;

	if (!process)
		return NULL;
	if (!offset) {
		made = hp_segment_take(&hp_segment, sizeof(struct hp_lockset), HP_LINE);
		if (made && atomic_compare_exchange_strong_explicit(&process->lockset, &offset,
								    made, memory_order_acq_rel,
								    memory_order_acquire))
			offset = made;
	}
	return hp_segment_at(&hp_segment, offset, sizeof(struct hp_lockset));
}

/* --- places --- */

/* The place of `address` among 2^bits; NULL = it has none, or with `claims`, no room. */
static struct place *place_in(struct place *places, unsigned bits, uint64_t address, bool claims)
{
	uint64_t last = (UINT64_C(1) << bits) - 1;
	uint64_t i = hp_lock_hash(address) >> (64 - bits);

	for (int n = 0; n < HP_PROBES; n++, i = (i + 1) & last) {
		uint64_t there = atomic_load_explicit(&places[i].address, memory_order_acquire);

		if (there == address)
			return &places[i];
		if (there)
			continue;
		if (!claims)
			return NULL;
		if (atomic_compare_exchange_strong_explicit(&places[i].address, &there, address,
							    memory_order_acq_rel,
							    memory_order_acquire) ||
		    there == address)
			return &places[i];
	}
	return NULL;
}

static struct place *more_places(struct hp_lock_table *table, bool makes)
{
	struct place *more = atomic_load_explicit(&table->more, memory_order_acquire);
	const uint64_t size = sizeof(*more) << HP_TABLE_MORE;
	struct place *made;

	if (more || !makes)
		return more;
	made = hp_pages(size);
	if (made &&
	    !atomic_compare_exchange_strong_explicit(&table->more, &more, made,
						     memory_order_acq_rel, memory_order_acquire)) {
		hp_pages_release(made, size);
		return more;
	}
	return made;
}

static struct place *place_of(struct hp_lock_table *table, uint64_t address, bool claims)
{
	struct place *place = place_in(table->places, HP_TABLE_FIRST, address, claims);
	struct place *more;

	if (place)
		return place;
	more = more_places(table, claims);
	return more ? place_in(more, HP_TABLE_MORE, address, claims) : NULL;
}

/* --- sites --- */

/* NULL = there are too many. */
static struct site *site_of(struct hp_lock_table *table, uint64_t key)
{
	const uint64_t last = (1 << HP_SITES) - 1;
	uint64_t i = hp_lock_hash(key) >> (64 - HP_SITES);

	for (int n = 0; n < HP_PROBES; n++, i = (i + 1) & last) {
		struct site *site = &table->sites[i];
		uint64_t there = atomic_load_explicit(&site->key, memory_order_acquire);

		if (there == key)
			return site;
		if (!there &&
		    (atomic_compare_exchange_strong(&site->key, &there, key) || there == key))
			return site;
	}
	return NULL;
}

/* --- records --- */

static uint64_t offset_of(const void *record)
{
	return record ? hp_segment_offset(&hp_segment, record) : 0;
}

static uint64_t object_of(uint64_t module)
{
	const struct hp_module *record =
		module ? hp_segment_at(&hp_segment, module, sizeof(*record)) : NULL;

	return record ? record->object : 0;
}

static bool is_known_by_address(const struct hp_lock *lock)
{
	return (lock->module && lock->number == HP_LOCK_STATIC) ||
	       lock->number == HP_LOCK_OF_CHANNEL;
}

static const struct hp_text *text_at(uint64_t offset)
{
	return offset ? (const struct hp_text *)((char *)hp_segment.header + offset) : NULL;
}

static bool is_same_text(uint64_t a, uint64_t b)
{
	const struct hp_text *x = text_at(a), *y = text_at(b);

	return x == y ||
	       (x && y && x->length == y->length && memcmp(x->bytes, y->bytes, x->length) == 0);
}

static bool is_same(const struct hp_lock *a, const struct hp_lock *b)
{
	if (a->kind != b->kind || a->number != b->number)
		return false;
	if (is_known_by_address(a))
		return a->address == b->address && object_of(a->module) == object_of(b->module) &&
		       is_same_text(a->label, b->label);
	if (a->number == HP_LOCK_LABEL)
		return is_same_text(a->label, b->label);
	return a->site_address == b->site_address && a->is_made == b->is_made &&
	       (a->is_made != HP_LOCK_ALLOCATED || a->inside == b->inside) &&
	       object_of(a->site_module) == object_of(b->site_module);
}

/*
 * An equivalent one. A static lock is the same one as before; for others, the
 * records that an earlier process left are reused, each once.
 */
static struct hp_lock *find_same(struct hp_lockset *set, const struct hp_lock *wanted)
{
	bool is_static = is_known_by_address(wanted);
	bool is_any = is_static || hp_self->process->folded;
	uint64_t at = is_any ? atomic_load_explicit(&set->locks, memory_order_acquire) : 0;
	struct hp_lock *lock;

	for (; at; at = lock->next) {
		lock = hp_segment_at(&hp_segment, at, sizeof(*lock));
		if (!lock)
			return NULL;
		if ((is_static || lock->owner != wanted->owner) && is_same(lock, wanted)) {
			lock->owner = wanted->owner;
			return lock;
		}
	}
	return NULL;
}

static uint64_t record_new(const struct hp_lock *wanted)
{
	struct hp_lockset *set = hp_lock_set();
	struct hp_lock *lock = set ? find_same(set, wanted) : NULL;
	uint64_t offset = offset_of(lock);

	if (set && !lock) {
		offset = hp_segment_take(&hp_segment, sizeof(*lock), HP_LINE);
		lock = hp_segment_at(&hp_segment, offset, sizeof(*lock));
		if (!lock)
			return 0;
		lock->kind = wanted->kind;
		lock->number = wanted->number;
		lock->module = wanted->module;
		lock->address = wanted->address;
		lock->site_module = wanted->site_module;
		lock->site_address = wanted->site_address;
		lock->is_made = wanted->is_made;
		lock->inside = wanted->inside;
		lock->block = wanted->block;
		lock->owner = wanted->owner;
		lock->label = wanted->label;
		hp_list_push(&set->locks, offset, &lock->next);
	}
	return offset;
}

static void count_object(uint64_t offset)
{
	struct hp_lock *lock = hp_segment_at(&hp_segment, offset, sizeof(*lock));

	if (lock)
		atomic_fetch_add_explicit(&lock->objects, 1, memory_order_relaxed);
}

/* A static lock was used before, and its library was unloaded meanwhile. */
static uint64_t static_known(const struct hp_lock *wanted)
{
	struct hp_lockset *set = hp_lock_set();
	struct hp_lock as_static = *wanted;

	as_static.number = HP_LOCK_STATIC;
	return set ? offset_of(find_same(set, &as_static)) : 0;
}

static bool takes_static(struct hp_lock_table *table)
{
	return atomic_fetch_add_explicit(&table->statics, 1, memory_order_relaxed) <
	       HP_LOCKS_STATIC;
}

/* Two threads may create one each: the report adds them up. */
static uint64_t record_more(struct hp_lock *wanted, struct site *site)
{
	uint64_t more = site ? atomic_load_explicit(&site->more, memory_order_acquire) : 0;

	if (more)
		return more;
	if (!wanted->label)
		wanted->number = HP_LOCK_MORE;
	if (!site && !wanted->label)
		wanted->site_module = wanted->site_address = 0;
	more = record_new(wanted);
	if (site)
		atomic_store_explicit(&site->more, more, memory_order_release);
	return more;
}

/* --- labels --- */

static uint64_t label_key(const char *label, size_t length)
{
	return hp_fnv(HP_FNV_SEED, label, length) | UINT64_C(1)
							    << 63;	/* a value that no address has */
}

static struct site *site_of_label(struct hp_lock_table *table, uint64_t label)
{
	const struct hp_text *text = text_at(label);

	return site_of(table, label_key(text->bytes, text->length));
}

/* Offset of the text, one for all equal labels; 0 = there are too many. */
static uint64_t label_text(struct hp_lock_table *table, const char *label)
{
	size_t length = strnlen(label, HP_LABEL_MAX);
	struct site *site = site_of(table, label_key(label, length));
	uint64_t known = site ? atomic_load_explicit(&site->text, memory_order_acquire) : 0;
	uint64_t made;

	if (!site || known)
		return known;
	made = hp_text_new(label, length);
	if (made && !atomic_compare_exchange_strong_explicit(
			    &site->text, &known, made, memory_order_acq_rel, memory_order_acquire))
		return known;
	return made;
}

/* The program's label; a file lock is named after its file. */
static uint64_t label_of(struct hp_lock_table *table, struct place *place,
			 const struct hp_lock_call *call)
{
	char name[HP_LABEL_MAX];
	uint64_t label;

	if (!place || call->kind == HP_LOCK_CHANNEL)
		return 0;
	label = atomic_load_explicit(&place->label, memory_order_acquire);
	if (label || call->kind != HP_LOCK_FILE)
		return label;
	hp_lock_file_name(call->fd, name, sizeof(name));
	if (!name[0])
		return 0;
	label = label_text(table, name);
	atomic_store_explicit(&place->label, label, memory_order_release);
	return label;
}

static struct site *site_at(struct hp_lock_table *table, const struct hp_lock *wanted, uintptr_t at)
{
	return site_of(table, (uint64_t)wanted->inside << HP_INSIDE_SHIFT | (uint64_t)at << 5 |
				      wanted->kind << 1 | (wanted->is_made != 0));
}

/*
 * Makes the record of a lock at its first use; `made` is its site or 0. Locks
 * without a place in the table, which would look new at each use, get no record
 * of their own.
 */
static uint64_t describe(struct hp_lock_table *table, const struct hp_lock_call *call,
			 struct place *place, uintptr_t made)
{
	struct hp_lock_block block = { .inside = HP_NO_PLACE };
	/* For one that the program initialised itself, the block tells only the owner's type. */
	uintptr_t most = made ? HP_LOCK_INSIDE_MAX : HP_BLOCK_MAX;
	uintptr_t by = call->kind == HP_LOCK_CHANNEL
			       ? 0
			       : hp_lock_allocated_at(call->address, call->caller, most, &block);
	uintptr_t allocated = made ? 0 : by;
	bool is_near = (made || allocated) && block.inside <= HP_LOCK_INSIDE_MAX;
	uintptr_t at = made ? made : allocated ? allocated : call->caller;
	struct hp_lock wanted = { .kind = call->kind,
				  .number = HP_LOCK_MORE,
				  .is_made = made	 ? HP_LOCK_MADE
					     : allocated ? HP_LOCK_ALLOCATED
							 : 0,
				  .label = label_of(table, place, call),
				  .inside = is_near ? (uint32_t)block.inside + 1 : 0,
				  .block = is_near ? block.size : 0,
				  .owner = hp_self->process->folded + 1 };
	struct site *site;

	if (call->kind == HP_LOCK_CHANNEL) {
		wanted.number = HP_LOCK_OF_CHANNEL;
		wanted.address = hp_segment_offset(&hp_segment, (const void *)call->address);
		return record_new(&wanted);
	}
	hp_lock_place(call->address, &wanted.module, &wanted.address);
	hp_lock_place(at, &wanted.site_module, &wanted.site_address);
	if (wanted.module && place) {
		uint64_t known = static_known(&wanted);

		if (known)
			return known;
		if (takes_static(table)) {
			wanted.number = HP_LOCK_STATIC;
			return record_new(&wanted);
		}
	}
	if (wanted.label) {
		wanted.number = HP_LOCK_LABEL;
		return record_more(&wanted, site_of_label(table, wanted.label));
	}
	site = site_at(table, &wanted, at);
	if (site && place)
		wanted.number = atomic_fetch_add_explicit(&site->count, 1, memory_order_relaxed);
	if (wanted.number < HP_LOCKS_OF_SITE)
		return record_new(&wanted);
	return record_more(&wanted, site);
}

/* Slots of all threads for this address no longer fit. */
static void outdate(uintptr_t address)
{
	uint64_t hash = hp_lock_hash(address);

	atomic_fetch_add_explicit(&hp_lock_generations[hash >> 48 & (HP_LOCK_GENERATIONS - 1)], 1,
				  memory_order_relaxed);
}

static bool is_of_kind(uint64_t value, uint32_t kind)
{
	const struct hp_lock *lock = hp_segment_at(&hp_segment, value, sizeof(*lock));

	return lock && lock->kind == kind;
}

/* A thread is joined once: all joins at one place have one record, and need no place in the table. */
static uint64_t join_record(struct hp_lock_table *table, const struct hp_lock_call *call)
{
	struct hp_lock wanted = { .kind = call->kind,
				  .number = HP_LOCK_MORE,
				  .address = call->address,
				  .owner = hp_self->process->folded + 1 };

	hp_lock_place(call->caller, &wanted.site_module, &wanted.site_address);
	return record_more(&wanted, site_at(table, &wanted, call->caller));
}

uint64_t hp_lock_record(const struct hp_lock_call *call)
{
	struct hp_lock_table *table = table_get();
	struct place *place;
	uint64_t value = 0, made;

	if (!table)
		return 0;
	if (call->kind == HP_LOCK_THREAD)
		return join_record(table, call);
	place = place_of(table, call->address, true);
	if (place)
		value = atomic_load_explicit(&place->value, memory_order_acquire);
	if (value && !(value & HP_MADE) && is_of_kind(value, call->kind))
		return value;
	if (value && !(value & HP_MADE))
		outdate(call->address);
	made = describe(table, call, place, value & HP_MADE ? (uintptr_t)(value & ~HP_MADE) : 0);
	if (!made || !place)
		return made;
	if (!atomic_compare_exchange_strong_explicit(&place->value, &value, made,
						     memory_order_acq_rel, memory_order_acquire) &&
	    value && !(value & HP_MADE))
		return value;	/* another thread was first */
	count_object(made);
	return made;
}

void hp_lock_joined(const struct hp_use *use)
{
	count_object(use->lock);
}

/* --- creation and destruction of locks --- */

/* Of this process, if locks are recorded in it. */
static struct hp_lock_table *table_here(bool makes)
{
	if (!hp_lock_is_wanted || !hp_self)
		return NULL;
	if (!makes)
		return atomic_load_explicit(&hp_self->locks, memory_order_acquire);
	return hp_self->process ? table_get() : NULL;
}

void hp_lock_made(const struct hp_lock_call *call)
{
	struct hp_lock_table *table = table_here(true);
	struct place *place = table ? place_of(table, call->address, true) : NULL;
	uint64_t before;

	if (!place)
		return;
	atomic_store_explicit(&place->label, 0, memory_order_relaxed);
	before = atomic_exchange_explicit(&place->value, call->caller | HP_MADE,
					  memory_order_acq_rel);
	if (before && !(before & HP_MADE))
		outdate(call->address);
}

void hp_lock_gone(uintptr_t address)
{
	struct hp_lock_table *table = table_here(false);
	struct place *place = table ? place_of(table, address, false) : NULL;
	uint64_t before;

	if (!place)
		return;
	atomic_store_explicit(&place->label, 0, memory_order_relaxed);
	before = atomic_exchange_explicit(&place->value, 0, memory_order_acq_rel);
	if (before && !(before & HP_MADE))
		outdate(address);
}

/* Earlier records of it stay. */
void hp_lock_label(uintptr_t address, const char *label)
{
	struct hp_lock_table *table = table_here(true);
	struct place *place = table ? place_of(table, address, true) : NULL;
	uint64_t value;

	if (!place)
		return;
	value = atomic_load_explicit(&place->value, memory_order_acquire);
	atomic_store_explicit(&place->label, label_text(table, label), memory_order_release);
	/* Its creator was recorded, or it will be found again at the first labelled use. */
	if (value && !(value & HP_MADE) &&
	    atomic_compare_exchange_strong_explicit(&place->value, &value, 0, memory_order_acq_rel,
						    memory_order_acquire))
		outdate(address);
}

static void forget_in(struct place *places, unsigned bits, uintptr_t begin, uintptr_t end)
{
	for (uint64_t i = 0; places && i < UINT64_C(1) << bits; i++) {
		uint64_t address = atomic_load_explicit(&places[i].address, memory_order_relaxed);
		uint64_t value = atomic_load_explicit(&places[i].value, memory_order_relaxed);
		uint64_t site = value & HP_MADE ? value & ~HP_MADE : 0;

		if ((address < begin || address >= end) && (site < begin || site >= end))
			continue;
		atomic_store_explicit(&places[i].value, 0, memory_order_relaxed);
		outdate((uintptr_t)address);
	}
}

void hp_lock_forget(uintptr_t begin, uintptr_t end)
{
	struct hp_lock_table *table = table_here(false);

	if (!table)
		return;
	forget_in(table->places, HP_TABLE_FIRST, begin, end);
	forget_in(atomic_load(&table->more), HP_TABLE_MORE, begin, end);
	for (int i = 0; i < 1 << HP_SITES; i++) {
		uint64_t key = atomic_load_explicit(&table->sites[i].key, memory_order_relaxed);
		uint64_t at = (key & ((UINT64_C(1) << HP_INSIDE_SHIFT) - 1)) >> 5;

		/* Its records are kept; a later site at this address starts with new ones. */
		if (at >= begin && at < end)
			atomic_store_explicit(&table->sites[i].more, 0, memory_order_relaxed);
	}
}
