/* SPDX-License-Identifier: MIT */
/* binomial.c - see binomial.h. */
#include "report/base/binomial.h"

#include <math.h>

#define HALVINGS 40

/* lgamma has a global sign; ours is always positive. */
static double log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

/* The probability of at least k of n. */
static double at_least(double k, double n, double p)
{
	double sum = 0;

	for (double i = k; i <= n; i++)
		sum += exp(log_factorial(n) - log_factorial(i) - log_factorial(n - i) + i * log(p) +
			   (n - i) * log1p(-p));
	return sum;
}

double hp_binomial_low(double k, double n, double beyond)
{
	double low = 0, high = 1;

	if (k <= 0)
		return 0;
	for (int i = 0; i < HALVINGS; i++) {
		double p = (low + high) / 2;

		if (at_least(k, n, p) < beyond)
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
