/* SPDX-License-Identifier: MIT */
/*
 * path.c - the path cache's other side, and the tree of paths.
 *
 * Entries are in a ring. An entry is removed from the index before it is
 * overwritten: it knows its set. Tables grow by doubling; their old pages are
 * freed, since only this thread reads them.
 */
#include "preload/heap/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/readable.h"
#include "preload/heap/inherit.h"
#include "preload/heap/path_site.h"
#include "preload/heap/path_table.h"
#include "preload/thread/module.h"
#include "util/hash.h"
#include "util/assert.h"

/*
 * At first all of this together fits into a page or two that other threads' share: a program may
 * start thousands of threads that hardly do anything.
 */
#define HP_ENTRIES_FIRST (UINT64_C(1) << 11)	/* bytes */
#define HP_ENTRIES_MAX (UINT64_C(1) << 18)
/*
 * As large as it is until it was filled many times: in a process of some milliseconds more would
 * displace the program's data in its caches, and take page faults, for few hits.
 */
#define HP_ENTRIES_SHORT (UINT64_C(1) << 16)
#define HP_WRAPS_SHORT 64
#define HP_ENTRY_MIN (UINT64_C(2) * HP_LINE)
#define HP_RING_SHARE 4	/* larger entries are not kept */
#define HP_INDEX_FIRST 2	/* log2 of sets */
#define HP_INDEX_MAX 13
#define HP_ROWS_FIRST 4	/* log2 of the walker's pairs of rows */
#define HP_ROWS_MAX_BITS 14
#define HP_KNOWN_FIRST 4
#define HP_KNOWN_LARGE (UINT64_C(1) << 19)	/* bytes: from 12 288 paths on */
#define HP_STEPS_FIRST 5
#define HP_FRAMES_FIRST 16	/* of a walk */
#define HP_FRAMES_GROWTH 4
#define HP_STEPS_CHUNK_FIRST 59	/* steps of a heap's first chunk: 1 KiB with one unused step */
#define HP_STEPS_CHUNK_NEXT 1019

static uint64_t mix(uint64_t key)
{
	key *= HP_HASH_FACTOR;
	return key ^ key >> 31;
}

/* --- the stack --- */

void hp_path_set_stack(struct hp_heap_local *me, uintptr_t sp)
{
	uintptr_t end = hp_readable_stack_end(sp);

	/* Guesses are only readable on the stack that they were made on. */
	if (me->walker.has_guessed && me->walker.home_high != end) {
		me->walker.has_guessed = false;
		hp_path_forget(me);
	}
	me->walker.home_low = end ? sp : 0;
	me->walker.home_high = end;
}

/* --- where stacks begin --- */

/* The loader's code before the program's, which has no unwind information there. */
static uintptr_t loader_low, loader_high, program_entry;

void hp_path_begin(void)
{
	uintptr_t base = (uintptr_t)getauxval(AT_BASE);
	struct hp_module module;

	program_entry = (uintptr_t)getauxval(AT_ENTRY);
	if (base && hp_module_span(base, &module)) {
		loader_low = module.begin;
		loader_high = module.end;
	}
}

bool hp_path_is_loader(uintptr_t pc)
{
	return pc >= loader_low && pc < loader_high;
}

/* --- tables --- */

/* Rows of recurring frames should not evict each other. */
static void rows_grow(struct hp_heap_local *me)
{
	struct hp_walker *walker = &me->walker;
	uint32_t bits = 64 - walker->row_shift;

	if (walker->fills - me->fills_seen < UINT64_C(1) << bits || bits >= HP_ROWS_MAX_BITS)
		return;
	me->fills_seen = walker->fills;
	hp_rows_widen(me, bits + 2);
}

/* --- frames --- */

static uint64_t lines_of(uint64_t size)
{
	return (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
}

static uint64_t frames_size(const struct hp_heap_local *me, uint32_t most)
{
	return lines_of(HP_WALK_ROOM(most)) +
	       lines_of(most * (sizeof(*me->past) + sizeof(*me->past_ids)));
}

/* Room for walks of this many frames, empty. False = no memory, and it has the old room. */
static bool frames_init(struct hp_heap_local *me, uint32_t most)
{
	char *room = hp_tables_take(&me->tables, frames_size(me, most));

	if (!room)
		return false;
	if (me->frames)
		hp_tables_give(&me->tables, me->frames, frames_size(me, me->walker.most));
	me->frames = room;
	hp_walk_settle(&me->walker, room, most);
	hp_walk_forget(&me->walker);
	me->past = (uintptr_t *)(void *)(room + lines_of(HP_WALK_ROOM(most)));
	me->past_ids = (uint32_t *)(me->past + most);
	me->past_count = 0;
	return true;
}

/* --- the cache --- */

static struct hp_path_entry *entry_at(const struct hp_heap_local *me, uint64_t place)
{
	return (struct hp_path_entry *)(me->entries + place);
}

/* The first entry matches nothing: empty places of the index lead to it. */
static void entries_clear(struct hp_heap_local *me)
{
	struct hp_path_entry *none = entry_at(me, 0);

	memset(none, 0, sizeof(*none));
	none->pc = 1;
	none->top = none->slots;
	me->latest = 0;
	me->head = me->tail = HP_ENTRY_MIN;
	me->wraps = 0;
}

/* As many numbers as the ring has room for entries; 0 is the first entry's. */
static uint32_t numbers_bits(uint64_t size)
{
	uint32_t bits = 6;

	while (UINT64_C(1) << bits < size / HP_ENTRY_MIN)
		bits++;
	return bits;
}

/*
 * From its second size on, the ring has the address space of the largest one, so its pages are used
 * again when it grows.
 */
static char *entries_room(struct hp_heap_local *me, uint64_t size)
{
	if (size <= HP_ENTRIES_FIRST)
		return hp_tables_take(&me->tables, size);
	if (!me->ring)
		me->ring = hp_tables_take(&me->tables, HP_ENTRIES_MAX);
	return me->ring;
}

/* The index last, as its mask changes with it. Empty numbers lead to no entry. */
static bool entries_find(struct hp_heap_local *me, uint64_t size, uint32_t bits)
{
	return hp_table_widen(me, (void **)&me->numbers, &me->numbers_shift, sizeof(*me->numbers),
			      numbers_bits(size)) &&
	       hp_table_widen(me, (void **)&me->index, &me->index_shift,
			      HP_PATH_WAYS * sizeof(*me->index), bits);
}

static bool entries_init(struct hp_heap_local *me, uint64_t size, uint32_t bits)
{
	char *entries = entries_room(me, size);

	if (!entries)
		return false;
	if (!entries_find(me, size, bits)) {
		/* The largest ring stays, for the next time. */
		if (entries != me->ring)
			hp_tables_give(&me->tables, entries, size);
		return false;
	}
	me->index_mask =
		(uint32_t)(hp_table_size(me->index_shift, HP_PATH_WAYS * sizeof(*me->index)) -
			   HP_PATH_WAYS * sizeof(*me->index));
	me->entries = entries;
	me->entries_size = size;
	entries_clear(me);
	return true;
}

/* The entry at `place` is about to be overwritten. */
static void entry_drop(struct hp_heap_local *me, uint64_t place)
{
	const struct hp_path_entry *entry = entry_at(me, place);
	uint32_t *set = me->index + (uint64_t)entry->set * HP_PATH_WAYS;

	me->numbers[entry->number].place = 0;
	for (int i = 0; i < HP_PATH_WAYS; i++)
		if (set[i] == place)
			set[i] = 0;
}

/* Drops the oldest entries until the ring is free up to `end`. */
static void ring_free(struct hp_heap_local *me, uint64_t end)
{
	while (me->tail < end && me->tail < me->entries_size) {
		uint32_t size = entry_at(me, me->tail)->size;

		if (size == 0) {	/* nothing was ever here, or the last round ended here */
			me->tail = me->entries_size;
			return;
		}
		entry_drop(me, me->tail);
		me->tail += size;
	}
}

/* Room for an entry in the ring. */
static struct hp_path_entry *ring_take(struct hp_heap_local *me, uint32_t size)
{
	struct hp_path_entry *entry;

	if (me->head + size > me->entries_size) {
		if (me->wraps)
			ring_free(me, me->entries_size);
		if (me->head < me->entries_size)
			entry_at(me, me->head)->size = 0;
		me->head = me->tail = HP_ENTRY_MIN;
		me->wraps++;
	}
	if (me->wraps)
		ring_free(me, me->head + size);
	entry = entry_at(me, me->head);
	me->head += size;
	return entry;
}

static uint64_t entries_next(uint64_t size)
{
	uint64_t most = size < HP_ENTRIES_SHORT ? HP_ENTRIES_SHORT : HP_ENTRIES_MAX;

	return size * 4 < most ? size * 4 : most;
}

/* A ring that was filled twice, or has no room for `wanted`, is too small for this program. */
static void entries_grow(struct hp_heap_local *me, uint64_t wanted)
{
	uint64_t wraps = me->entries_size == HP_ENTRIES_SHORT ? HP_WRAPS_SHORT : 2;
	uint32_t bits = 64 - me->index_shift;

	if ((me->wraps < wraps && wanted <= me->entries_size / HP_RING_SHARE) ||
	    me->entries_size >= HP_ENTRIES_MAX)
		return;
	me->wraps = 0;
	entries_init(me, entries_next(me->entries_size),
		     bits + 2 < HP_INDEX_MAX ? bits + 2 : HP_INDEX_MAX);
}

static void set_put_first(uint32_t *set, uint32_t place, int from)
{
	for (int i = from; i > 0; i--)
		set[i] = set[i - 1];
	set[0] = place;
}

/* An allocation has this entry, and the previous one had the latest: the same may happen again. */
static void entry_follow(struct hp_heap_local *me, const struct hp_path_entry *entry)
{
	me->numbers[me->latest].next = entry->number;
	me->latest = entry->number;
}

/* 0 belongs to none. */
static uint32_t number_take(struct hp_heap_local *me)
{
	uint32_t last = (UINT32_C(1) << (64 - me->numbers_shift)) - 1;

	me->number = me->number == last ? 1 : me->number + 1;
	return me->number;
}

static void entry_add(struct hp_heap_local *me, const struct hp_path_frame *frame,
		      struct hp_site *site)
{
	const struct hp_walker *walker = &me->walker;
	const struct hp_walk_frame *top = &walker->trail[walker->count - 1];
	uint64_t size =
		sizeof(struct hp_path_entry) + (top->slots + 1) * sizeof(struct hp_walk_slot);
	struct hp_path_entry *entry;
	uint32_t place, *set;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	entries_grow(me, size);
	if (size > me->entries_size / HP_RING_SHARE)
		return;
	entry = ring_take(me, (uint32_t)size);
	set = hp_path_set(me, frame->pc, frame->sp);
	*entry = (struct hp_path_entry){
		.pc = frame->pc,
		.sp = frame->sp,
		.fp = frame->fp,
		.fp_mask = top->needs_fp ? UINTPTR_MAX : 0,
		.site = (uint64_t)((char *)site - me->base),
		.top = entry->slots + top->slots,
		.size = (uint32_t)size,
		.set = (uint32_t)((set - me->index) / HP_PATH_WAYS),
		.number = number_take(me),
	};
	entry->slots[0] = (struct hp_walk_slot){ (uintptr_t)&entry->pc, ~entry->pc };
	memcpy(entry->slots + 1, walker->slots, top->slots * sizeof(struct hp_walk_slot));
	place = (uint32_t)((char *)entry - me->entries);
	me->numbers[entry->number].place = place;
	set_put_first(set, place, HP_PATH_WAYS - 1);
	entry_follow(me, entry);
}

/* --- the tree --- */

static uint32_t id_of(const struct hp_heap_local *me, const struct hp_step *step)
{
	return (uint32_t)((uint64_t)((const char *)step - me->base) / sizeof(*step));
}

static struct hp_step *step_at(const struct hp_heap_local *me, uint32_t id)
{
	return (struct hp_step *)(me->base + (uint64_t)id * sizeof(struct hp_step));
}

/*
 * Usually a step is created right after its caller, and is found there.
 * Others are in an index; it holds 32 bits of the hash, so that most misses
 * are detected without reading steps.
 */
static bool is_same(const struct hp_step *step, const struct hp_step *wanted)
{
	return step->caller == wanted->caller && step->object == wanted->object &&
	       step->address == wanted->address;
}

static bool is_behind(uint32_t id, const struct hp_step *step)
{
	return step->caller && step->caller == id - 1;
}

static uint32_t step_hash(const struct hp_step *step)
{
	uint64_t key =
		((uint64_t)step->object << 32 | step->address) + step->caller * HP_HASH_GOLDEN;

	return (uint32_t)(mix(key) >> 16);
}

/* NULL = none exists. */
static struct hp_step *step_find(const struct hp_heap_local *me, const struct hp_step *wanted,
				 uint32_t hash)
{
	uint32_t last = (UINT32_C(1) << (64 - me->step_shift)) - 1;
	uint32_t i = hash & last;

	/* The last step of a chunk is followed by an empty one, which has no caller. */
	if (wanted->caller && is_same(step_at(me, wanted->caller + 1), wanted))
		return step_at(me, wanted->caller + 1);
	for (; me->steps[i].id; i = (i + 1) & last)
		if (me->steps[i].hash == hash && is_same(step_at(me, me->steps[i].id), wanted))
			return step_at(me, me->steps[i].id);
	return NULL;
}

static void step_note(struct hp_heap_local *me, const struct hp_path_step *noted)
{
	uint32_t last = (UINT32_C(1) << (64 - me->step_shift)) - 1;
	uint32_t i = noted->hash & last;

	while (me->steps[i].id)
		i = (i + 1) & last;
	me->steps[i] = *noted;
}

static bool steps_grow(struct hp_heap_local *me)
{
	struct hp_path_step *old = me->steps;
	uint64_t size = hp_table_size(me->step_shift, sizeof(*old));
	struct hp_path_step *wide = hp_tables_take_used(&me->tables, size * 2);

	if (!wide)
		return false;
	me->steps = wide;
	me->step_shift--;
	for (uint64_t i = 0; i < size / sizeof(*old); i++)
		if (old[i].id)
			step_note(me, &old[i]);
	hp_tables_give(&me->tables, old, size);
	return true;
}

static bool chunk_new(struct hp_heap_local *me)
{
	uint32_t capacity = me->chunk ? HP_STEPS_CHUNK_NEXT : HP_STEPS_CHUNK_FIRST;
	struct hp_steps *chunk =
		hp_heap_take(me, sizeof(*chunk) + (capacity + 1) * sizeof(chunk->at[0]));

	if (!chunk)
		return false;
	chunk->capacity = capacity;
	chunk->next = atomic_load_explicit(&me->heap->steps, memory_order_relaxed);
	/* Release: a thread that finds the chunk finds its `next`. */
	atomic_store_explicit(&me->heap->steps, (uint64_t)((char *)chunk - me->base),
			      memory_order_release);
	me->chunk = chunk;
	if (!me->oldest)
		me->oldest = chunk;
	return true;
}

/* There is room for one more in the index; false = no memory. */
static bool steps_have_room(struct hp_heap_local *me)
{
	uint64_t slots = UINT64_C(1) << (64 - me->step_shift);

	return me->step_count < slots - slots / 4 || steps_grow(me) ||
	       me->step_count < slots - slots / 8;
}

static bool chunk_index(struct hp_heap_local *me, const struct hp_steps *chunk, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct hp_step *step = &chunk->at[i];
		uint32_t id = id_of(me, step);

		if (is_behind(id, step))
			continue;
		if (!steps_have_room(me))
			return false;
		step_note(me, &(struct hp_path_step){ step_hash(step), id });
		me->step_count++;
	}
	return true;
}

/* One in five or six is in the index. */
static bool steps_expect(struct hp_heap_local *me, uint64_t count)
{
	uint32_t bits = 64 - me->step_shift;

	while (UINT64_C(3) << bits < count)
		bits++;
	return bits == 64 - me->step_shift ||
	       hp_table_widen(me, (void **)&me->steps, &me->step_shift, sizeof(*me->steps), bits);
}

/* Chunks of steps, the newest first. */
struct chunks {
	uint64_t at;	/* of the next one */
	uint64_t end;	/* it lies before this */
	uint32_t count;	/* of the last one's steps */
};

static struct chunks chunks_of(const struct hp_heap_local *me)
{
	return (struct chunks){
		.at = atomic_load_explicit(&me->heap->steps, memory_order_acquire),
		.end = UINT64_MAX,
	};
}

static struct hp_steps *chunks_next(const struct hp_heap_local *me, struct chunks *chunks)
{
	struct hp_steps *chunk = hp_steps_before(me, chunks->at, chunks->end, &chunks->count);

	if (chunk) {
		chunks->end = chunks->at;
		chunks->at = chunk->next;
	}
	return chunk;
}

/*
 * Adopted steps can be found from now on. Only a new path needs that, and most later processes of an
 * executable have hardly any. False = no memory.
 */
static HP_COLD bool steps_index(struct hp_heap_local *me)
{
	struct chunks chunks = chunks_of(me);
	struct hp_steps *chunk;
	uint64_t count = 0;

	while (chunks_next(me, &chunks))
		count += chunks.count;
	if (!steps_expect(me, count))
		return false;
	chunks = chunks_of(me);
	while ((chunk = chunks_next(me, &chunks)))
		if (!chunk_index(me, chunk, chunks.count))
			return false;
	me->has_unindexed = false;
	return true;
}

/* A new path's steps except the first: callees of the newest one would be newer still. */
static bool is_newest(const struct hp_heap_local *me, uint32_t id, uint32_t count)
{
	return id && count && id == id_of(me, &me->chunk->at[count - 1]);
}

/* The step with these contents; NULL = no room. */
static struct hp_step *step_get(struct hp_heap_local *me, const struct hp_step *wanted)
{
	uint32_t count =
		me->chunk ? atomic_load_explicit(&me->chunk->count, memory_order_relaxed) : 0;
	struct hp_step *step = NULL;
	uint32_t id;

	if (HP_UNLIKELY(me->has_unindexed) && !steps_index(me))
		return NULL;
	if (!is_newest(me, wanted->caller, count))
		step = step_find(me, wanted, step_hash(wanted));
	if (step)
		return step;
	if (!steps_have_room(me))
		return NULL;
	if (!me->chunk || count >= me->chunk->capacity) {
		if (!chunk_new(me))
			return NULL;
		count = 0;
	}
	HP_ASSERT(count < me->chunk->capacity);
	step = &me->chunk->at[count];
	*step = *wanted;
	/* Release: a reader that sees the count sees the step. */
	atomic_store_explicit(&me->chunk->count, count + 1, memory_order_release);
	id = id_of(me, step);
	if (is_behind(id, step))
		return step;
	step_note(me, &(struct hp_path_step){ step_hash(step), id });
	me->step_count++;
	return step;
}

static struct hp_step *step_of(struct hp_heap_local *me, uint32_t caller, uintptr_t pc)
{
	const struct hp_module *module = hp_module_of(pc - 1);
	struct hp_step wanted = { .caller = caller };
	uint64_t address = module ? pc - module->bias : pc;

	if (module && address <= UINT32_MAX) {
		wanted.object = (uint32_t)(module->object / HP_LINE);
		wanted.address = (uint32_t)address;
	} else {
		wanted.object = HP_STEP_PLAIN | (uint32_t)((uint64_t)pc >> 32);
		wanted.address = (uint32_t)pc;
	}
	return step_get(me, &wanted);
}

static struct hp_step *step_of_mark(struct hp_heap_local *me, enum hp_step_mark mark)
{
	struct hp_step wanted = { .address = mark };

	return step_get(me, &wanted);
}

/* How many frames of the last walk, from the outermost, the last new path had as well. */
static uint32_t past_shared(const struct hp_heap_local *me)
{
	const struct hp_walker *walker = &me->walker;
	uint32_t least = me->past_count < walker->count ? me->past_count : walker->count;
	uint32_t shared = walker->shared < least ? walker->shared : least;

	while (shared < least && me->past[shared] == walker->trail[shared].pc)
		shared++;
	return shared;
}

/*
 * The innermost step of the last walk; NULL = no room.  New paths usually
 * share their outer half with the previous new one: those steps need no
 * lookup.
 */
static struct hp_step *steps_of_walk(struct hp_heap_local *me)
{
	const struct hp_walker *walker = &me->walker;
	uint32_t mark = walker->is_cut ? HP_STEP_CUT : walker->is_complete ? 0 : HP_STEP_LOST;
	struct hp_step *step = mark ? step_of_mark(me, mark) : NULL;
	uint32_t caller = step ? id_of(me, step) : 0;
	uint32_t i = mark == me->past_mark ? past_shared(me) : 0;

	if (mark && !step)
		return NULL;
	me->past_mark = mark;
	if (i) {
		caller = me->past_ids[i - 1];
		step = step_at(me, caller);
	}
	for (; i < walker->count; i++) {
		step = step_of(me, caller, walker->trail[i].pc);
		if (!step) {
			me->past_count = i;
			return NULL;
		}
		caller = id_of(me, step);
		me->past[i] = walker->trail[i].pc;
		me->past_ids[i] = caller;
	}
	me->past_count = me->walker.shared = walker->count;
	return step;
}

/* --- sites --- */

static struct hp_site *site_new(struct hp_heap_local *me, struct hp_step *step)
{
	struct hp_site *site = hp_heap_take(me, sizeof(*site));
	uint64_t offset;

	if (!site)
		return NULL;
	offset = (uint64_t)((char *)site - me->base);
	if (offset / HP_LINE > UINT32_MAX)
		return NULL;
	site->heap = me->id;
	site->step = id_of(me, step);
	site->epoch = atomic_load_explicit(me->epoch, memory_order_relaxed);
	site->next = atomic_load_explicit(&me->heap->sites, memory_order_relaxed);
	/* Release: a thread that finds the site finds it filled. */
	atomic_store_explicit(&me->heap->sites, offset, memory_order_release);
	step->site = (uint32_t)(offset / HP_LINE);
	me->heap->site_count++;
	return site;
}

static struct hp_site *site_of_step(struct hp_heap_local *me, struct hp_step *step)
{
	struct hp_site *site = NULL;

	if (step)
		site = step->site ? hp_step_site(me, step->site) : site_new(me, step);
	if (site)
		return site;
	me->heap->folded_sites++;
	return hp_heap_site(me, me->heap->other);
}

static uint32_t place_of(const struct hp_heap_local *me, const struct hp_site *site)
{
	return (uint32_t)((uint64_t)((const char *)site - me->base) / HP_LINE);
}

/* The others, which do not grow as large, go into the huge pages too. */
static void tables_move(struct hp_heap_local *me)
{
	struct hp_walker *walker = &me->walker;
	uint64_t size = hp_table_size(walker->row_shift, 2 * sizeof(*walker->rows));
	struct hp_cfi_row *old = walker->rows, *rows = hp_tables_take(&me->tables, size);
	char *ring = me->ring;

	if (rows) {
		walker->rows = memcpy(rows, old, size);
		hp_tables_give(&me->tables, old, size);
	}
	me->ring = NULL;
	/* Cleared: entries contain addresses. */
	if (!entries_init(me, me->entries_size, 64 - me->index_shift))
		me->ring = ring;
	else if (ring)
		hp_tables_give(&me->tables, ring, HP_ENTRIES_MAX);
}

static bool known_grow(struct hp_heap_local *me)
{
	uint64_t size = hp_table_size(me->known_shift, sizeof(*me->known));

	if (size * 2 >= HP_KNOWN_LARGE && hp_tables_enlarge(&me->tables))
		tables_move(me);
	return hp_known_widen(me, 64 - me->known_shift + 1);
}

/*
 * In four of five cases, paths follow each other in the same order as before
 * (cc1plus). So this prefetches the path after the next, which is rarely in a cache, and the
 * site of the next one.
 */
static inline void known_follow(struct hp_heap_local *me, uint32_t place)
{
	const struct hp_path_known *soon = &me->known[me->known[me->known_last].next];

	__builtin_prefetch(&me->known[me->known[place].next]);
	__builtin_prefetch(hp_heap_site(me, (uint64_t)soon->site * HP_LINE), 1);
	__builtin_prefetch((char *)hp_heap_site(me, (uint64_t)soon->site * HP_LINE) + HP_LINE, 1);
	me->known[me->known_before].next = place;
	me->known_before = me->known_last;
	me->known_last = place;
}

static inline struct hp_site *site_known(struct hp_heap_local *me,
					 const struct hp_path_known *known)
{
	known_follow(me, (uint32_t)(known - me->known));
	return hp_heap_site(me, (uint64_t)known->site * HP_LINE);
}

/* A path of the tree, or a new one. */
static HP_COLD struct hp_site *site_unknown(struct hp_heap_local *me, uint64_t hash)
{
	const struct hp_path_known *known;
	struct hp_site *site;
	uint64_t places;

	if (me->steps_left) {
		hp_inherit_paths(me);
		known = hp_known_place(me, hash);
		if (known->hash)
			return site_known(me, known);
	}
	site = site_of_step(me, steps_of_walk(me));
	places = UINT64_C(1) << (64 - me->known_shift);
	if (me->known_count >= hp_known_room(me) && !known_grow(me) &&
	    me->known_count >= places - places / 8)
		return site;
	known_follow(me, hp_known_add(me, hash, place_of(me, site)));
	return site;
}

/* The site of the last walk. */
static struct hp_site *site_of_walk(struct hp_heap_local *me)
{
	const struct hp_walker *walker = &me->walker;
	uint64_t hash = hp_known_hash(walker->trail[walker->count - 1].hash, walker->is_complete);
	const struct hp_path_known *known = hp_known_place(me, hash);

	if (HP_UNLIKELY(!known->hash))
		return site_unknown(me, hash);
	return site_known(me, known);
}

/* False = it has room for as many as are wanted, or there is no memory. */
static bool frames_grow(struct hp_heap_local *me)
{
	uint32_t most = me->walker.most;

	if (most == me->depth_most)
		return false;
	most *= HP_FRAMES_GROWTH;
	return frames_init(me, most < me->depth_most ? most : me->depth_most);
}

static struct hp_site *walk(struct hp_heap_local *me, const struct hp_path_frame *frame)
{
	struct hp_walker *walker = &me->walker;
	struct hp_heap *heap = me->heap;

	if (HP_UNLIKELY(frame->sp < walker->home_low))
		hp_readable_home(walker, frame->sp);
	do
		hp_walk(walker, frame->pc, frame->sp, frame->fp);
	while (HP_UNLIKELY(walker->is_cut) && frames_grow(me));
	heap->walks++;
	heap->incomplete += !walker->is_complete && !walker->is_cut;
	heap->cut += walker->is_cut;
	heap->unproven += !walker->is_proven;
	rows_grow(me);
	if (HP_UNLIKELY(me->has_rules))
		hp_inherit_rules(me);
	return site_of_walk(me);
}

struct hp_site *hp_path_miss(struct hp_heap_local *me, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	const struct hp_path_frame frame = { pc, sp, fp };
	uint32_t *set = hp_path_set(me, pc, sp);
	struct hp_site *site;

	for (int i = 0; i < HP_PATH_WAYS; i++) {
		uint32_t place = set[i];

		if (!hp_path_fits(entry_at(me, place), pc, sp, fp))
			continue;
		set_put_first(set, place, i);
		entry_follow(me, entry_at(me, place));
		return hp_heap_site(me, entry_at(me, place)->site);
	}
	hp_heap_shut(me, sp);
	site = walk(me, &frame);
	if (HP_LIKELY(me->walker.is_proven))
		entry_add(me, &frame, site);
	hp_heap_reopen(me);
	return site;
}

static const struct hp_path_entry *find_entry(const struct hp_heap_local *me,
					      const struct hp_path_frame *frame)
{
	const uint32_t *set = hp_path_set(me, frame->pc, frame->sp);
	const struct hp_path_entry *first = hp_path_numbered(me, hp_path_expected(me));

	if (hp_path_fits(first, frame->pc, frame->sp, frame->fp))
		return first;
	for (int i = 0; i < HP_PATH_WAYS; i++)
		if (hp_path_fits(entry_at(me, set[i]), frame->pc, frame->sp, frame->fp))
			return entry_at(me, set[i]);
	return NULL;
}

/* Compares the cache's result, or a walk that joins the last one, with a fresh walk. */
struct hp_site *hp_path_prove(struct hp_heap_local *me, const struct hp_path_frame *frame)
{
	const struct hp_path_entry *entry = find_entry(me, frame);
	struct hp_site *said, *site;

	said = entry ? hp_heap_site(me, entry->site) : hp_path_site(me, *frame);
	hp_heap_shut(me, frame->sp);
	hp_walk_forget(&me->walker);
	site = walk(me, frame);
	me->heap->walks--;
	me->heap->proofs++;
	me->heap->mismatches += site != said;
	hp_heap_reopen(me);
	return site;
}

/* --- life --- */

/* Steps that an earlier process of this executable made. */
static void adopt(struct hp_heap_local *me)
{
	struct chunks chunks = chunks_of(me);
	struct hp_steps *chunk, *oldest = NULL;
	uint64_t count = 0;

	while ((chunk = chunks_next(me, &chunks))) {
		if (!me->chunk)
			me->chunk = chunk;
		oldest = chunk;
		count += chunks.count;
	}
	me->has_unindexed = count > 0;
	hp_inherit_begin(me, oldest, count);
}

static void set_start(struct hp_walker *walker)
{
	walker->start_low = loader_low;
	walker->start_high = loader_high;
	walker->entry = program_entry;
}

static bool walker_init(struct hp_heap_local *me)
{
	struct hp_walker *walker = &me->walker;

	walker->is_readable = hp_readable_few;
	set_start(walker);
	return frames_init(me,
			   me->depth_most < HP_FRAMES_FIRST ? me->depth_most : HP_FRAMES_FIRST) &&
	       hp_table_widen(me, (void **)&walker->rows, &walker->row_shift,
			      2 * sizeof(*walker->rows), HP_ROWS_FIRST);
}

static bool other_init(struct hp_heap_local *me)
{
	struct hp_site *site = NULL;
	struct hp_step *step;
	uint64_t place = me->heap->other / HP_LINE;

	/* An earlier owner made it. */
	if (place && place <= UINT32_MAX && me->heap->other % HP_LINE == 0 &&
	    hp_step_site(me, (uint32_t)place))
		return true;
	step = step_of_mark(me, HP_STEP_OTHER);
	if (step)
		site = step->site ? hp_step_site(me, step->site) : site_new(me, step);
	if (site)
		me->heap->other = (uint64_t)((char *)site - me->base);
	return site != NULL;
}

bool hp_path_init(struct hp_heap_local *me, uintptr_t sp)
{
	if (!walker_init(me) || !entries_init(me, HP_ENTRIES_FIRST, HP_INDEX_FIRST) ||
	    !hp_table_widen(me, (void **)&me->known, &me->known_shift, sizeof(*me->known),
			    HP_KNOWN_FIRST) ||
	    !hp_table_widen(me, (void **)&me->steps, &me->step_shift, sizeof(*me->steps),
			    HP_STEPS_FIRST))
		return false;
	adopt(me);
	if (!other_init(me))
		return false;
	hp_path_set_stack(me, sp);
	return true;
}

void hp_path_forget(struct hp_heap_local *me)
{
	memset(me->index, 0, hp_table_size(me->index_shift, HP_PATH_WAYS * sizeof(*me->index)));
	memset(me->known, 0, hp_table_size(me->known_shift, sizeof(*me->known)));
	memset(me->walker.rows, 0,
	       hp_table_size(me->walker.row_shift, 2 * sizeof(*me->walker.rows)));
	memset(me->numbers, 0, hp_table_size(me->numbers_shift, sizeof(*me->numbers)));
	if (me->flat)
		memset(me->flat, 0, sizeof(*me->flat) << HP_PATH_FLAT_BITS);
	hp_walk_forget(&me->walker);
	me->known_count = 0;
	me->known_last = me->known_before = 0;
	me->past_count = 0;
	entries_clear(me);
}
