/* SPDX-License-Identifier: MIT */
/*
 * sampler_whole_test.c - CPUs are sampled if a third of the CPU time has no sample, and more than
 * by chance.
 */
#include "sampler/perf/whole.h"

#include <time.h>
#include <unistd.h>

#include "test/test.h"

#define MS UINT64_C(1000000)
#define PERIOD_NS (4 * MS)

static bool is_wanted(struct hp_whole *whole, uint64_t cpu_ms, uint32_t threads,
		      uint64_t sampled_ms)
{
	struct hp_whole_use use = { cpu_ms * MS, threads, (uint32_t)cpu_ms };

	return hp_whole_is_wanted(whole, &use, sampled_ms * MS, PERIOD_NS);
}

TEST(whole, a_third_without_samples)
{
	struct hp_whole whole = { .fds = NULL };

	/* Changes before the first scan do not count. */
	CHECK(!is_wanted(&whole, 5000, 1, 0));
	CHECK(!is_wanted(&whole, 5090, 1, 0));
	CHECK(is_wanted(&whole, 5110, 1, 0));
	CHECK(!is_wanted(&whole, 6000, 1, 700));
	CHECK(is_wanted(&whole, 6000, 1, 600));
}

TEST(whole, each_thread_may_wait_for_its_next_sample)
{
	struct hp_whole whole = { .fds = NULL };

	CHECK(!is_wanted(&whole, 0, 1, 0));
	CHECK(!is_wanted(&whole, 250, 64, 0));
	CHECK(is_wanted(&whole, 250, 16, 0));
}

TEST(whole, more_samples_than_time_or_a_child_that_nobody_waited_for)
{
	struct hp_whole whole = { .fds = NULL };

	CHECK(!is_wanted(&whole, 1000, 1, 100));
	CHECK(!is_wanted(&whole, 2000, 1, 3000));
	CHECK(!is_wanted(&whole, 900, 1, 100));
}

TEST(whole, a_refused_event_is_not_requested_again)
{
	struct hp_whole whole = { .is_refused = true };

	CHECK(!is_wanted(&whole, 0, 1, 0));
	CHECK(!is_wanted(&whole, 9000, 1, 0));
}

TEST(whole, time_without_an_end_is_unknown)
{
	struct hp_whole whole = { .fds = NULL };
	struct hp_whole_use use = { 0, 2, 7 };

	CHECK(!hp_whole_is_wanted(&whole, &use, 0, PERIOD_NS));
	use.cpu_ns = 1000 * MS;
	CHECK(!hp_whole_is_wanted(&whole, &use, 600 * MS, PERIOD_NS));
	use.ended += 24;
	CHECK(!hp_whole_is_wanted(&whole, &use, 600 * MS, PERIOD_NS));
	use.ended += 1;
	CHECK(hp_whole_is_wanted(&whole, &use, 600 * MS, PERIOD_NS));
}

TEST(whole, usage_follows_the_clock)
{
	struct hp_whole_use use;
	struct timespec now;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while (!now.tv_sec && now.tv_nsec < (long)(40 * MS));
	CHECK(hp_whole_use((uint32_t)getpid(), &use));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	CHECK_EQ(use.threads, 1);
	CHECK(use.cpu_ns >= 20 * MS);
	CHECK(use.cpu_ns <= (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec);
	CHECK(!hp_whole_use(UINT32_MAX, &use));
}
