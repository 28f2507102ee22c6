/* SPDX-License-Identifier: MIT */
/*
 * row.c - the slow path behind the hooks: tables, rows, functions.
 *
 * Three things happen once for each new (parent row, function) of a thread:
 * the function's record is found or made; recursion is folded, i.e. if the
 * function is already on the path, the call goes to that row; and the answer
 * is put into the slots, the table that the entry hook reads.
 *
 * The tables are private memory and belong to this process, the records are in
 * the segment and may be older: a block that an ended process left is taken
 * over with its records (hp_row_adopt), whose functions are told again by
 * object and address.
 */
#include "preload/row.h"

#include <errno.h>
#include <string.h>

#include "preload/block.h"
#include "preload/clock.h"
#include "preload/module.h"
#include "preload/process.h"

#define HP_SLOTS_FIRST 10	/* log2 of the slots of a new thread */
#define HP_KNOWN_FIRST 8
#define HP_ADOPTED 1	/* low bit of a key that is the address of a function record */

void *hp_row_take(struct hp_local *me, uint64_t size)
{
	uint64_t chunk = me->arena ? HP_CHUNK_NEXT : HP_CHUNK_FIRST;
	void *room;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	if ((uint64_t)(me->arena_end - me->arena) < size) {
		uint64_t offset =
			hp_segment_take(&hp_segment, size > chunk ? size : chunk, HP_LINE);

		if (offset == 0)
			return NULL;
		if (size >= chunk)
			return me->base + offset;
		me->arena = me->base + offset;
		me->arena_end = me->arena + chunk;
	}
	room = me->arena;
	me->arena += size;
	/* For the next process that takes the block. */
	me->block->arena = (uint64_t)(me->arena - me->base);
	me->block->arena_end = (uint64_t)(me->arena_end - me->base);
	return room;
}

static uint64_t mix(uint64_t key, uint32_t shift)
{
	return (key * UINT64_C(0x9E3779B97F4A7C15)) >> shift;
}

/* --- slots: (parent row, function address) -> row --- */

static struct hp_slot *slot_place(const struct hp_local *me, const struct hp_row *parent,
				  uintptr_t fn)
{
	uint64_t last = (UINT64_C(1) << (64 - me->slot_shift)) - 1;
	uint64_t i = hp_slot_index(me, parent, fn);

	while (me->slots[i].fn && (me->slots[i].fn != fn || me->slots[i].parent != parent))
		i = (i + 1) & last;
	return &me->slots[i];
}

/*
 * Twice as many slots.  False = no memory; the old ones stay.  The old pages
 * stay mapped: a dlclose in another thread may be looking through them
 * (hp_row_forget).  If it missed the new ones, all is forgotten.
 */
static bool slots_grow(struct hp_local *me)
{
	uint64_t count = UINT64_C(1) << (64 - me->slot_shift);
	uint32_t generation = hp_module_generation();
	struct hp_slot *old = me->slots;
	struct hp_slot *wide = hp_pages(2 * count * sizeof(*wide));

	if (!wide)
		return false;
	me->slots = wide;
	me->slot_shift--;
	for (uint64_t i = 0; i < count; i++)
		if (old[i].fn)
			*slot_place(me, old[i].parent, old[i].fn) = old[i];
	if (hp_module_generation() != generation)
		memset(wide, 0, 2 * count * sizeof(*wide));
	return true;
}

/*
 * A quarter full is usual, so that the hook seldom has to look further; seven
 * eighths is the most when there is no memory, since probing must end.
 */
static struct hp_slot *slot_fill(struct hp_local *me, const struct hp_slot *slot)
{
	uint64_t count = UINT64_C(1) << (64 - me->slot_shift);
	struct hp_slot *place;

	if (me->slot_count >= count / 4 && !slots_grow(me) && me->slot_count >= count - count / 8)
		return NULL;
	place = slot_place(me, slot->parent, slot->fn);
	place->parent = slot->parent;
	place->row = slot->row;
	place->function = slot->function;
	/* The key last: a signal handler that jumps away leaves no half slot. */
	atomic_signal_fence(memory_order_seq_cst);
	place->fn = slot->fn;
	me->slot_count++;
	return place;
}

/* --- functions --- */

static struct hp_known *known_place(const struct hp_local *me, uintptr_t fn)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = mix(fn, me->known_shift);

	while (me->known[i].fn && me->known[i].fn != fn)
		i = (i + 1) & last;
	return &me->known[i];
}

static bool known_grow(struct hp_local *me)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	uint32_t generation = hp_module_generation();
	struct hp_known *old = me->known;
	struct hp_known *wide = hp_pages(2 * count * sizeof(*wide));

	if (!wide)
		return false;
	me->known = wide;
	me->known_shift--;
	for (uint64_t i = 0; i < count; i++)
		if (old[i].fn)
			*known_place(me, old[i].fn) = old[i];
	if (hp_module_generation() != generation)
		memset(wide, 0, 2 * count * sizeof(*wide));
	return true;
}

static void function_publish(struct hp_local *me, struct hp_function *function)
{
	function->next = atomic_load_explicit(&me->block->functions, memory_order_relaxed);
	atomic_store_explicit(&me->block->functions, (uint64_t)((char *)function - me->base),
			      memory_order_release);
}

static struct hp_function *function_new(struct hp_local *me)
{
	struct hp_function *function = hp_row_take(me, sizeof(*function));

	if (!function)
		return NULL;
	function->exit_delta = HP_DELTA_NONE;
	function->exit_delta_other = HP_DELTA_NONE;
	function->least = UINT64_MAX;
	if (me->logs_limit) {
		void *logs = hp_row_take(me, me->logs_limit * sizeof(struct hp_call));

		function->logs =
			logs ? (uint32_t)((uint64_t)((char *)logs - me->base) / HP_LINE) : 0;
	}
	return function;
}

/* One that an earlier process recorded in this block, of the same object and address. */
static struct hp_function *function_adopted(struct hp_local *me, const struct hp_module *module,
					    uint64_t address)
{
	uint64_t at;

	if (!me->is_adopted || !module)
		return NULL;
	at = atomic_load_explicit(&me->block->functions, memory_order_relaxed);
	while (at) {
		struct hp_function *function = (struct hp_function *)(me->base + at);
		const struct hp_module *theirs =
			(const struct hp_module *)(me->base + function->module);

		if (function->address == address && function->module &&
		    theirs->object == module->object)
			return function;
		at = function->next;
	}
	return NULL;
}

static struct hp_function *function_make(struct hp_local *me, uintptr_t fn)
{
	const struct hp_label *label = hp_block_label(fn);
	const struct hp_module *module = label ? hp_block_module(label) : hp_module_of(fn);
	uint64_t address = label ? label->address : module ? fn - module->bias : fn;
	struct hp_function *function;

	if (hp_block_is_nameless(fn))
		return me->other;
	function = function_adopted(me, module, address);
	if (!function) {
		function = function_new(me);
		if (!function)
			return me->other;
		function->module = module ? (uint64_t)((const char *)module - me->base) : 0;
		function->address = address;
		if (label)
			function->label =
				(uint32_t)(hp_segment_offset(&hp_segment, label) / HP_LINE);
		function_publish(me, function);
	}
	function->fn = fn;
	function->active = 0;
	return function;
}

static struct hp_function *function_find(struct hp_local *me, uintptr_t fn)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	struct hp_known *place = known_place(me, fn);

	if (place->fn)
		return place->function;
	if (me->known_count >= count / 2 && !known_grow(me) && me->known_count >= count - count / 8)
		return me->other;
	place = known_place(me, fn);
	place->function = function_make(me, fn);
	atomic_signal_fence(memory_order_seq_cst);
	place->fn = fn;
	me->known_count++;
	return place->function;
}

/* --- rows --- */

static uint64_t offset_of(const struct hp_local *me, const void *record)
{
	return (uint64_t)((const char *)record - me->base);
}

/* The row of `function` among `row` and what is above it; NULL = it is not on the path. */
static struct hp_row *row_above(const struct hp_local *me, struct hp_row *row,
				const struct hp_function *function)
{
	uint64_t wanted = offset_of(me, function);

	while (row->function) {
		if (row->function == wanted)
			return row;
		row = (struct hp_row *)(me->base + row->parent);
	}
	return NULL;
}

static struct hp_row *row_new(struct hp_local *me, const struct hp_row *parent,
			      const struct hp_function *function)
{
	struct hp_row *row = hp_row_take(me, sizeof(*row));

	if (!row)
		return NULL;
	row->parent = parent ? offset_of(me, parent) : 0;
	row->function = function ? offset_of(me, function) : 0;
	row->next = atomic_load_explicit(&me->block->rows, memory_order_relaxed);
	atomic_store_explicit(&me->block->rows, offset_of(me, row), memory_order_release);
	me->block->row_count++;
	return row;
}

/* What an earlier process recorded is found by records, not by addresses. */
static uintptr_t adopted_key(const struct hp_function *function)
{
	return (uintptr_t)function | HP_ADOPTED;
}

/* The record of (parent, function): folded, an earlier process's, or a new one. */
static struct hp_row *row_find(struct hp_local *me, struct hp_row *parent,
			       struct hp_function *function)
{
	struct hp_row *row = row_above(me, parent, function);
	struct hp_slot *slot;

	if (function == me->other)
		return me->other_row;
	if (row)
		return row;
	slot = slot_place(me, parent, function->fn);
	if (slot->fn)
		return slot->row;
	slot = slot_place(me, parent, adopted_key(function));
	if (slot->fn)
		return slot->row;
	if (me->block->row_count >= HP_ROWS_MOST && parent != me->root)
		return NULL;
	return row_new(me, parent, function);
}

/* Where calls go that get no row of their own: the function's row below the root. */
static struct hp_row *row_flat(struct hp_local *me, struct hp_function *function)
{
	struct hp_row *row = row_find(me, me->root, function);

	return row ? row : me->other_row;
}

static const struct hp_slot *slot_make(struct hp_local *me, struct hp_row *parent, uintptr_t fn)
{
	struct hp_function *function = function_find(me, fn);
	struct hp_row *row = row_find(me, parent, function);
	struct hp_slot *slot;

	if (!row) {
		row = row_flat(me, function);
		me->block->folded_rows++;
	}
	if (row == me->other_row)
		function = me->other;
	row->fn = fn;
	row->function_at = (uintptr_t)function;
	slot = slot_fill(me, &(struct hp_slot){ parent, fn, row, function });
	if (slot)
		return slot;
	me->last = (struct hp_slot){ parent, fn, row, function };
	return &me->last;
}

const struct hp_slot *hp_row_find(struct hp_local *me, struct hp_row *parent, uintptr_t fn)
{
	const struct hp_slot *slot;
	uint64_t since;
	bool shut;
	int saved;

	/* A handler that interrupted a hook may find a frame which is claimed and not filled. */
	if (HP_UNLIKELY(!parent))
		parent = me->root;
	slot = slot_place(me, parent, fn);
	if (HP_LIKELY(slot->fn))
		return slot;
	saved = errno;
	since = hp_clock(me);
	shut = hp_gate_shut(me);
	slot = slot_make(me, parent, fn);
	if (shut)
		hp_gate_open(me, since);
	errno = saved;
	return slot;
}

/* --- histograms --- */

uint32_t *hp_row_group(struct hp_local *me, uint32_t *offset)
{
	uint64_t since = hp_clock(me);
	bool shut = hp_gate_shut(me);
	uint32_t *counters = hp_row_take(me, HP_GROUP_SIZE * sizeof(*counters));

	if (counters)
		*offset = (uint32_t)(offset_of(me, counters) / HP_LINE);
	if (shut)
		hp_gate_open(me, since);
	return counters;
}

/* The group of carries of `group`; NULL = there is no room. */
static uint32_t *carries_of(struct hp_local *me, struct hp_function *function, unsigned group)
{
	uint32_t *groups = function->carries ? (uint32_t *)(me->base + function->carries)
					     : hp_row_take(me, HP_GROUP_SIZE * sizeof(*groups));

	if (!groups)
		return NULL;
	function->carries = offset_of(me, groups);
	return groups[group] ? (uint32_t *)(me->base + (uint64_t)groups[group] * HP_LINE)
			     : hp_row_group(me, &groups[group]);
}

void hp_row_carry(struct hp_local *me, struct hp_function *function, unsigned group)
{
	uint32_t *counters = (uint32_t *)(me->base + (uint64_t)function->groups[group] * HP_LINE);
	uint32_t *carries = carries_of(me, function, group);

	for (int i = 0; carries && i < HP_GROUP_SIZE; i++)
		if (counters[i] >= HP_CARRY) {
			counters[i] -= HP_CARRY;
			carries[i]++;
		}
}

void hp_row_carry_all(struct hp_local *me, struct hp_function *function)
{
	for (unsigned group = 0; group < HP_GROUPS; group++)
		if (function->groups[group])
			hp_row_carry(me, function, group);
}

/* --- life --- */

/* Calls that an earlier process did not end will not end any more. */
static void forget_calls(struct hp_local *me)
{
	uint64_t at = atomic_load_explicit(&me->block->functions, memory_order_relaxed);
	struct hp_function *function;

	for (; at; at = function->next) {
		function = (struct hp_function *)(me->base + at);
		function->active = 0;
	}
}

/* The block's records of an earlier process become findable by this one's addresses. */
static bool adopt(struct hp_local *me)
{
	uint64_t at = atomic_load_explicit(&me->block->rows, memory_order_relaxed);

	forget_calls(me);
	for (; at; at = ((struct hp_row *)(me->base + at))->next) {
		struct hp_row *row = (struct hp_row *)(me->base + at);
		struct hp_function *function = (struct hp_function *)(me->base + row->function);
		struct hp_row *parent = (struct hp_row *)(me->base + row->parent);

		if (row->function == 0) {
			me->root = row;
			continue;
		}
		if (function->address == 0 && function->module == 0) {
			me->other = function;
			me->other_row = row;
		}
		if (!slot_fill(me,
			       &(struct hp_slot){ parent, adopted_key(function), row, function }))
			return false;
	}
	me->is_adopted = true;
	return me->root && me->other_row;
}

/* `<other>` exists from the start: when it is needed, there is no room for it. */
static bool fresh(struct hp_local *me)
{
	me->root = row_new(me, NULL, NULL);
	me->other = function_new(me);
	if (!me->root || !me->other)
		return false;
	function_publish(me, me->other);
	me->other_row = row_new(me, me->root, me->other);
	me->block->root = offset_of(me, me->root);
	return me->other_row != NULL;
}

bool hp_row_init(struct hp_local *me)
{
	me->slots = hp_pages((UINT64_C(1) << HP_SLOTS_FIRST) * sizeof(*me->slots));
	me->known = hp_pages((UINT64_C(1) << HP_KNOWN_FIRST) * sizeof(*me->known));
	me->slot_shift = 64 - HP_SLOTS_FIRST;
	me->known_shift = 64 - HP_KNOWN_FIRST;
	if (!me->slots || !me->known)
		return false;
	return me->block->root ? adopt(me) : fresh(me);
}

void hp_row_release(struct hp_local *me)
{
	hp_pages_release(me->slots, (UINT64_C(1) << (64 - me->slot_shift)) * sizeof(*me->slots));
	hp_pages_release(me->known, (UINT64_C(1) << (64 - me->known_shift)) * sizeof(*me->known));
}

void hp_row_forget(struct hp_local *me, uintptr_t begin, uintptr_t end)
{
	uint64_t slots = UINT64_C(1) << (64 - me->slot_shift);
	uint64_t known = UINT64_C(1) << (64 - me->known_shift);

	for (uint64_t i = 0; i < slots; i++)
		if (me->slots[i].fn >= begin && me->slots[i].fn < end)
			me->slots[i].fn = HP_FORGOTTEN;
	for (uint64_t i = 0; i < known; i++)
		if (me->known[i].fn >= begin && me->known[i].fn < end)
			me->known[i].fn = HP_FORGOTTEN;
}
