/* SPDX-License-Identifier: MIT */
/*
 * report_model_test.c - the model of segments whose correct results are known.
 */
#include "test/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/read/model.h"
#include "report/name/symbol.h"
#include "test/unit/fake_segment.h"

struct simple {
	struct fake fake;
	struct hp_object *object;
	struct hp_process *process;
	struct hp_module *module;
	struct hp_block *block;
	struct hp_model model;
};

static void simple_init(struct simple *s, uint64_t size)
{
	fake_init(&s->fake, size);
	s->object = fake_object(&s->fake, "/nowhere/fake");
	s->process = fake_process(&s->fake, FAKE_PID, s->object);
	s->module = fake_module(&s->fake, s->process, s->object);
	s->block = fake_block(&s->fake, s->process);
}

static void simple_read(struct simple *s)
{
	struct hp_segment segment = fake_segment(&s->fake);

	hp_model_init(&s->model, &segment);
}

static const struct hp_model_function *function_at(const struct hp_model *model, uint64_t address)
{
	for (size_t i = 0; i < model->function_count; i++)
		if (model->functions[i].address == address)
			return &model->functions[i];
	return NULL;
}

TEST(model, head_says_wall_cpu_and_memory)
{
	struct simple s;

	simple_init(&s, 1 << 20);
	simple_read(&s);
	CHECK_EQ(s.model.elapsed_ns, 1000000000);
	CHECK_EQ(s.model.cpu_ns, 600000000);
	CHECK_EQ(s.model.blocked_ns, 400000000);
	CHECK_EQ(s.model.peak_rss_kb, 2048);
	CHECK_EQ(s.model.process_count, 1);
	CHECK_STR(s.model.processes[s.model.root].command, "./fake --fast");
	CHECK(!s.model.losses.is_damaged);
	hp_model_release(&s.model);
}

TEST(model, percentiles_are_those_of_the_durations)
{
	struct simple s;
	struct hp_function *f;
	struct hp_row *row;

	simple_init(&s, 1 << 20);
	fake_life(&s.fake, 11 * (uint64_t)FAKE_TICKS);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	row = fake_row(&s.fake, s.block, NULL, f);
	for (uint64_t ticks = 1; ticks <= 100000; ticks++)
		fake_call(&s.fake, f, row, ticks, 0);
	simple_read(&s);
	const struct hp_model_function *got = function_at(&s.model, 0x1000);
	CHECK(got != NULL);
	CHECK_EQ(got->calls, 100000);
	CHECK(!got->is_sampled);
	CHECK_NEAR(hp_model_percentile(&s.model, got, 0), 2, 1e-9);
	CHECK_NEAR(hp_model_percentile(&s.model, got, 100), 200000, 1e-9);
	for (double p = 0.1; p < 100; p += 0.1) {
		double want = p / 100 * 200000;

		CHECK_NEAR(hp_model_percentile(&s.model, got, p), want, want * 0.0005 + 2);
	}
	CHECK_NEAR(got->total_ns, 100000.0 * 100001, 1);
	CHECK_NEAR(hp_model_average(&s.model, got), 100001, 1e-6);
	hp_model_release(&s.model);
}

TEST(model, counters_carry_into_their_high_halves)
{
	struct simple s;
	struct hp_function *f;
	uint32_t *carries;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	fake_row(&s.fake, s.block, NULL, f)->calls = 1;
	fake_duration(&s.fake, f, 10, 7);
	fake_duration(&s.fake, f, 20, 5);
	carries = fake_take(&s.fake, HP_GROUP_SIZE * 4);
	f->carries = fake_at(&s.fake, carries);
	fake_group(&s.fake, &carries[0])[10] = 3;
	simple_read(&s);
	CHECK_EQ(hp_model_histogram(&s.model, &s.model.functions[0])->groups[0][10],
		 7 + UINT64_C(3) * HP_CARRY);
	CHECK_EQ(hp_model_histogram(&s.model, &s.model.functions[0])->total,
		 12 + UINT64_C(3) * HP_CARRY);
	CHECK_NEAR(hp_model_percentile(&s.model, &s.model.functions[0], 50), 20, 1e-9);
	hp_model_release(&s.model);
}

TEST(model, threads_and_processes_add_up_by_object_and_address)
{
	struct simple s;

	simple_init(&s, 1 << 20);
	for (int i = 0; i < 3; i++) {
		struct hp_process *child = fake_process(&s.fake, 5000 + (uint32_t)i, s.object);
		struct hp_module *module = fake_module(&s.fake, child, s.object);

		for (int thread = 0; thread < 2; thread++) {
			struct hp_block *block = fake_block(&s.fake, child);
			struct hp_function *a = fake_function(&s.fake, block, module, 0x10);
			struct hp_function *b = fake_function(&s.fake, block, module, 0x20);
			struct hp_row *outer = fake_row(&s.fake, block, NULL, a);
			struct hp_row *inner = fake_row(&s.fake, block, outer, b);

			fake_call(&s.fake, a, outer, 1000, 400);
			fake_call(&s.fake, b, inner, 400, 0);
		}
	}
	simple_read(&s);
	CHECK_EQ(s.model.function_count, 2);
	CHECK_EQ(s.model.node_count, 3);
	CHECK_EQ(function_at(&s.model, 0x10)->calls, 6);
	CHECK_NEAR(function_at(&s.model, 0x10)->total_ns, 12000, 1e-6);
	CHECK_NEAR(function_at(&s.model, 0x10)->self_ns, 7200, 1e-6);
	CHECK_NEAR(function_at(&s.model, 0x20)->total_ns, 4800, 1e-6);
	CHECK_NEAR(s.model.nodes[1].inclusive_ns, 12000, 1e-6);
	CHECK_NEAR(s.model.nodes[2].inclusive_ns, 4800, 1e-6);
	CHECK_EQ(s.model.nodes[2].parent, 1);
	hp_model_release(&s.model);
}

TEST(model, recursion_counts_time_once)
{
	struct simple s;
	struct hp_function *f;
	struct hp_row *row;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	row = fake_row(&s.fake, s.block, NULL, f);
	f->recursive = 1;
	fake_call(&s.fake, f, row, 1000, 600);
	fake_call(&s.fake, f, row, 600, 0);
	row->outer_timed -= 600;	/* the second one was nested */
	simple_read(&s);
	CHECK_NEAR(s.model.functions[0].total_ns, 2000, 1e-6);
	CHECK_NEAR(s.model.functions[0].self_ns, 2000, 1e-6);
	CHECK_NEAR(hp_model_average(&s.model, &s.model.functions[0]), 1600, 16);
	CHECK_EQ(s.model.functions[0].calls, 2);
	hp_model_release(&s.model);
}

/* 960 calls timed at 100, then 32 000, 1 000 of them sampled, at 90 and 110. */
TEST(model, strata_are_estimated_apart)
{
	struct simple s;
	struct hp_function *f;
	struct hp_row *row;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	row = fake_row(&s.fake, s.block, NULL, f);
	for (int i = 0; i < 960; i++)
		fake_call(&s.fake, f, row, 1000, 0);
	for (int i = 0; i < 1000; i++)
		fake_sampled(&s.fake, f, row, i & 1 ? 90 : 110, 32);
	simple_read(&s);
	const struct hp_model_function *got = &s.model.functions[0];
	double want = 2.0 * (960 * 1000 + 32000 * 100);
	double half = 2.1 * 2 * 32000 * 10 / 31.62 * 0.9842;

	CHECK(got->is_sampled);
	CHECK_EQ(got->calls, 32960);
	CHECK_EQ(got->measured, 1960);
	CHECK_EQ(got->sampled, 1000);
	CHECK_NEAR(got->total_ns, want, 1);
	CHECK_NEAR(got->self_ns, want, 1);
	/* And what a thread's first gaps may have missed. */
	CHECK_NEAR(got->total_ns - got->total_low_ns, half + 1000, half * 0.01);
	CHECK_NEAR(got->total_high_ns - got->total_ns, half + 4000 + 64 * 100 * 2, half * 0.01);
	CHECK_NEAR(hp_model_average(&s.model, got), want / 32960, 0.001);
	hp_model_release(&s.model);
}

TEST(model, one_timed_stall_is_not_multiplied)
{
	struct simple s;
	struct hp_function *f;
	struct hp_row *row;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	row = fake_row(&s.fake, s.block, NULL, f);
	for (int i = 0; i < 1000; i++)
		fake_sampled(&s.fake, f, row, 100, 32);
	row->calls += 32;
	row->sampled++;
	row->tail_count = 1;
	row->tail_ticks = 1000000;
	simple_read(&s);
	const struct hp_model_function *got = &s.model.functions[0];

	CHECK_NEAR(got->total_ns, 2.0 * (32031 * 100 + 1000000), 1);
	CHECK(got->total_high_ns > 2.0 * (32031 * 100 + 32 * 1000000));
	CHECK(got->total_low_ns <= got->total_ns);
	hp_model_release(&s.model);
}

/* A timed caller's time is the measured one, whatever its callee's estimate. */
TEST(model, a_measured_caller_has_no_interval)
{
	struct simple s;
	struct hp_function *f, *g;
	struct hp_row *outer, *inner;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	g = fake_function(&s.fake, s.block, s.module, 0x2000);
	outer = fake_row(&s.fake, s.block, NULL, f);
	inner = fake_row(&s.fake, s.block, outer, g);
	fake_call(&s.fake, f, outer, 5000000, 3200000);
	for (int i = 0; i < 1000; i++)
		fake_sampled(&s.fake, g, inner, i & 1 ? 50 : 150, 32);
	simple_read(&s);
	const struct hp_model_function *caller = function_at(&s.model, 0x1000);

	/* Only by the grain of the clock, 10 ns for the fake one. */
	CHECK_NEAR(caller->total_high_ns - caller->total_low_ns, 20, 1e-9);
	CHECK(caller->self_error_ns > 0);
	CHECK(function_at(&s.model, 0x2000)->total_high_ns > 6400000);
	CHECK_NEAR(s.model.nodes[1].inclusive_ns, 10000000, 1);
	hp_model_release(&s.model);
}

TEST(model, calls_that_never_returned_are_counted)
{
	struct simple s;
	struct hp_function *f, *g;
	struct hp_row *outer, *inner;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	g = fake_function(&s.fake, s.block, s.module, 0x2000);
	outer = fake_row(&s.fake, s.block, NULL, f);
	inner = fake_row(&s.fake, s.block, outer, g);
	outer->calls = 1;
	fake_gist(&s.fake, f)->active = 1;
	fake_call(&s.fake, g, inner, 500, 0);
	simple_read(&s);
	const struct hp_model_function *running = function_at(&s.model, 0x1000);

	CHECK_EQ(running->calls, 1);
	CHECK_EQ(running->running, 1);
	CHECK_EQ(running->measured, 0);
	CHECK_NEAR(running->total_ns, 1000, 1e-6);
	CHECK(hp_model_average(&s.model, running) < 0);
	CHECK(hp_model_percentile(&s.model, running, 95) < 0);
	hp_model_release(&s.model);
}

TEST(model, last_calls_come_newest_first)
{
	struct simple s;
	struct hp_function *f;
	struct hp_call *ring;
	struct hp_model_call last[3];

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	ring = fake_take(&s.fake, 4 * sizeof(*ring));
	f->logs = (uint32_t)(fake_at(&s.fake, ring) / HP_LINE);
	for (uint64_t i = 0; i < 4; i++)
		ring[i] = (struct hp_call){ .start = FAKE_START + 100 * ((i + 2) % 4),
					    .ticks = i + 1,
					    .tid = 9 };
	simple_read(&s);
	CHECK_EQ(hp_model_last_calls(&s.model, &s.model.functions[0], last, 3), 3);
	CHECK_EQ(last[0].start_ns, 600);
	CHECK_EQ(last[1].start_ns, 400);
	CHECK_EQ(last[2].start_ns, 200);
	CHECK_EQ(last[0].ns, 4);
	CHECK_EQ(last[0].tid, 9);
	hp_model_release(&s.model);
}

TEST(model, a_result_belongs_to_its_call_or_to_none)
{
	struct simple s;
	struct hp_function *f;
	struct hp_results *results;
	struct hp_call *ring;
	struct hp_model_call last[4];

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	ring = fake_take(&s.fake, 4 * sizeof(*ring));
	f->logs = (uint32_t)(fake_at(&s.fake, ring) / HP_LINE);
	results = fake_results(&s.fake, f, 4);
	/* 3 was written after 2; 7 replaced 3; 4 claims to be longer than its room. */
	fake_result(results, 2, "second");
	fake_result(results, 7, "seventh");
	fake_result(results, 4, "fourth");
	results->ring[0].length = HP_RESULT_MAX + 1;
	for (uint32_t i = 0; i < 4; i++)
		ring[i] = (struct hp_call){ .start = FAKE_START + 100 * (4 - i), .ticks = 1 };
	ring[0].result = 2;
	ring[1].result = 3;
	ring[2].result = 4;
	simple_read(&s);
	CHECK_EQ(hp_model_last_calls(&s.model, &s.model.functions[0], last, 4), 4);
	CHECK_STR(last[0].result, "second");
	CHECK_STR(last[1].result, NULL);
	CHECK_STR(last[2].result, NULL);
	CHECK_STR(last[3].result, NULL);
	free(last[0].result);
	hp_model_release(&s.model);
}

TEST(model, a_label_is_that_of_any_thread)
{
	struct simple s;
	struct hp_function *f, *g;
	struct hp_block *other;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	other = fake_block(&s.fake, s.process);
	g = fake_function(&s.fake, other, s.module, 0x1000);
	fake_call(&s.fake, f, fake_row(&s.fake, s.block, NULL, f), 100, 0);
	fake_call(&s.fake, g, fake_row(&s.fake, other, NULL, g), 100, 0);
	fake_label(&s.fake, f, HP_LABEL_NAME, "called so");
	simple_read(&s);
	CHECK_EQ(s.model.function_count, 1);
	CHECK_EQ(s.model.functions[0].calls, 2);
	CHECK(s.model.functions[0].label != NULL);
	CHECK_STR(s.model.functions[0].label->text, "called so");
	CHECK_STR(s.model.functions[0].label->file, "some.c");
	CHECK_EQ(s.model.functions[0].label->line, 17);
	hp_model_release(&s.model);
}

TEST(label, of_a_name_is_used_if_the_function_is_the_one_around_it)
{
	struct hp_model_label block = { .kind = HP_LABEL_BLOCK, .text = (char[]){ "b" } };
	struct hp_model_label name = { .kind = HP_LABEL_NAME,
				       .text = (char[]){ "n" },
				       .function = (char[]){ "load" } };

	CHECK(hp_label_is_of(&block, "anything"));
	CHECK(hp_label_is_of(&name, NULL));
	CHECK(hp_label_is_of(&name, "load"));
	CHECK(hp_label_is_of(&name, "load.part.0"));
	CHECK(hp_label_is_of(&name, "int space::thing<int>::load<char>(int, std::string) const"));
	CHECK(hp_label_is_of(&name, "load[abi:cxx11](int)"));
	CHECK(!hp_label_is_of(&name, "loader"));
	CHECK(!hp_label_is_of(&name, "load_user"));
	CHECK(!hp_label_is_of(&name, "upload(int)"));
	CHECK(!hp_label_is_of(&name, "load::other(int)"));
}

TEST(model, threads_are_shown_as_the_watcher_saw_them)
{
	struct simple s;
	struct hp_watch_row *rows;

	simple_init(&s, 1 << 20);
	rows = fake_watch(&s.fake, 2);
	rows[0] = (struct hp_watch_row){ .tid = 1,
					 .name = "one",
					 .state = 'R',
					 .first_ns = 100,
					 .seen_ns = 1000100,
					 .cpu_ns = 500500,
					 .first_cpu_ns = 500,
					 .percent_max = 505,
					 .percent_last = UINT32_MAX };
	rows[1] = (struct hp_watch_row){ .tid = 2,
					 .state = 'S',
					 .percent_max = UINT32_MAX,
					 .first_ns = 5,
					 .seen_ns = 5,
					 .folded = 3 };
	simple_read(&s);
	CHECK_EQ(s.model.thread_count, 2);
	CHECK_NEAR(s.model.threads[0].percent_average, 50, 1e-9);
	CHECK_NEAR(s.model.threads[0].percent_max, 50.5, 1e-9);
	CHECK(s.model.threads[0].percent_last < 0);
	CHECK(s.model.threads[1].percent_average < 0);
	CHECK_EQ(s.model.blocked_ns, 500000);
	CHECK_EQ(s.model.threads_interval_ms, 250);
	hp_model_release(&s.model);
}

/* Two rows with 3 and 2 more threads, the second one `<other>`, and so many ids of these. */
static bool is_folded_known(uint32_t count)
{
	struct simple s;
	struct hp_watch_row *rows;
	struct hp_watch_folded *folded;
	bool is_known, has_last;

	simple_init(&s, 1 << 20);
	rows = fake_watch(&s.fake, 2);
	rows[0] = (struct hp_watch_row){ .tid = 1, .state = 'x', .folded = 3 };
	rows[1] = (struct hp_watch_row){ .state = 'x', .folded = 1 };
	folded = fake_take(&s.fake, sizeof(*folded) + 8 * sizeof(struct hp_watch_id));
	folded->capacity = 8;
	folded->count = count;
	for (uint32_t i = 0; i < count; i++)
		folded->ids[i] = (struct hp_watch_id){ .tid = 90 - i, .pid = 7 };
	((struct hp_recorded *)((char *)fake_header(&s.fake) + HP_RECORDED_AT))->folded =
		fake_at(&s.fake, folded);
	simple_read(&s);
	is_known = s.model.is_folded_known;
	has_last = hp_model_is_folded(&s.model, 7, 90 - count + 1);
	CHECK(has_last && !hp_model_is_folded(&s.model, 7, 90 - count));
	hp_model_release(&s.model);
	return is_known;
}

TEST(model, it_is_known_which_threads_are_in_rows_of_others_if_each_is_listed)
{
	CHECK(is_folded_known(5));
	CHECK(!is_folded_known(4));
	CHECK(!is_folded_known(6));
}

/* A list that leads back into itself, and offsets that lead nowhere. */
TEST(model, a_list_without_end_ends)
{
	struct simple s;
	struct hp_function *f;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	f->next = fake_at(&s.fake, f);
	f->logs = UINT32_MAX;
	f->groups[3] = UINT32_MAX;
	f->carries = 64;
	simple_read(&s);
	CHECK(s.model.losses.is_damaged);
	hp_model_release(&s.model);
}

/* Estimates below a measured call add up to at most its duration. */
TEST(model, estimates_stay_within_the_measured_time)
{
	struct simple s;
	struct hp_function *f, *g;
	struct hp_row *outer, *inner;

	simple_init(&s, 1 << 20);
	f = fake_function(&s.fake, s.block, s.module, 0x1000);
	g = fake_function(&s.fake, s.block, s.module, 0x2000);
	outer = fake_row(&s.fake, s.block, NULL, f);
	inner = fake_row(&s.fake, s.block, outer, g);
	fake_call(&s.fake, f, outer, 10000, 10000);
	for (int i = 0; i < 10; i++)
		fake_sampled(&s.fake, g, inner, 50, 32);
	simple_read(&s);
	const struct hp_model_function *callee = function_at(&s.model, 0x2000);

	/* 320 calls of 50 ticks are estimated at 16 000, within 10 000. */
	CHECK_NEAR(function_at(&s.model, 0x1000)->total_ns, 20000, 1e-6);
	CHECK_NEAR(callee->self_ns, 20000, 1e-6);
	CHECK_NEAR(callee->total_ns, 20000, 1e-6);
	CHECK(callee->total_high_ns >= 32000);
	hp_model_release(&s.model);
}

/* State passed between refreshes is empty if there was none, or it was not live. */
TEST(model, an_unread_segment_has_no_descriptor)
{
	struct hp_model model = { .reader = { .mapped = 0 } };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	if (fd > 0)
		CHECK_EQ((uint64_t)dup2(fd, 0), 0u);
	hp_model_release(&model);
	hp_model_release(&model);
	CHECK(fcntl(0, F_GETFD) >= 0);
	if (fd > 0)
		close(fd);
}
