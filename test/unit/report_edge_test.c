/* SPDX-License-Identifier: MIT */
/*
 * report_edge_test.c - numbers at their edges: counters near 2^32, 2^53, 2^63 and 2^64, clocks that
 * go back.
 *
 * The meaning of such a number is computed by hand here; the segments are made by hand, since the
 * events would take from minutes to centuries.
 */
#include "test/test.h"

#include <math.h>
#include <stdio.h>

#include "report/section/memory/alloc.h"
#include "report/section/wait/lock.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"
#include "report/section/sections.h"

#define SIZE 65536
#define TWO_32 (UINT64_C(1) << 32)
#define TWO_53 (UINT64_C(1) << 53)
#define TWO_63 (UINT64_C(1) << 63)

struct scene {
	struct fake fake;
	struct hp_object *object;
	struct hp_process *process;
	struct hp_module *module;
	struct hp_block *block;
	struct hp_function *f;
	struct hp_row *row;
	struct hp_model model;
};

static void scene_init(struct scene *s)
{
	fake_init(&s->fake, SIZE);
	s->object = fake_object(&s->fake, "/nowhere/fake");
	s->process = fake_process(&s->fake, FAKE_PID, s->object);
	s->module = fake_module(&s->fake, s->process, s->object);
	s->block = fake_block(&s->fake, s->process);
	s->f = fake_function(&s->fake, s->block, s->module, 0x1000);
	s->row = fake_row(&s->fake, s->block, NULL, s->f);
}

static const struct hp_model_function *scene_read(struct scene *s)
{
	struct hp_segment segment = fake_segment(&s->fake);

	hp_model_init(&s->model, &segment);
	CHECK_EQ(s->model.function_count, 1);
	return &s->model.functions[0];
}

/* The whole report, as JSON or as tables. */
static char *text_of(const struct fake *fake, bool is_json)
{
	static char sections[] =
		"HOTPATH_REPORT=auto,alloc-callers,direct-maps,alloc-sizes,alloc-lives";
	static char *const environment[] = { sections, NULL };
	struct hp_look look = { .width = 100 };
	struct hp_segment segment = fake_segment(fake);
	struct hp_settings settings;
	struct hp_report report;
	char *copy, *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	copy = mmap(NULL, fake->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, fake->base, fake->size);
	segment.header = (struct hp_header *)copy;
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init(&report, &segment, &settings, NULL, NULL);
	if (is_json)
		hp_json_write(&report, false, out);
	else
		hp_table_write(&report, &look, out);
	hp_report_release(&report);
	fclose(out);
	return text;
}

TEST(edge, a_tail_of_more_than_2_to_the_32)
{
	struct scene s;
	const struct hp_model_function *f;
	uint64_t tail = TWO_32 + 5, body = 3 * TWO_32, sampled = tail + body;

	scene_init(&s);
	fake_life(&s.fake, 33 * (body * 10 + tail * 1000));
	/* One call in 32 was sampled; usual ones took 10 ticks, those of the tail 1000. */
	s.row->calls = sampled * 32;
	s.row->sampled = sampled;
	s.row->tail_count = 5;
	s.row->tail_carry = 1;
	s.row->tail_ticks = tail * 1000;
	s.row->self_sampled = (int64_t)(body * 10) << HP_FINE_BITS;
	s.row->square_sampled = (double)body * 100;
	s.f->least = 10;
	s.f->most = 1000;
	f = scene_read(&s);
	CHECK_EQ(f->calls, sampled * 32);
	/* This many tail calls are not stalls: they are scaled like all others. */
	CHECK_NEAR(f->total_ns, ((double)body * 10 + (double)tail * 1000) * 32 * FAKE_NS_PER_TICK,
		   1e6);
	hp_model_release(&s.model);
}

TEST(edge, rare_draws_of_more_than_2_to_the_32)
{
	struct scene s;
	struct hp_lockset *set;
	struct hp_lock *lock;
	struct hp_waiter *waiter;
	struct hp_use *use;
	struct hp_locks locks;
	uint64_t rare = TWO_32 + 7;

	scene_init(&s);
	set = fake_take(&s.fake, sizeof(*set));
	lock = fake_take(&s.fake, sizeof(*lock));
	waiter = fake_take(&s.fake, sizeof(*waiter));
	use = fake_take(&s.fake, sizeof(*use));
	s.process->lockset = fake_at(&s.fake, set);
	*lock = (struct hp_lock){ .kind = HP_LOCK_MUTEX,
				  .number = HP_LOCK_STATIC,
				  .module = fake_at(&s.fake, s.module),
				  .address = 0x100 };
	set->locks = fake_at(&s.fake, lock);
	waiter->uses = fake_at(&s.fake, use);
	waiter->pid = FAKE_PID;
	set->waiters = fake_at(&s.fake, waiter);
	use->lock = fake_at(&s.fake, lock);
	use->count = rare * HP_LOCK_RARE;
	use->sampled = rare * (HP_LOCK_RARE / HP_LOCK_SAMPLED) + 100;
	use->sampled_ticks = use->sampled * 20;
	use->holds = fake_times(&s.fake, 20, use->count);
	((struct hp_spread *)(s.fake.base + (uint64_t)use->holds * HP_LINE))->rare = 7;
	((struct hp_spread *)(s.fake.base + (uint64_t)use->holds * HP_LINE))->rare_carry = 1;
	scene_read(&s);
	hp_locks_init(&locks, &s.model);
	CHECK_EQ(locks.count, 1);
	/* Each was one sample, and stands for the 100 others. */
	CHECK_EQ(locks.rows[0].sums[HP_SIDE_ONLY].sampled, rare + 100);
	CHECK_NEAR(locks.rows[0].sums[HP_SIDE_ONLY].hold_ticks, (double)use->count * 20, 1e6);
	hp_locks_release(&locks);
	hp_model_release(&s.model);
}

/* True if the JSON has `"key":number`. */
static bool has(const char *json, const char *key, uint64_t number)
{
	char wanted[80];
	const char *at;

	snprintf(wanted, sizeof(wanted), "\"%s\":%llu", key, (unsigned long long)number);
	at = strstr(json, wanted);
	return at && !strchr("0123456789.", at[strlen(wanted)]);
}

static void calls_are(uint64_t calls, uint64_t told)
{
	struct scene s;
	char *text;

	scene_init(&s);
	fake_call(&s.fake, s.f, s.row, 100, 0);
	s.row->calls = calls;
	s.row->timed = calls;
	text = text_of(&s.fake, true);
	if (!has(text, "calls", told))
		puts(text);
	CHECK(has(text, "calls", told));
	CHECK(!strstr(text, ":nan") && !strstr(text, ":inf") && !strstr(text, "0e+"));
	free(text);
	text = text_of(&s.fake, false);
	CHECK(!strstr(text, "nan") && !strstr(text, " inf") && !strstr(text, "-9223"));
	free(text);
}

TEST(edge, full_counters_show_the_calls)
{
	calls_are(TWO_32 - 1, TWO_32 - 1);
	calls_are(TWO_32 + 1, TWO_32 + 1);
	calls_are(TWO_53 - 1, TWO_53 - 1);
	/* Cells are doubles: values beyond 2^53 are within one part in 10^15. */
	calls_are(TWO_63 + 2048, TWO_63 + 2048);
	calls_are(UINT64_MAX, UINT64_MAX);
}

/* A block of a megabyte, 20 ns each: 2^53 bytes take three minutes, 2^63 two days. */
static void bytes_are(uint64_t count, uint64_t size)
{
	struct scene s;
	struct hp_heap *heap;
	struct hp_site *site;
	uint32_t step;
	char *text;

	scene_init(&s);
	heap = fake_heap(&s.fake, s.process);
	step = fake_step(&s.fake, heap, 0, s.object, 0x2010);
	site = fake_site(&s.fake, heap, step, count, size);
	site->frees = count;
	site->freed = count * size;
	heap->live = 0;
	text = text_of(&s.fake, true);
	if (!has(text, "total_bytes", count * size))
		puts(text);
	CHECK(has(text, "total_bytes", count * size));
	CHECK(has(text, "count", count));
	CHECK(!strstr(text, ":-"));
	free(text);
	text = text_of(&s.fake, false);
	CHECK(strstr(text, "100.00%"));
	CHECK(!strstr(text, "-8388608") && !strstr(text, "-9223"));
	free(text);
}

TEST(edge, bytes_beyond_2_to_the_63)
{
	bytes_are(TWO_32, 1024);
	bytes_are(UINT64_C(1) << 33, 1 << 20);
	bytes_are((UINT64_C(1) << 43) + (1 << 10), 1 << 20);
}

/* Percentiles and means of a histogram whose counters are as large as its carries can make them. */
TEST(edge, histograms_beyond_2_to_the_53)
{
	struct scene s;
	const struct hp_model_function *f;
	uint32_t *carries;

	scene_init(&s);
	carries = fake_take(&s.fake, HP_GROUP_SIZE * 4);
	s.f->carries = fake_at(&s.fake, carries);
	fake_duration(&s.fake, s.f, 10, 1);
	fake_duration(&s.fake, s.f, 50, 1);
	/* 2^31 in each carry: 9 of 10 at 10 ticks, the others at 50. */
	fake_group(&s.fake, &carries[0])[10] = 9 << 20;
	fake_group(&s.fake, &carries[0])[50] = 1 << 20;
	s.row->calls = s.row->timed = (UINT64_C(10) << 20 << 31) + 2;
	s.row->outer_timed = INT64_MAX / 2;
	f = scene_read(&s);
	CHECK_NEAR(hp_model_percentile(&s.model, f, 89.999), 10 * FAKE_NS_PER_TICK, 0);
	CHECK_NEAR(hp_model_percentile(&s.model, f, 90.001), 50 * FAKE_NS_PER_TICK, 0);
	CHECK_NEAR(hp_model_percentile(&s.model, f, 0), 10 * FAKE_NS_PER_TICK, 0);
	CHECK_NEAR(hp_model_percentile(&s.model, f, 100), 50 * FAKE_NS_PER_TICK, 0);
	hp_model_release(&s.model);
}

/* All times in a report on a run of a second are between 0 and an hour. */
static void times_are_possible(const struct fake *fake)
{
	static const char *const keys[] = { "wall_ns\":",  "life_ns\":",    "cpu_ns\":",
					    "start_ns\":", "blocked_ns\":", "total_ns\":" };
	char *text = text_of(fake, true);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (const char *at = text; (at = strstr(at, keys[i])); at++) {
			double told = strtod(at + strlen(keys[i]), NULL);

			if (!(told >= 0 && told < 3600e9))
				puts(text);
			CHECK(told >= 0 && told < 3600e9);
		}
	free(text);
}

TEST(edge, clocks_that_went_back)
{
	struct scene s;
	struct hp_watch_row *rows;

	scene_init(&s);
	fake_call(&s.fake, s.f, s.row, 5000, 0);
	rows = fake_watch(&s.fake, 1);
	rows[0] = (struct hp_watch_row){ .tid = FAKE_PID,
					 .pid = FAKE_PID,
					 .name = "one",
					 .state = 'x',
					 .first_ns = 5000,
					 .seen_ns = 100,
					 .first_cpu_ns = 500,
					 .cpu_ns = 7,
					 .is_member = 1 };
	/* It ended before it began, and another one began after the last moment. */
	s.process->end_ticks = FAKE_START - 1000;
	s.block->start_ticks = FAKE_START + 2 * (uint64_t)FAKE_TICKS;
	s.block->end_ticks = FAKE_START;
	times_are_possible(&s.fake);
	s.process->end_ticks = 0;
	s.process->start_ticks = FAKE_START + 2 * (uint64_t)FAKE_TICKS;
	times_are_possible(&s.fake);
	/* A function whose sums are below zero: its clock went back while it ran. */
	s.row->self_timed = -(INT64_C(1) << 62);
	s.row->outer_timed = -(INT64_C(1) << 52);
	times_are_possible(&s.fake);
	/* The last moment is before the first: the rate is a guess. */
	s.row->self_timed = s.row->outer_timed = 0;
	fake_header(&s.fake)->last = (struct hp_moment){ 5, 5 };
	times_are_possible(&s.fake);
}

/* A counter of the processor that is near its end, as a hypervisor may set it, continues at 0. */
TEST(edge, ticks_near_2_to_the_64)
{
	struct scene s;
	struct hp_header *header;
	const struct hp_model_function *f;

	scene_init(&s);
	header = fake_header(&s.fake);
	header->start.ticks = UINT64_MAX - FAKE_TICKS;
	header->last.ticks = UINT64_MAX - 1;
	s.process->start_ticks = header->start.ticks;
	s.process->end_ticks = UINT64_MAX - 1;
	fake_call(&s.fake, s.f, s.row, 5000, 0);
	f = scene_read(&s);
	CHECK_NEAR(s.model.ns_per_tick, FAKE_NS_PER_TICK, 1e-6);
	CHECK_NEAR((double)s.model.elapsed_ns, 1e9, 10);
	CHECK_NEAR(f->total_ns, 10000, 1);
	hp_model_release(&s.model);
	times_are_possible(&s.fake);
}
