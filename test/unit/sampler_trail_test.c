/* SPDX-License-Identifier: MIT */
/*
 * sampler_trail_test.c - a walk that continues along the previous one gives the same result
 * as a whole walk.
 *
 * Stacks of this process, with two functions that call each other at random, in
 * the form of the kernel's records: once as one thread's, whose samples share
 * their outer frames, and once each as another thread's, which share nothing.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/sample.h"
#undef hp_place

#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "test/test.h"

#if defined(__x86_64__)

#define COPY_MAX 49152
#define DEPTH_MAX 700

struct subject {
	struct hp_segment segment;
	struct hp_samples samples;
};

static struct subject trailing, whole;
static uint64_t joined, taken, longest;
static uintptr_t stack_top;
static unsigned chance = 1;
static uint8_t record_bytes[COPY_MAX + 512] __attribute__((aligned(8)));

static void subject_init(struct subject *s)
{
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	uint64_t offset;

	CHECK_EQ(hp_segment_create(&s->segment, &wish), 0);
	offset = hp_segment_take(&s->segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_samples_init(&s->samples, &s->segment,
			      hp_segment_at(&s->segment, offset, sizeof(struct hp_sampling))));
	s->samples.sample_type =
		PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
}

/* Code addresses from the node of the last sample to the root. */
static uint32_t path_of(const struct subject *s, uint64_t *path)
{
	const struct hp_event_chunk *chunk = s->samples.events.newest;
	uint32_t node = chunk->events[chunk->count - 1].node, count = 0;

	for (; node; node = hp_sample_tree_node(&s->samples.tree, node)->parent)
		path[count++] = hp_sample_tree_node(&s->samples.tree, node)->address;
	return count;
}

static uint64_t *put(uint64_t *at, uint64_t word)
{
	*at = word;
	return at + 1;
}

/* Plain loads: the stack of callers has red zones in it. */
__attribute__((no_sanitize("address"), noinline)) static void stack_copy(uint8_t *to, uintptr_t sp,
									 size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)(void *)to)[i] = ((const volatile uint64_t *)sp)[i];
}

/* PERF_RECORD_SAMPLE of a thread at `context`. */
static void sample_make(const ucontext_t *context, uint32_t tid)
{
	struct perf_event_header *header = (void *)record_bytes;
	uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
	size_t size = stack_top - sp < COPY_MAX ? stack_top - sp : COPY_MAX;
	uint64_t *at = (uint64_t *)(void *)(header + 1);

	at = put(at, 1);
	at = put(at, (uint64_t)context->uc_mcontext.gregs[REG_RIP]);
	at = put(at, (uint32_t)getpid() | (uint64_t)tid << 32);
	at = put(at, ++taken);
	at = put(at, 1000);
	at = put(at, PERF_SAMPLE_REGS_ABI_64);
	at = put(at, (uint64_t)context->uc_mcontext.gregs[REG_RBP]);
	at = put(at, sp);
	at = put(at, (uint64_t)context->uc_mcontext.gregs[REG_RIP]);
	at = put(at, size);
	stack_copy((uint8_t *)at, sp, size);
	at = put(at + size / 8, size);
	header->type = PERF_RECORD_SAMPLE;
	header->misc = 0;
	header->size = (uint16_t)((uint8_t *)at - record_bytes);
}

static __attribute__((noinline)) void take(void)
{
	static uint64_t a[HP_PLACES_MAX], b[HP_PLACES_MAX];
	ucontext_t context;
	uint32_t count;

	getcontext(&context);
	sample_make(&context, 7);
	hp_samples_handle(&trailing.samples, (void *)record_bytes);
	joined += trailing.samples.walker.joint != 0;
	sample_make(&context, 1000 + (uint32_t)taken);
	hp_samples_handle(&whole.samples, (void *)record_bytes);
	count = path_of(&whole, b);
	CHECK_EQ(path_of(&trailing, a), count);
	CHECK(memcmp(a, b, count * sizeof(*a)) == 0);
	longest = count > longest ? count : longest;
}

static unsigned random_below(unsigned n)
{
	chance = chance * 1664525 + 1013904223;
	return (chance >> 16) % n;
}

static void even(int depth, int most);

/*
 * Frames of many sizes, restored from their frame pointers, so that different
 * paths often have the same stack pointers. ASan's additions would be too
 * large for that.
 */
#define FRAME __attribute__((noinline, no_sanitize("address", "undefined"))) static void

FRAME odd(int depth, int most)
{
	volatile char *room = __builtin_alloca(16 + random_below(4) * 16);

	room[0] = 0;
	if (depth >= most || random_below(4) == 0)
		take();
	if (depth < most)
		even(depth + 1, most);
	room[1] = room[0];
}

/* Without a room, it is left by its stack pointer. */
FRAME plain(int depth, int most)
{
	if (depth >= most || random_below(4) == 0)
		take();
	if (depth < most)
		even(depth + 1, most);
	__asm__ volatile("" ::: "memory");
}

FRAME even(int depth, int most)
{
	volatile char *room = __builtin_alloca(16 + random_below(4) * 16);

	room[0] = 0;
	if (depth < most && random_below(3))
		odd(depth + 1, most);
	else if (depth < most && random_below(2))
		plain(depth + 1, most);
	else if (depth < most)
		even(depth + 1, most);
	if (depth >= most || random_below(3) == 0)
		take();
	room[1] = room[0];
}

static void *climb(void *argument)
{
	pthread_attr_t attributes;
	void *low;
	size_t size;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &size);
	stack_top = (uintptr_t)low + size;
	pthread_attr_destroy(&attributes);
	for (int i = 0; i < 400; i++)
		even(0, 1 + (int)random_below(i % 100 ? 30 : DEPTH_MAX));
	return argument;
}

TEST(trail, a_walk_that_joins_the_last_one_gives_the_same_path)
{
	pthread_t thread;

	subject_init(&trailing);
	subject_init(&whole);
	CHECK_EQ(pthread_create(&thread, NULL, climb, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(taken > 1000 && longest > 100);
	/* At least half of all were from one thread. */
	CHECK(joined * 4 > taken);
	CHECK(trailing.samples.record->complete * 3 > trailing.samples.record->samples);
	CHECK_EQ(trailing.samples.record->complete, whole.samples.record->complete);
	hp_samples_release(&trailing.samples);
	hp_samples_release(&whole.samples);
}

/* A frame whose caller's pc, and perhaps frame pointer, were read from the stack. */
static struct hp_trail_frame frame_at(uint64_t sp, bool uses_fp, bool loads_fp)
{
	struct hp_trail_frame frame = { .pc = sp + 1, .sp = sp, .fp = 5, .uses_fp = uses_fp };

	hp_trail_note(&frame, sp, 100 + sp);
	if (loads_fp) {
		hp_trail_note(&frame, sp + 8, 200 + sp);
		frame.fp_word = frame.word_count;
	}
	return frame;
}

TEST(trail, the_frame_pointer_counts_only_where_something_hangs_on_it)
{
	struct hp_trail *trail = calloc(1, sizeof(*trail));
	/* The innermost first; the outermost is found by its frame pointer. */
	const struct hp_trail_frame fresh[] = {
		frame_at(16, false, true),
		frame_at(32, false, false),
		frame_at(48, true, false),
	};
	struct hp_trail_frame other = fresh[1];

	hp_trail_extend(trail, 0, fresh, 3);
	CHECK_EQ(trail->count, 3);
	CHECK(trail->frames[0].needs_fp && trail->frames[1].needs_fp);
	CHECK(!trail->frames[2].needs_fp && trail->frames[2].word_count == 2);
	CHECK(hp_trail_is_at(&trail->frames[1], &other));
	other.fp++;
	CHECK(!hp_trail_is_at(&trail->frames[1], &other));
	other = fresh[0];
	other.fp++;
	CHECK(hp_trail_is_at(&trail->frames[2], &other));

	/* Only after the outermost: unused values do not justify another walk. */
	trail->frames[0].needs_fp = false;
	hp_trail_extend(trail, 1, fresh, 2);
	CHECK_EQ(trail->count, 3);
	CHECK(!trail->frames[1].needs_fp && !trail->frames[2].needs_fp);
	CHECK_EQ(trail->frames[2].word_count, 1);
	CHECK_EQ(trail->frames[2].words[0].value, 116);
	free(trail);
}

TEST(trail, a_frame_of_many_words_is_walked_each_time)
{
	struct hp_trail *trail = calloc(1, sizeof(*trail));
	uint64_t words[16] = { 0 };
	const struct hp_stack_copy copy = { (const uint8_t *)words, 0, sizeof(words) };
	struct hp_trail_frame frame = { .pc = 1 };

	for (uint64_t i = 0; i < 2 * HP_TRAIL_WORDS; i++)
		hp_trail_note(&frame, i * 8, 0);
	hp_trail_extend(trail, 0, &frame, 1);
	CHECK_EQ(hp_trail_valid(trail, &copy), 0);
	/* Nor one whose words are not in the copy. */
	frame.word_count = 0;
	hp_trail_note(&frame, sizeof(words) - 4, 0);
	hp_trail_extend(trail, 0, &frame, 1);
	CHECK_EQ(hp_trail_valid(trail, &copy), 0);
	frame.word_count = 0;
	hp_trail_note(&frame, sizeof(words) - 8, 0);
	hp_trail_extend(trail, 0, &frame, 1);
	CHECK_EQ(hp_trail_valid(trail, &copy), 1);
	free(trail);
}

#endif
