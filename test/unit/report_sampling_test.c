/* SPDX-License-Identifier: MIT */
/*
 * report_sampling_test.c - the information in samples of different weights, and the error of shares.
 */
#include <math.h>

#include "report/read/sampling.h"
#include "report/section/cpu/cpu.h"

#include "test/test.h"

#define PERIOD_FIRST 1000000
#define PERIOD_LATER 4000000
#define PERIOD_LOW 20000000

static struct hp_model_sampling sampled(uint32_t first_hz, uint32_t hz, uint32_t low_hz)
{
	return (struct hp_model_sampling){ .record = { .frequency = hz },
					   .first_hz = first_hz,
					   .low_hz = low_hz };
}

/* By definition, from the given numbers of samples of each weight. */
static double kish(double first, double later, double low)
{
	double sum = first * PERIOD_FIRST + later * PERIOD_LATER + low * PERIOD_LOW;
	double squares = first * PERIOD_FIRST * PERIOD_FIRST + later * PERIOD_LATER * PERIOD_LATER +
			 low * PERIOD_LOW * PERIOD_LOW;

	return sum * sum / squares;
}

static double effective(const struct hp_model_sampling *sampling, uint64_t first, uint64_t later,
			uint64_t low)
{
	return hp_sampling_effective(sampling, first + later + low,
				     first * PERIOD_FIRST + later * PERIOD_LATER +
					     low * PERIOD_LOW);
}

TEST(sampling, samples_of_one_rate_have_equal_weight)
{
	struct hp_model_sampling one = sampled(0, 250, 0), two = sampled(1000, 250, 0);

	CHECK(effective(&one, 0, 700, 0) == 700);
	/* A function that ran at only one of the rates. */
	CHECK(effective(&two, 0, 700, 0) > 699.9);
	CHECK(effective(&two, 700, 0, 0) > 699.9);
	CHECK(effective(&two, 700, 0, 0) < 700.1);
	CHECK(hp_sampling_effective(&two, 0, 0) == 0);
}

TEST(sampling, samples_of_two_rates_are_worth_less)
{
	struct hp_model_sampling two = sampled(1000, 250, 0);

	for (uint64_t later = 100; later < 100000; later *= 3) {
		double ratio = effective(&two, 1000, later, 0) / kish(1000, (double)later, 0);

		CHECK(ratio > 0.999);
		CHECK(ratio < 1.001);
	}
	CHECK(effective(&two, 1000, 250, 0) < 900);
}

TEST(sampling, samples_of_three_rates_are_never_worth_more)
{
	struct hp_model_sampling three = sampled(1000, 250, 50);

	for (uint64_t later = 0; later < 5000; later += 500) {
		CHECK(effective(&three, 1000, later, 300) <=
		      1.001 * kish(1000, (double)later, 300));
		CHECK(effective(&three, 1000, later, 300) > 0);
	}
}

TEST(sampling, the_period_is_the_mean_of_the_used_ones)
{
	struct hp_model_sampling two = sampled(1000, 250, 0), one = sampled(0, 250, 0);

	two.record.samples = 1250;
	two.record.cpu_ns = UINT64_C(2000000000);
	CHECK(hp_sampling_period_ns(&two) == 1600000);
	CHECK(hp_sampling_period_ns(&one) == 4000000);
}

TEST(sampling, the_error_of_a_share_contains_time_without_samples)
{
	for (int p = 0; p <= 10; p++)
		for (int missed = 0; missed <= 9; missed++)
			for (int of_it = 0; of_it <= 10; of_it++) {
				double share = p / 10.0, m = missed / 10.0, error;
				double truth = (1 - m) * share + m * of_it / 10.0;

				error = hp_cpu_share_error(share, 1e6, m);
				CHECK(fabs(truth - share) <= error + 1e-9);
				CHECK(error <= hp_cpu_share_error_most(1e6, m) + 1e-9);
			}
	/* 63 %, reported as 73: half of the ticks were lost. */
	CHECK(hp_cpu_share_error(0.73, 1000, 0.5) > 0.1);
}

TEST(sampling, a_little_time_without_samples_changes_no_error)
{
	double bare = hp_cpu_share_error(0.5, 1000, 0);

	CHECK(fabs(bare - 0.0309) < 0.0001);
	CHECK(hp_cpu_share_error(0.5, 1000, 0.015) == bare);
	CHECK(hp_cpu_share_error(0.5, 1000, 0.02) > bare + 0.009);
	CHECK(hp_cpu_share_error_most(1000, 0.015) == hp_cpu_share_error_most(1000, 0));
	CHECK(fabs(hp_cpu_share_error_most(1000, 0) - 0.031) < 0.0001);
}
