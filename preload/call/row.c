/* SPDX-License-Identifier: MIT */
/*
 * row.c - the slow path after the hooks: tables, rows, functions.
 *
 * Three things happen once for each new (parent row, function) of a thread:
 * the function's record is found or made; recursion is folded, i.e. if the
 * function is already on the path, the call goes to that row; and the result
 * is put into the table that the entry hook reads.
 *
 * The tables are private memory and belong to this process; the records are in
 * the segment and may be older: a block left by an ended process is taken over
 * with its records (hp_row_adopt), whose functions are identified by object and
 * address.
 */
#include "preload/call/row.h"

#include <errno.h>
#include <string.h>

#include "preload/call/block.h"
#include "preload/call/clock.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/thread/drop.h"
#include "preload/thread/module.h"
#include "util/hash.h"

#define HP_ROWS_FIRST 10	/* log2 of the places for rows of a new thread */
#define HP_KNOWN_FIRST 8
#define HP_OFTEN 64	/* calls of a row before it may take the first place of its key, */
#define HP_MORE_OFTEN 2	/* and how many times as many as the one there */
#define HP_ADOPTED 1	/* low bit of a key that is the address of a function record */

static bool is_parked(uintptr_t fn)
{
	return (fn & HP_PARKED) != 0;
}

/* `size` bytes of [*next, *end); false = that is full, or none exists yet. */
static bool take_from(char **next, const char *end, uint64_t size, void **room)
{
	if ((uint64_t)(end - *next) < size)
		return false;
	*room = *next;
	*next += size;
	return true;
}

void *hp_row_take(struct hp_local *me, uint64_t size)
{
	uint64_t chunk = me->arena ? HP_CHUNK_NEXT : HP_CHUNK_FIRST;
	void *room;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	if (!take_from(&me->arena, me->arena_end, size, &room)) {
		uint64_t offset;

		hp_drop_check();
		offset = hp_segment_take(&hp_segment, size > chunk ? size : chunk, HP_LINE);
		if (offset == 0)
			return NULL;
		if (size >= chunk)
			return me->base + offset;
		room = me->base + offset;
		me->arena = me->base + offset + size;
		me->arena_end = me->base + offset + chunk;
	}
	/* For the next process that takes the block. */
	me->block->arena = (uint64_t)(me->arena - me->base);
	me->block->arena_end = (uint64_t)(me->arena_end - me->base);
	return room;
}

static struct hp_row *row_take(struct hp_local *me)
{
	void *room;

	if (!take_from(&me->row_arena, me->row_arena_end, sizeof(struct hp_row), &room)) {
		uint64_t chunk = me->row_chunk ? me->row_chunk : HP_CHUNK_ROWS;
		uint64_t offset = hp_segment_take(&hp_segment, chunk, HP_LINE);

		if (offset == 0)
			return NULL;
		room = me->base + offset;
		me->row_arena = me->base + offset + sizeof(struct hp_row);
		me->row_arena_end = me->base + offset + chunk;
		me->row_chunk = chunk < HP_CHUNK_NEXT ? chunk * 2 : chunk;
	}
	me->block->row_arena = (uint64_t)(me->row_arena - me->base);
	me->block->row_arena_end = (uint64_t)(me->row_arena_end - me->base);
	return room;
}

static uint64_t known_index(uint64_t key, uint32_t shift)
{
	return (key * HP_HASH_GOLDEN) >> shift;
}

/* Few for a thread that calls few functions, then a page of them. */
static struct hp_gist *gist_take(struct hp_local *me)
{
	if (me->gists == me->gists_end) {
		uint64_t size = me->gists ? HP_PAGE : HP_PAGE / 8;

		me->gists = hp_row_take(me, size);
		if (!me->gists)
			me->gists_end = NULL;
		else
			me->gists_end = me->gists + size / sizeof(*me->gists);
	}
	return me->gists ? me->gists++ : NULL;
}

/* --- the table: (parent row, function address) -> row --- */

struct hp_gist hp_row_alias_gist;

/* Fills every empty place, so that hooks need not check for NULL. Its key belongs to no call. */
static struct hp_row nothing;

static struct hp_row **place_of(const struct hp_local *me, uint32_t above, uintptr_t fn)
{
	uint64_t i = hp_row_index(me, above, fn);

	while (me->rows[i] != &nothing && (me->rows[i]->fn != fn || me->rows[i]->above != above))
		i = (i + 1) & me->rows_last;
	return &me->rows[i];
}

/*
 * A module that is loaded (again) precedes libraries that were at these addresses earlier, since
 * hooks check the first place. Both are in one run of used places after `i`, so both are found.
 */
static void to_the_front(const struct hp_local *me, uint64_t i, uint64_t at)
{
	struct hp_row *row = me->rows[at];

	while (i != at && !is_parked(me->rows[i]->fn))
		i = (i + 1) & me->rows_last;
	me->rows[at] = me->rows[i];
	me->rows[i] = row;
}

static bool is_alias(const struct hp_row *row)
{
	return hp_row_gist(row) == &hp_row_alias_gist;
}

/*
 * A row that was forgotten (hp_row_forget), by its function's address: that of `function`, or an
 * alias if that is NULL. It is back; the caller writes its key. NULL = none exists.
 */
static struct hp_row *unpark(const struct hp_local *me, uint32_t above, uintptr_t fn,
			     const struct hp_function *function)
{
	uint64_t first = hp_row_index(me, above, fn), i = first;
	struct hp_row *row;

	/* Nothing was unloaded. */
	if (hp_module_generation() == 0)
		return NULL;
	for (; me->rows[i] != &nothing; i = (i + 1) & me->rows_last) {
		row = me->rows[i];
		if (row->fn != (fn | HP_PARKED) || row->above != above)
			continue;
		if (function ? is_alias(row) || hp_row_function(me, row) != function
			     : !is_alias(row))
			continue;
		to_the_front(me, first, i);
		return row;
	}
	return NULL;
}

/*
 * Exchanges two rows of one run of used places, so both are still found. A signal handler may jump
 * away halfway: then hp_row_recover puts `moving` back. In this order for hp_row_forget.
 */
static void exchange(struct hp_local *me, struct hp_row **first, struct hp_row **later)
{
	struct hp_row *row = *later;

	__atomic_store_n(&me->moving, *first, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_release);
	*first = row;
	atomic_thread_fence(memory_order_release);
	*later = me->moving;
	__atomic_store_n(&me->moving, NULL, __ATOMIC_RELEASE);
}

/*
 * The hooks check only the first place of a key. If the row there is called less often than the
 * one at `place`, they change places, unless an object was unloaded: see hp_row_forget.
 */
static void to_first(struct hp_local *me, struct hp_row **place)
{
	const struct hp_row *row = *place;
	struct hp_row **first = &me->rows[hp_row_index(me, row->above, row->fn)];
	uint64_t since;

	if (first == place || row->calls < HP_OFTEN ||
	    row->calls / HP_MORE_OFTEN <= (*first)->calls || hp_module_generation() != 0)
		return;
	since = hp_clock(me);
	if (!hp_gate_shut(me))
		return;
	exchange(me, first, place);
	hp_gate_open(me, since);
}

static struct hp_row **table_new(uint64_t count)
{
	struct hp_row **rows = hp_pages(count * sizeof(*rows));

	for (uint64_t i = 0; rows && i < count; i++)
		rows[i] = &nothing;
	return rows;
}

static void table_put(struct hp_local *me, struct hp_row *row)
{
	uint64_t first = hp_row_index(me, row->above, row->fn & ~HP_PARKED), i = first;

	while (me->rows[i] != &nothing) {
		if (me->rows[i] == row)
			return;	/* one that was taken over is under both of its keys */
		i = (i + 1) & me->rows_last;
	}
	me->rows[i] = row;
	me->row_count++;
	if (!is_parked(row->fn))
		to_the_front(me, first, i);
}

/*
 * Twice as many places.  False = no memory; the old ones stay.  The old pages
 * stay mapped: a dlclose in another thread may be looking through them
 * (hp_row_forget).  If it missed the new ones, everything is forgotten.
 */
static bool table_grow(struct hp_local *me)
{
	uint64_t count = me->rows_last + 1;
	uint64_t generation = hp_module_generation();
	struct hp_row **old = me->rows;
	struct hp_row **wide = table_new(2 * count);

	if (!wide)
		return false;
	me->rows = wide;
	me->rows_last = 2 * count - 1;
	me->row_count = 0;
	for (uint64_t i = 0; i < count; i++)
		if (old[i] != &nothing)
			table_put(me, old[i]);
	if (hp_module_generation() != generation)
		for (uint64_t i = 0; i < 2 * count; i++)
			wide[i] = &nothing;
	return true;
}

/*
 * At most a fifth full, so that the hook rarely has to probe further; the
 * limit is seven eighths when memory runs out, since probing must end.
 */
static bool table_add(struct hp_local *me, struct hp_row *row)
{
	uint64_t count = me->rows_last + 1;

	if (me->row_count >= count / 5 && !table_grow(me) && me->row_count >= count - count / 8)
		return false;
	/* The row is complete: a signal handler that jumps away leaves nothing half-made. */
	atomic_signal_fence(memory_order_seq_cst);
	table_put(me, row);
	return true;
}

/* The key leads to `row`, which has another key. Without memory, it is found by the slow path. */
static void alias_add(struct hp_local *me, const struct hp_row *parent, uintptr_t fn,
		      struct hp_row *row)
{
	struct hp_row *alias = unpark(me, hp_row_number(parent), fn, NULL);

	if (alias) {
		alias->below = (int64_t)(uintptr_t)row;
		alias->fn = fn;
		return;
	}
	alias = hp_local_memory(me, sizeof(*alias));
	if (!alias)
		return;
	alias->fn = fn;
	alias->above = hp_row_number(parent);
	alias->below = (int64_t)(uintptr_t)row;
	alias->gist_at = (uintptr_t)&hp_row_alias_gist;
	table_add(me, alias);
}

/* --- functions --- */

static struct hp_known *known_place(const struct hp_local *me, uintptr_t fn)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = known_index(fn, me->known_shift);

	while (me->known[i].fn && me->known[i].fn != fn)
		i = (i + 1) & last;
	return &me->known[i];
}

/* Entries of libraries that were at the same address in turn are adjacent. */
static void known_put(struct hp_local *me, const struct hp_known *known)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = known_index(known->fn & ~HP_PARKED, me->known_shift);

	while (me->known[i].fn)
		i = (i + 1) & last;
	me->known[i] = *known;
}

static bool known_grow(struct hp_local *me)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	uint64_t generation = hp_module_generation();
	struct hp_known *old = me->known;
	struct hp_known *wide = hp_pages(2 * count * sizeof(*wide));

	if (!wide)
		return false;
	me->known = wide;
	me->known_shift--;
	for (uint64_t i = 0; i < count; i++)
		if (old[i].fn)
			known_put(me, &old[i]);
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
	struct hp_gist *gist = gist_take(me);
	struct hp_function *function = gist ? hp_row_take(me, sizeof(*function)) : NULL;

	if (!function)
		return NULL;
	gist->exit_delta = HP_DELTA_NONE;
	function->gist = (uint32_t)((uint64_t)((char *)gist - me->base) / sizeof(*gist));
	function->exit_delta_other = HP_DELTA_NONE;
	function->least = UINT64_MAX;
	if (me->logs_limit) {
		void *logs = hp_row_take(me, me->logs_limit * sizeof(struct hp_call));

		function->logs =
			logs ? (uint32_t)((uint64_t)((char *)logs - me->base) / HP_LINE) : 0;
	}
	return function;
}

static struct hp_gist *gist_of(const struct hp_local *me, const struct hp_function *function)
{
	return (struct hp_gist *)(me->base + (uint64_t)function->gist * sizeof(struct hp_gist));
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

/* NULL = it is the address of a function. */
static const struct hp_label *label_of(uintptr_t fn)
{
	const struct hp_label *label = hp_block_label(fn);

	return label && !hp_segment_holds(&hp_segment, label) ? hp_block_again(label) : label;
}

static struct hp_function *function_make(struct hp_local *me, uintptr_t fn)
{
	const struct hp_label *label = label_of(fn);
	const struct hp_module *module = label ? hp_block_module(label) : hp_module_of(fn);
	uint64_t address = label ? label->address : module ? fn - module->bias : fn;
	struct hp_function *function;

	if (hp_block_is_nameless(fn) || (!label && hp_block_label(fn)))
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
	gist_of(me, function)->active = 0;
	return function;
}

/*
 * One that was forgotten when its library was unloaded (hp_row_forget), and is back at the same
 * place; or whose calls went to `<other>`.  NULL = none exists.
 */
static struct hp_known *known_unpark(struct hp_local *me, uintptr_t fn)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = known_index(fn, me->known_shift);

	for (; me->known[i].fn; i = (i + 1) & last) {
		struct hp_known *known = &me->known[i];
		const struct hp_module *module;

		if (known->fn != (fn | HP_PARKED))
			continue;
		module = hp_module_of(fn);
		if (known->function != me->other &&
		    (!module || me->base + known->function->module != (const char *)module))
			continue;
		if (known->function == me->other)
			known->function = function_make(me, fn);
		known->fn = fn;
		return known;
	}
	return NULL;
}

static struct hp_function *function_find(struct hp_local *me, uintptr_t fn)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	struct hp_known *place = known_place(me, fn);

	if (place->fn)
		return place->function;
	place = known_unpark(me, fn);
	if (place)
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

static uint32_t line_of(const struct hp_local *me, const void *record)
{
	return (uint32_t)(offset_of(me, record) / HP_LINE);
}

/* The row of `function` among `row` and its ancestors; NULL = it is not on the path. */
static struct hp_row *row_above(const struct hp_local *me, struct hp_row *row,
				const struct hp_function *function)
{
	uint32_t wanted = line_of(me, function);

	while (row->function) {
		if (row->function == wanted)
			return row;
		row = (struct hp_row *)(me->base + (uint64_t)row->parent * HP_LINE);
	}
	return NULL;
}

static struct hp_row *row_new(struct hp_local *me, const struct hp_row *parent,
			      const struct hp_function *function)
{
	struct hp_row *row = row_take(me);

	if (!row)
		return NULL;
	row->gist_at = function ? (uintptr_t)gist_of(me, function) : 0;
	row->fn = function ? function->fn : 0;
	row->above = hp_row_number(parent);
	row->parent = parent ? line_of(me, parent) : 0;
	row->function = function ? line_of(me, function) : 0;
	row->function_near = row->function;
	row->next =
		(uint32_t)(atomic_load_explicit(&me->block->rows, memory_order_relaxed) / HP_LINE);
	atomic_store_explicit(&me->block->rows, offset_of(me, row), memory_order_release);
	me->block->row_count++;
	return row;
}

/*
 * Records of an earlier process are found by record, not by address: until it
 * is called again, its key is this, which no address equals.
 */
static uintptr_t adopted_key(const struct hp_function *function)
{
	return (uintptr_t)function | HP_ADOPTED;
}

/* The record of (parent, function): folded, existing, or new. */
static struct hp_row *row_find(struct hp_local *me, struct hp_row *parent,
			       struct hp_function *function)
{
	struct hp_row *row = row_above(me, parent, function);

	if (function == me->other)
		return me->other_row;
	if (row)
		return row;
	row = *place_of(me, hp_row_number(parent), function->fn);
	if (row != &nothing)
		return hp_row_meant(row);
	row = unpark(me, hp_row_number(parent), function->fn, function);
	if (row) {
		row->fn = function->fn;
		return row;
	}
	row = me->is_adopted ? *place_of(me, hp_row_number(parent), adopted_key(function))
			     : &nothing;
	if (row == &nothing) {
		if (me->block->row_count >= HP_ROWS_MAX && parent != me->root)
			return NULL;
		row = row_new(me, parent, function);
	}
	if (row) {
		row->fn = function->fn;
		table_add(me, row);
	}
	return row;
}

/* Where calls without a row of their own go: the function's row below the root. */
static struct hp_row *row_flat(struct hp_local *me, struct hp_function *function)
{
	struct hp_row *row = row_find(me, me->root, function);

	return row ? row : me->other_row;
}

static struct hp_row *row_make(struct hp_local *me, struct hp_row *parent, uintptr_t fn)
{
	struct hp_function *function = function_find(me, fn);
	struct hp_row *row = row_find(me, parent, function);

	if (!row) {
		row = row_flat(me, function);
		me->block->folded_rows++;
	}
	/* Only the last call's end is known. */
	if (row == me->other_row)
		row->fn = fn;
	if (row->fn != fn || row->above != hp_row_number(parent))
		alias_add(me, parent, fn, row);
	return row;
}

struct hp_row *hp_row_find(struct hp_local *me, struct hp_row *parent, uintptr_t fn)
{
	struct hp_row **place;
	struct hp_row *row;
	uint64_t since;
	bool shut;
	int saved;

	/* A handler that interrupted a hook may find a frame that is claimed but not filled. */
	if (HP_UNLIKELY(!parent))
		parent = me->root;
	place = place_of(me, hp_row_number(parent), fn);
	row = *place;
	if (HP_LIKELY(row != &nothing)) {
		to_first(me, place);
		return row;
	}
	saved = errno;
	since = hp_clock(me);
	shut = hp_gate_shut(me);
	row = row_make(me, parent, fn);
	if (shut)
		hp_gate_open(me, since);
	errno = saved;
	return row;
}

void hp_row_recover(struct hp_local *me)
{
	struct hp_row *row = me->moving;

	me->moving = NULL;
	if (row)
		table_put(me, row);
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

/* The group of carries of `group`; NULL = no room. */
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

/*
 * The block's records of an earlier process become findable by this one's
 * addresses.  Calls that it did not end will never end.
 */
static bool adopt(struct hp_local *me)
{
	uint64_t at = atomic_load_explicit(&me->block->rows, memory_order_relaxed);

	while (at) {
		struct hp_row *row = (struct hp_row *)(me->base + at);
		struct hp_function *function;

		at = (uint64_t)row->next * HP_LINE;
		row->above = hp_row_number(me->base + (uint64_t)row->parent * HP_LINE);
		row->function_near = row->function;
		if (row->function == 0) {
			me->root = row;
			continue;
		}
		function = hp_row_function(me, row);
		row->fn = adopted_key(function);
		row->gist_at = (uintptr_t)gist_of(me, function);
		gist_of(me, function)->active = 0;
		if (function->address == 0 && function->module == 0) {
			me->other = function;
			me->other_row = row;
		}
		if (!table_add(me, row))
			return false;
	}
	me->is_adopted = true;
	return me->root && me->other_row;
}

/* `<other>` exists from the start: when it is needed, the segment may be full. */
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
	me->rows = table_new(UINT64_C(1) << HP_ROWS_FIRST);
	me->known = hp_pages((UINT64_C(1) << HP_KNOWN_FIRST) * sizeof(*me->known));
	me->rows_last = (UINT64_C(1) << HP_ROWS_FIRST) - 1;
	me->known_shift = 64 - HP_KNOWN_FIRST;
	if (!me->rows || !me->known)
		return false;
	return me->block->root ? adopt(me) : fresh(me);
}

void hp_row_release(struct hp_local *me)
{
	hp_pages_release(me->rows, (me->rows_last + 1) * sizeof(*me->rows));
	hp_pages_release(me->known, (UINT64_C(1) << (64 - me->known_shift)) * sizeof(*me->known));
}

static void park(struct hp_row *row, uintptr_t begin, uintptr_t end)
{
	if (row->fn >= begin && row->fn < end)
		row->fn |= HP_PARKED;
}

static void park_all(const struct hp_local *me, uintptr_t begin, uintptr_t end)
{
	for (uint64_t i = 0; i <= me->rows_last; i++)
		park(me->rows[i], begin, end);
	atomic_thread_fence(memory_order_acquire);
}

/*
 * The thread may be exchanging two rows, for the last time, since it knows of the unloaded object
 * by the next. If that began after the first pass, both were seen. If it has ended before the
 * second one, both will be. Otherwise one is `moving`.
 */
void hp_row_forget(struct hp_local *me, uintptr_t begin, uintptr_t end)
{
	uint64_t known = UINT64_C(1) << (64 - me->known_shift);
	struct hp_row *moving;

	park_all(me, begin, end);
	moving = __atomic_load_n(&me->moving, __ATOMIC_ACQUIRE);
	if (moving)
		park(moving, begin, end);
	park_all(me, begin, end);
	for (uint64_t i = 0; i < known; i++)
		if (me->known[i].fn >= begin && me->known[i].fn < end)
			me->known[i].fn |= HP_PARKED;
}
