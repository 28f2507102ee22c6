/* SPDX-License-Identifier: MIT */
/* binomial.c - see binomial.h. */
#include "report/base/binomial.h"

#include <math.h>
#include <stdbool.h>

#define HALVINGS 40
#define TERM_MIN 1e-15

/* lgamma has a global sign; ours is always positive. */
static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

/*
 * Is the probability of at least k of n below `beyond`, which is at most a half? The median is
 * n * p, rounded one way or the other. Above it, each term is smaller than the one before.
 */
static bool is_below(double k, double n, double p, double beyond)
{
	double term, sum = 0;

	if (k <= floor(n * p))
		return false;
	term = exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * log(p) +
		   (n - k) * log1p(-p));
	for (double i = k; i <= n && sum < beyond && term > TERM_MIN; i++) {
		sum += term;
		term *= (n - i) / (i + 1) * p / (1 - p);
	}
	return sum < beyond;
}

double hp_binomial_low(double k, double n, double beyond)
{
	double low = 0, high = 1;

	if (k <= 0)
		return 0;
	for (int i = 0; i < HALVINGS; i++) {
		double p = (low + high) / 2;

		if (is_below(k, n, p, beyond))
			low = p;
		else
			high = p;
	}
	return low;
}

double hp_binomial_high(double k, double n, double beyond)
{
	return 1 - hp_binomial_low(n - k, n, beyond);
}
