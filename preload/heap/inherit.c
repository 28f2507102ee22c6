/* SPDX-License-Identifier: MIT */
/*
 * inherit.c - see inherit.h.
 *
 * Any process of the session may have written what is read here, at any time. A wrong rule makes
 * wrong paths, but whatever it says, the walker reads only the home stack (hp_walker.has_inherited).
 * Rules of objects without a build-id are not kept: another file may have the same name. If two
 * rules contradict each other, an object was built again with the same build-id, and none is taken.
 */
#include "preload/heap/inherit.h"

#include <string.h>

#include "preload/guest/pages.h"
#include "preload/guest/table.h"
#include "preload/heap/path_table.h"
#include "preload/thread/account.h"
#include "preload/thread/module.h"
#include "util/hash.h"

#define HP_RULES_FIRST 64	/* rows that a process makes before any is kept */
#define HP_RULES_MOST 8192	/* of a heap */
#define HP_KEPT_WORDS 1024	/* of bits that say which are kept, */
#define HP_KEPT_BITS 4	/* for each rule */
#define HP_RULES_CHUNK 252	/* 4 KiB */
#define HP_RULES_CHUNKS (HP_RULES_MOST / HP_RULES_CHUNK + 1)
#define HP_STEPS_FEW 256	/* as soon found in the tree */
#define HP_SHARE 64	/* of the work is done before the rest is inherited, but paths are at once, */
#define HP_SPARE_MOST (UINT64_C(1) << 18)	/* bytes */
#define HP_BUSY 16	/* if the heap's last owner walked more of them than such a share of its steps */

/* --- modules --- */

#define HP_ORIGINS 16

struct origin {
	uint32_t object;	/* offset / HP_LINE; 0 = none yet */
	bool is_loaded;
	uint64_t bias;
};

/* Most records are of the same object as the one before. */
struct origins {
	struct origin last, at[HP_ORIGINS];
	uint32_t count;
};

static __attribute__((noinline)) void origin_read(struct origins *origins, uint32_t object)
{
	const struct hp_module *module;
	uint32_t known = origins->count < HP_ORIGINS ? origins->count : HP_ORIGINS;

	for (uint32_t i = 0; i < known; i++)
		if (origins->at[i].object == object) {
			origins->last = origins->at[i];
			return;
		}
	module = object & HP_STEP_PLAIN ? NULL : hp_module_loaded((uint64_t)object * HP_LINE);
	origins->last = (struct origin){ object, module != NULL, module ? module->bias : 0 };
	/* Plain addresses are of many such objects. */
	if (!(object & HP_STEP_PLAIN))
		origins->at[origins->count++ % HP_ORIGINS] = origins->last;
}

static inline const struct origin *origin_find(struct origins *origins, uint32_t object)
{
	if (origins->last.object != object)
		origin_read(origins, object);
	return &origins->last;
}

/* --- rules --- */

/* NULL = there is none, or no such place in the segment. */
static struct hp_frame_rules *rules_at(const struct hp_heap_local *me, uint64_t at)
{
	return hp_heap_at(me, at,
			  sizeof(struct hp_frame_rules) +
				  HP_RULES_CHUNK * sizeof(struct hp_frame_rule));
}

static uint32_t rules_in(const struct hp_frame_rules *rules)
{
	uint32_t count = *(const volatile uint32_t *)&rules->count;

	return count < HP_RULES_CHUNK ? count : HP_RULES_CHUNK;
}

static struct hp_frame_rules *rules_with_room(struct hp_heap_local *me)
{
	struct hp_frame_rules *rules = rules_at(me, me->oldest->rules);

	if (rules && rules_in(rules) < HP_RULES_CHUNK)
		return rules;
	if (me->rules_count >= HP_RULES_MOST)
		return NULL;
	rules = hp_heap_take(me, sizeof(*rules) + HP_RULES_CHUNK * sizeof(rules->at[0]));
	if (!rules)
		return NULL;
	rules->capacity = HP_RULES_CHUNK;
	rules->next = me->oldest->rules;
	/* Only later processes read it, after this one's end. */
	me->oldest->rules = (uint64_t)((char *)rules - me->base);
	return rules;
}

/*
 * Rows are made again after they had to give way to others. If a rule seems to be kept since others
 * have its bits, later processes make that row themselves.
 */
static bool is_kept(struct hp_heap_local *me, const struct hp_frame_rule *rule)
{
	uint64_t hash = hp_hash_mix((uint64_t)rule->object << 32 | rule->address);
	bool are_set = true;

	for (int i = 0; i < HP_KEPT_BITS; i++, hash >>= 16) {
		uint64_t *word = &me->kept_rules[hash % HP_KEPT_WORDS];
		uint64_t bit = UINT64_C(1) << (hash >> 10) % 64;

		are_set = are_set && *word & bit;
		*word |= bit;
	}
	return are_set;
}

static void rule_keep(struct hp_heap_local *me, const struct hp_cfi_row *row)
{
	const struct hp_module *module = row->kind < HP_ROW_NONE ? hp_module_of(row->pc - 1) : NULL;
	const struct hp_object *object = module ? (void *)(me->base + module->object) : NULL;
	struct hp_frame_rules *rules;
	struct hp_frame_rule rule;
	uint32_t count;

	if (!object || !object->build_id_size || row->pc - module->bias > UINT32_MAX)
		return;
	rule = (struct hp_frame_rule){
		.object = (uint32_t)(module->object / HP_LINE),
		.address = (uint32_t)(row->pc - module->bias),
		.cfa_offset = row->cfa_offset,
		.fp_offset = row->fp_offset,
		.ra_offset = row->ra_offset,
		.kind = row->kind,
	};
	rules = is_kept(me, &rule) ? NULL : rules_with_room(me);
	if (!rules)
		return;
	count = rules_in(rules);
	rules->at[count] = rule;
	atomic_signal_fence(memory_order_seq_cst);
	rules->count = count + 1;
	me->rules_count++;
}

static void rows_keep(struct hp_heap_local *me)
{
	const struct hp_walker *walker = &me->walker;
	const struct hp_cfi_row *row = walker->rows;
	uint64_t rows = UINT64_C(2) << (64 - walker->row_shift);

	for (uint64_t i = 0; i < rows; i++)
		if (row[i].pc)
			rule_keep(me, &row[i]);
}

/* False = no memory: then none are kept. */
static bool kept_init(struct hp_heap_local *me)
{
	me->kept_rules = hp_tables_take(&me->tables, HP_KEPT_WORDS * sizeof(*me->kept_rules));
	if (!me->kept_rules)
		me->walker.made = NULL;
	return me->kept_rules != NULL;
}

/* Those that earlier processes kept count as kept, or this one's rows are the first. */
static bool keep_begin(struct hp_heap_local *me)
{
	const struct hp_frame_rules *rules = rules_at(me, me->oldest->rules);

	if (!kept_init(me))
		return false;
	if (!rules)
		rows_keep(me);
	for (uint32_t i = 0; rules && i < HP_RULES_CHUNKS; i++, rules = rules_at(me, rules->next))
		for (uint32_t k = 0; k < rules_in(rules); k++)
			is_kept(me, &rules->at[k]);
	return true;
}

static void row_made(struct hp_walker *walker, const struct hp_cfi_row *row)
{
	struct hp_heap_local *me =
		(void *)((char *)walker - offsetof(struct hp_heap_local, walker));

	/* Those to be inherited may include this one. */
	if (!me->oldest || me->has_rules || walker->fills < HP_RULES_FIRST ||
	    row->kind >= HP_ROW_NONE)
		return;
	if (me->kept_rules || keep_begin(me))
		rule_keep(me, row);
}

static uint32_t rules_count(const struct hp_heap_local *me)
{
	const struct hp_frame_rules *rules = rules_at(me, me->oldest->rules);
	uint32_t count = 0;

	for (uint32_t i = 0; rules && i < HP_RULES_CHUNKS; i++, rules = rules_at(me, rules->next))
		count += rules_in(rules);
	return count;
}

/* False = it contradicts what is known. */
static bool rule_take(struct hp_heap_local *me, const struct hp_frame_rule *rule,
		      struct origins *origins)
{
	struct hp_cfi_row row = {
		.cfa_offset = rule->cfa_offset,
		.fp_offset = rule->fp_offset,
		.ra_offset = rule->ra_offset,
		.kind = rule->kind,
	};
	const struct origin *origin;
	const struct hp_cfi_row *known;
	struct hp_cfi_row *pair;

	origin = row.kind < HP_ROW_NONE ? origin_find(origins, rule->object) : NULL;
	if (!origin || !origin->is_loaded)
		return true;
	row.pc = origin->bias + rule->address;
	if (!row.pc)
		return true;
	pair = hp_walk_pair(&me->walker, row.pc);
	known = pair->pc ? hp_walk_near(&me->walker, pair, row.pc) : NULL;
	if (known)
		return memcmp(known, &row, sizeof(row)) == 0;
	hp_walk_keep(&me->walker, &row);
	return true;
}

static bool rules_take(struct hp_heap_local *me)
{
	struct origins origins = { 0 };
	const struct hp_frame_rules *rules = rules_at(me, me->oldest->rules);

	for (uint32_t i = 0; rules && i < HP_RULES_CHUNKS; i++, rules = rules_at(me, rules->next))
		for (uint32_t k = 0; k < rules_in(rules); k++)
			if (!rule_take(me, &rules->at[k], &origins))
				return false;
	return true;
}

/* More pairs than rules: then one in a hundred has no room. */
static uint32_t rows_bits(uint32_t count)
{
	uint32_t bits = 1;

	while (UINT32_C(1) << bits < count)
		bits++;
	return bits;
}

/* The rows had room. */
static void spare_release(struct hp_heap_local *me)
{
	if (me->spare)
		hp_pages_release(me->spare, me->spare_size);
	me->spare = NULL;
}

void hp_inherit_rules(struct hp_heap_local *me)
{
	if (me->walker.fills < me->rules_count / HP_SHARE)
		return;
	me->has_rules = false;
	if (rows_bits(me->rules_count) > 64 - me->walker.row_shift)
		hp_rows_widen(me, rows_bits(me->rules_count));
	spare_release(me);
	me->fills_seen = me->walker.fills;
	me->walker.has_inherited = me->walker.has_guessed = true;
	if (!rules_take(me))
		hp_walk_forget_rows(&me->walker);
}

/* --- paths --- */

/* The steps' hashes, as of a walk that found them; 0 = not known in this process. */
struct hashes {
	uint64_t *of;	/* oldest first */
	struct part *parts;	/* the same */
	uint32_t count;	/* of parts */
};

struct part {
	const struct hp_steps *chunk;
	uint32_t first;	/* id of its first step */
	uint32_t count;
	uint64_t *of;	/* its hashes */
};

static uint64_t *hash_of(const struct hashes *hashes, uint32_t id)
{
	uint32_t low = 0, high = hashes->count;

	/* The last part that does not begin after it. */
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (hashes->parts[middle].first <= id)
			low = middle;
		else
			high = middle;
	}
	return id - hashes->parts[low].first < hashes->parts[low].count
		       ? &hashes->parts[low].of[id - hashes->parts[low].first]
		       : NULL;
}

/* Of the caller of step `i`. */
static uint64_t caller_hash(const struct hashes *hashes, const struct part *part, uint32_t caller,
			    uint32_t i)
{
	uint32_t at = caller - part->first;
	const uint64_t *hash;

	if (at < i)
		return part->of[at];
	if (!caller)
		return 1;
	hash = hash_of(hashes, caller);
	return hash ? *hash : 0;
}

/* It probably follows the path before it, as in the process that made both. */
static void known_take(struct hp_heap_local *me, uint64_t hash, uint32_t site)
{
	uint32_t place = hp_known_add(me, hash, site);

	me->known[me->known_before].next = place;
	me->known_before = me->known_last;
	me->known_last = place;
}

static void part_take(struct hp_heap_local *me, const struct hashes *hashes,
		      const struct part *part, struct origins *origins)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < part->count; i++) {
		struct hp_step step = part->chunk->at[i];
		const struct origin *origin;

		/* Most steps are behind their caller. */
		if (!i || step.caller != part->first + i - 1)
			hash = caller_hash(hashes, part, step.caller, i);
		origin = origin_find(origins, step.object);
		/* Marks and plain addresses belong to no module. */
		hash = hash && origin->is_loaded ? hp_hash_add(hash, origin->bias + step.address)
						 : 0;
		part->of[i] = hash;
		if (hash && hp_step_site(me, step.site) && me->known_count < hp_known_room(me))
			known_take(me, hp_known_hash(hash, true), step.site);
	}
}

static uint64_t offset_of(const struct hp_heap_local *me, const void *record)
{
	return (uint64_t)((const char *)record - me->base);
}

struct hp_steps *hp_steps_before(const struct hp_heap_local *me, uint64_t at, uint64_t end,
				 uint32_t *count)
{
	struct hp_steps *chunk = hp_heap_at(me, at, sizeof(*chunk));
	uint32_t capacity = chunk ? *(const volatile uint32_t *)&chunk->capacity : 0;
	uint64_t size = sizeof(*chunk) + ((uint64_t)capacity + 1) * sizeof(chunk->at[0]);

	if (!chunk || at >= end || size > end - at || !hp_heap_at(me, at, size))
		return NULL;
	*count = atomic_load(&chunk->count);
	return *count <= capacity ? chunk : NULL;
}

/* False = there are other steps than `hashes` has room for. */
static bool parts_find(const struct hp_heap_local *me, struct hashes *hashes, uint64_t steps)
{
	uint64_t at = offset_of(me, me->chunk), end = UINT64_MAX;

	for (uint32_t n = hashes->count; n-- > 0;) {
		struct part *part = &hashes->parts[n];

		part->chunk = hp_steps_before(me, at, end, &part->count);
		if (!part->chunk || part->count > steps)
			return false;
		part->first = (uint32_t)(offset_of(me, part->chunk->at) / sizeof(struct hp_step));
		steps -= part->count;
		part->of = hashes->of + steps;
		end = at;
		at = part->chunk->next;
	}
	return true;
}

static void steps_count(const struct hp_heap_local *me, uint32_t *chunks, uint64_t *steps)
{
	uint64_t at = me->chunk ? offset_of(me, me->chunk) : 0, end = UINT64_MAX;
	const struct hp_steps *chunk;
	uint32_t count;

	for (*chunks = 0, *steps = 0; (chunk = hp_steps_before(me, at, end, &count)); ++*chunks) {
		*steps += count;
		end = at;
		at = chunk->next;
	}
}

/* For all of the heap's paths. */
static bool known_has_room(struct hp_heap_local *me, uint64_t steps)
{
	uint64_t sites = *(const volatile uint64_t *)&me->heap->site_count;
	uint64_t paths = sites < steps ? sites : steps;
	uint32_t bits = 64 - me->known_shift;

	while ((UINT64_C(3) << bits) / 4 < paths)
		bits++;
	return bits == 64 - me->known_shift || hp_known_widen(me, bits);
}

/* The rows soon need as many pages, and new ones would be as many page faults. */
static void spare_keep(struct hp_heap_local *me, char *room, uint64_t size)
{
	if (!me->has_rules || size > HP_SPARE_MOST) {
		hp_pages_release(room, size);
		return;
	}
	me->spare = room;
	me->spare_size = (size + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
}

void hp_inherit_paths(struct hp_heap_local *me)
{
	struct origins origins = { 0 };
	struct hashes hashes;
	uint64_t steps, size;
	char *room;

	if (++me->misses < me->misses_least)
		return;
	me->steps_left = 0;
	steps_count(me, &hashes.count, &steps);
	size = hashes.count * sizeof(*hashes.parts) + steps * sizeof(*hashes.of);
	room = hp_pages(size);
	if (!room)
		return;
	hashes.parts = (struct part *)(void *)room;
	hashes.of = (uint64_t *)(void *)(hashes.parts + hashes.count);
	if (known_has_room(me, steps) && parts_find(me, &hashes, steps))
		for (uint32_t n = 0; n < hashes.count; n++)
			part_take(me, &hashes, &hashes.parts[n], &origins);
	me->known_last = me->known_before = 0;
	spare_keep(me, room, size);
}

/*
 * A program mostly does as much as the time before. Not so a forked child. Rules always wait: they
 * are compared with some that this process made.
 */
static bool is_busy(const struct hp_heap_local *me, uint64_t steps)
{
	return hp_account_is_image() && me->heap->walks - me->oldest->walks > steps / HP_BUSY;
}

void hp_inherit_begin(struct hp_heap_local *me, struct hp_steps *oldest, uint64_t steps)
{
	me->oldest = oldest;
	me->steps_left = steps < HP_STEPS_FEW ? 0 : steps;
	me->walker.made = row_made;
	if (!oldest)
		return;
	me->misses_least = is_busy(me, steps) ? 0 : steps / HP_SHARE;
	oldest->walks = me->heap->walks;
	me->rules_count = rules_count(me);
	me->has_rules = me->rules_count != 0;
}
