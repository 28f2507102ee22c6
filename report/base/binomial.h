/* SPDX-License-Identifier: MIT */
/*
 * binomial.h - the interval of a probability of which `k` of `n` independent trials are known to
 * have come true (C. J. Clopper, E. S. Pearson, Biometrika 26, 1934).
 */
#ifndef HP_REPORT_BASE_BINOMIAL_H
#define HP_REPORT_BASE_BINOMIAL_H

/* The ends; each is missed with the probability `beyond`, at most a half. */
double hp_binomial_low(double k, double n, double beyond);
double hp_binomial_high(double k, double n, double beyond);

#endif
