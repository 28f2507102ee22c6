/* SPDX-License-Identifier: MIT */
/*
 * inherit_fuzz.c - a thread takes over the heap of an earlier process, whose record, steps and rules may
 * contain anything, and then walks stacks with what it took. The input is a few numbers, the stack, and the
 * part of the segment that the earlier process wrote, heap first.
 *
 * The paths' own code runs, with stubs for the rest of the library. Nothing beside the stack and the segment
 * is readable, the stack changes its size between two walks, and there may be no memory for a table.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "preload/heap/inherit.c"
#include "preload/heap/path.c"
#include "preload/heap/path_table.c"
#include "test/fuzz/fuzz.h"

#define SEGMENT_SIZE (UINT64_C(1) << 18)
#define HEAP_AT (2 * HP_PAGE)
#define OBJECT_AT (HP_PAGE + 1024)	/* of the first; the second is in the next line */
#define CODE UINT64_C(0x7000000)	/* of the first object; the second one's follows after a gap */
#define CODE_SIZE UINT64_C(0x10000)
#define CODE_APART UINT64_C(0x40000)
#define STACK_PAGES 3
#define STACK_SIZE (STACK_PAGES * HP_PAGE)
#define TAKEN_MAX 64
#define MEMORY_MAX (UINT64_C(64) << 20)
#define WALKS_BEGIN 4
#define WALKS 160

_Atomic uint32_t hp_confined;
struct hp_segment hp_segment;

static char *stack, *stack_end;	/* its readable pages */
static uintptr_t home_end;
static uint64_t memory;	/* taken so far, bytes */
static void *taken[TAKEN_MAX];	/* where it begins; what lies inside of it is not released alone */
static uint32_t until_none;	/* tables that there is memory for, before one without */
static bool is_image;	/* paths may be inherited at once */
static bool is_none_left;	/* nor is there for later ones */
static struct hp_module modules[2];

/* --- the rest of the library --- */

void *hp_pages(uint64_t size)
{
	if (size > MEMORY_MAX - memory)
		abort();
	memory += size;
	for (int i = 0; i < TAKEN_MAX; i++)
		if (!taken[i])
			return taken[i] = calloc(1, size);
	abort();
}

void hp_pages_release(void *pages, uint64_t size)
{
	memory -= size;
	for (int i = 0; i < TAKEN_MAX; i++) {
		if (!pages || taken[i] != pages)
			continue;
		free(pages);
		taken[i] = NULL;
	}
}

void *hp_tables_take(struct hp_tables *tables, uint64_t size)
{
	(void)tables;
	if (until_none && --until_none == 0) {
		until_none = is_none_left;
		return NULL;
	}
	return hp_pages(size);
}

void *hp_tables_take_used(struct hp_tables *tables, uint64_t size)
{
	return hp_tables_take(tables, size);
}

void hp_tables_give(struct hp_tables *tables, void *table, uint64_t size)
{
	(void)tables;
	hp_pages_release(table, size);
}

bool hp_tables_enlarge(struct hp_tables *tables)
{
	(void)tables;
	return false;
}

bool hp_readable_few(uintptr_t address, uintptr_t size)
{
	return address >= (uintptr_t)stack && address < (uintptr_t)stack_end &&
	       size <= (uintptr_t)stack_end - address;
}

uintptr_t hp_readable_stack_end(uintptr_t sp)
{
	(void)sp;
	return home_end;
}

void hp_readable_home(struct hp_walker *walker, uintptr_t sp)
{
	(void)walker, (void)sp;
}

void hp_heap_shut(struct hp_heap_local *me, uintptr_t sp)
{
	(void)me, (void)sp;
}

void hp_heap_reopen(struct hp_heap_local *me)
{
	(void)me;
}

void *hp_heap_take(struct hp_heap_local *me, uint64_t size)
{
	uint64_t at = hp_segment_take(&hp_segment, size, HP_LINE);

	return at ? hp_heap_at(me, at, size) : NULL;
}

bool hp_account_is_image(void)
{
	return is_image;
}

const struct hp_module *hp_module_of(uintptr_t address)
{
	for (int i = 0; i < 2; i++)
		if (address >= modules[i].begin && address < modules[i].end)
			return &modules[i];
	return NULL;
}

const struct hp_module *hp_module_loaded(uint64_t object)
{
	for (int i = 0; i < 2; i++)
		if (modules[i].object == object)
			return &modules[i];
	return NULL;
}

bool hp_module_span(uintptr_t address, struct hp_module *module)
{
	(void)address, (void)module;
	return false;
}

/* --- the target --- */

static const uint8_t *input;
static size_t input_left;

static void input_take(void *to, size_t size)
{
	size = size < input_left ? size : input_left;
	memcpy(to, input, size);
	input += size;
	input_left -= size;
}

static void segment_make(void)
{
	static struct hp_header *header;

	if (!header)
		header = mmap(NULL, SEGMENT_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(header, 0, SEGMENT_SIZE);
	hp_segment = (struct hp_segment){ .header = header, .size = SEGMENT_SIZE, .fd = -1 };
	header->size = SEGMENT_SIZE;
	/* What the heap takes lies behind all of the earlier process's. */
	header->used = SEGMENT_SIZE / 2;
	for (int i = 0; i < 2; i++) {
		struct hp_object *object =
			(void *)((char *)header + OBJECT_AT + i * sizeof(*object));

		object->build_id_size = 20;
		modules[i] = (struct hp_module){
			.object = OBJECT_AT + i * sizeof(*object),
			.bias = CODE + i * CODE_APART,
			.begin = CODE + i * CODE_APART,
			.end = CODE + i * CODE_APART + CODE_SIZE,
		};
	}
}

/* Followed by a page that nobody may touch, as the first `pages` of it are if they are fewer than all. */
static void stack_limit(int pages)
{
	static char *all;

	if (!all)
		all = mmap(NULL, STACK_SIZE + 2 * HP_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	stack = all + HP_PAGE;
	stack_end = stack + pages * HP_PAGE;
	mprotect(stack, STACK_SIZE, PROT_NONE);
	mprotect(stack, pages * HP_PAGE, PROT_READ | PROT_WRITE);
}

/* Words below 2^16 are offsets in the stack, the others mostly return addresses. */
static void stack_fill(void)
{
	uint32_t words[STACK_SIZE / 64] = { 0 };
	uintptr_t *to = (uintptr_t *)(void *)stack;

	input_take(words, sizeof(words));
	for (size_t i = 0; i < STACK_SIZE / sizeof(*to); i++) {
		uint32_t word = words[i % (sizeof(words) / sizeof(*words))];

		to[i] = word < 65536	  ? (uintptr_t)stack + word
			: word >> 31	  ? word
			: word >> 30 == 0 ? 0
					  : CODE + (word >> 29 & 1) * CODE_APART + word % 65536;
	}
}

static void check(const struct hp_heap_local *me, const struct hp_site *site)
{
	uint64_t at = (uint64_t)((const char *)site - me->base);
	uint64_t set = HP_PATH_WAYS * sizeof(*me->index);

	if (!hp_segment_at(&hp_segment, at, sizeof(*site)) ||
	    me->index_mask + set != hp_table_size(me->index_shift, set))
		abort();
}

/* Walks of one frame, whose rules contradict none: enough work to inherit the rest. */
static void walks_begin(struct hp_heap_local *me)
{
	for (uintptr_t i = 1; i <= WALKS_BEGIN; i++)
		check(me, hp_path_site(me, (struct hp_path_frame){ CODE + CODE_SIZE - i,
								   (uintptr_t)stack, 0 }));
}

/* Eight bytes say where: the page that it is in, and words there for all three. */
static void walks(struct hp_heap_local *me, const uint8_t *where, bool is_home)
{
	for (int i = 0; i < WALKS; i++) {
		unsigned byte = where[i % 8];
		unsigned words = i < 8 ? byte % 64 : (2 * byte + 2 + i / 16 * 38) % 1026;
		uintptr_t sp = (uintptr_t)stack + words * sizeof(uintptr_t);
		uintptr_t pc = CODE + (byte >> 7) * CODE_APART + where[(i + 1) % 8];

		if (is_home && i == 0)
			hp_path_set_stack(me, (uintptr_t)stack);
		if (sp > (uintptr_t)stack_end)
			continue;
		check(me, hp_path_site(me, (struct hp_path_frame){ pc, sp, sp + byte / 8 * 8 }));
	}
}

/* What a thread keeps; `entries` is the first ring. Everything else must have been released. */
static void release(struct hp_heap_local *me, char *entries)
{
	void *kept[] = { entries,   me->ring,	     me->index,	 me->numbers,	 me->known,
			 me->steps, me->walker.rows, me->frames, me->kept_rules, me->spare };

	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		hp_pages_release(kept[i], 0);
	for (int i = 0; i < TAKEN_MAX; i++)
		if (taken[i])
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hp_heap_local me;
	uint8_t numbers[16] = { 0 };
	_Atomic uint32_t epoch = 1;
	char *entries;
	bool is_ready;

	input = data;
	input_left = size;
	memory = 0;
	input_take(numbers, sizeof(numbers));
	segment_make();
	stack_limit(STACK_PAGES);
	stack_fill();
	input_take((char *)hp_segment.header + HEAP_AT, SEGMENT_SIZE / 2 - HEAP_AT);
	memset(&me, 0, sizeof(me));
	me.heap = (struct hp_heap *)(void *)((char *)hp_segment.header + HEAP_AT);
	me.base = (char *)hp_segment.header;
	me.id = HEAP_AT / HP_LINE;
	me.epoch = &epoch;
	me.depth_most = 1 + numbers[0] % 64;
	until_none = numbers[3];
	is_none_left = numbers[4] & 1;
	is_image = numbers[4] & 2;
	home_end = numbers[1] & 1 ? (uintptr_t)stack_end : 0;
	is_ready = hp_path_init(&me, (uintptr_t)stack);
	entries = me.entries;
	if (is_ready) {
		check(&me, hp_heap_site(&me, me.heap->other));
		walks_begin(&me);
		walks(&me, numbers + 8, true);
		/* The next thread's stack is shorter, or none of the C library's. */
		stack_limit(1 + numbers[2] % (STACK_PAGES - 1));
		home_end = numbers[1] & 2 ? (uintptr_t)stack_end : 0;
		walks(&me, numbers + 8, true);
		stack_limit(1);
		if (!home_end)
			walks(&me, numbers + 8, false);
	}
	release(&me, entries);
	return 0;
}
