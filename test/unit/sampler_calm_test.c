/* SPDX-License-Identifier: MIT */
/*
 * sampler_calm_test.c - a thread that switches all the time is sampled less often; one that
 * computes is not.
 */
#include "sampler/perf/calm.h"

#include "test/test.h"

#define MS UINT64_C(1000000)

/* The rate after a span with the given CPU time and number of switches. */
static bool is_low_after(struct hp_calm *calm, struct hp_calm *sums, uint64_t cpu_ms,
			 uint64_t switches)
{
	bool was_low = calm->is_low, is_new;

	sums->cpu_ns += cpu_ms * MS;
	sums->switches += switches;
	is_new = hp_calm_look(calm, sums->cpu_ns, sums->switches);
	CHECK_EQ(is_new, calm->is_low != was_low);
	return calm->is_low;
}

TEST(calm, a_computing_thread_keeps_the_rate)
{
	struct hp_calm calm = { .cpu_ns = 0 }, sums = { .cpu_ns = 0 };

	for (int i = 0; i < 100; i++)
		CHECK(!is_low_after(&calm, &sums, 250, 500));
}

TEST(calm, few_switches_say_nothing)
{
	struct hp_calm calm = { .cpu_ns = 0 }, sums = { .cpu_ns = 0 };

	CHECK(!is_low_after(&calm, &sums, 1, 100));
	CHECK(!is_low_after(&calm, &sums, 1, 100));
	/* They add up, unless there is much computation in between. */
	CHECK(is_low_after(&calm, &sums, 1, 100));
	calm = sums = (struct hp_calm){ .cpu_ns = 0 };
	CHECK(!is_low_after(&calm, &sums, 1, 200));
	CHECK(!is_low_after(&calm, &sums, 2000, 0));
	CHECK(!is_low_after(&calm, &sums, 1, 200));
}

TEST(calm, the_rate_comes_back_later_each_time)
{
	struct hp_calm calm = { .cpu_ns = 0 }, sums = { .cpu_ns = 0 };
	uint64_t before_ms = 0;

	for (int round = 0; round < 4; round++) {
		uint64_t ms = 0;

		CHECK(is_low_after(&calm, &sums, 100, 5000));
		while (is_low_after(&calm, &sums, 250, 10))
			ms += 250;
		CHECK(ms >= 1000);
		CHECK(ms > before_ms);
		before_ms = ms;
	}
}

TEST(calm, a_thread_that_keeps_switching_stays_low)
{
	struct hp_calm calm = { .cpu_ns = 0 }, sums = { .cpu_ns = 0 };

	for (int i = 0; i < 100; i++)
		CHECK(is_low_after(&calm, &sums, 250, 2500));
}
