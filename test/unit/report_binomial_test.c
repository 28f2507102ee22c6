/* SPDX-License-Identifier: MIT */
/* report_binomial_test.c - the interval of a probability has the published ends. */
#include "test/test.h"

#include <math.h>

#include "report/base/binomial.h"

static void check_near(double value, double right)
{
	CHECK(fabs(value - right) < 0.0001);
}

/* The first is 0.025^(1/10). */
TEST(report_binomial, ends_are_those_of_clopper_and_pearson)
{
	check_near(hp_binomial_low(10, 10, 0.025), 0.69150);
	check_near(hp_binomial_high(0, 10, 0.025), 0.30850);
	check_near(hp_binomial_low(5, 10, 0.025), 0.18709);
	check_near(hp_binomial_high(5, 10, 0.025), 0.81291);
	CHECK(hp_binomial_low(0, 10, 0.025) == 0);
	CHECK(hp_binomial_high(10, 10, 0.025) == 1);
}

/* Each end is where the observation, or a more extreme one, has the given probability. */
TEST(report_binomial, ends_hold_for_many_trials)
{
	double low = hp_binomial_low(300, 1000, 0.0125), high = hp_binomial_high(300, 1000, 0.0125);

	CHECK(low > 0.26);
	CHECK(low < 0.3);
	CHECK(high > 0.3);
	CHECK(high < 0.34);
}

/* A long run: with one of a million, the end is 1 - 0.975^(1 / 1000000). */
TEST(report_binomial, ends_hold_for_a_million_trials)
{
	CHECK_NEAR(1e6 * hp_binomial_low(1, 1e6, 0.025), 0.025318, 0.000001);
	CHECK_NEAR(1e6 * (1 - hp_binomial_high(999999, 1e6, 0.025)), 0.025318, 0.000001);
	CHECK_NEAR(hp_binomial_low(5e5, 1e6, 0.025), 0.49902, 0.00001);
	CHECK(hp_binomial_high(0, 1e6, 0.025) < 4e-6);
}
