/* SPDX-License-Identifier: MIT */
/* cost.c - see cost.h. */
#include "report/read/cost.h"

#include <math.h>

#define Z 1.96
/*
 * Hooks that do nothing take time as well, which is not our cost. In the program they are
 * called through the linkage table, and ours take over some of its waiting for loads: so they took
 * 1.4 times the calibrated call on average.
 */
#define BARE_LOW 0.75
#define BARE_HIGH 2.25
#define BARE_MIN_NS 0.5	/* not measured: on any machine */
#define BARE_MAX_NS 8.0
/*
 * Samples say where time passes, and not why. Stand-ins wait for loads of the program's, and the
 * program for cache lines that they evict. In a loop that makes and frees small blocks, stand-ins
 * had 219 to 250 ms in samples, and took 140 to 165 of them: 0.64 to 0.70.
 */
#define CODE_LOW 0.6
#define CODE_HIGH 1.15
/* An interrupt costs more than its gap if it evicts cache lines. */
#define INTERRUPT_LOW 0.8
#define INTERRUPT_HIGH 2.0
#define INTERRUPT_MIN_NS 1000	/* not measured: on any machine */
#define INTERRUPT_MAX_NS 40000
#define SWITCH_MIN_NS 200	/* two records, sometimes a stack */
#define SWITCH_MAX_NS 3000
/*
 * The library is loaded before our first clock reading, and unmapped after the last one. Both took
 * 0.8 times as long as the start here.
 */
#define UNSEEN_LOW 0.2
#define UNSEEN_HIGH 2.0

struct range {
	double low, high;
};

static struct range sum(struct range a, struct range b)
{
	return (struct range){ a.low + b.low, a.high + b.high };
}

/*
 * 95 % interval of the mean of a Poisson distribution from which n was drawn (approximation by
 * Wilson and Hilferty).
 */
static struct range poisson(double n)
{
	double m = n + 1;
	struct range range = { 0, m * pow(1 - 1 / (9 * m) + Z / (3 * sqrt(m)), 3) };

	if (n > 0)
		range.low = n * pow(1 - 1 / (9 * n) - Z / (3 * sqrt(n)), 3);
	return range;
}

static struct range start_of(const struct hp_model *model)
{
	double ns = 0;

	for (size_t i = 0; i < model->run_count; i++)
		ns += (double)model->runs[i].start_ns;
	return (struct range){ ns * (1 + UNSEEN_LOW), ns * (1 + UNSEEN_HIGH) };
}

/* The hooks' share of time that hooks that do nothing would have taken. */
static struct range bare_of(const struct hp_model *model)
{
	double ns = model->bare_ns, calls = 0;
	struct range each = { ns * BARE_LOW, ns * BARE_HIGH };

	if (ns <= 0)
		each = (struct range){ BARE_MIN_NS, BARE_MAX_NS };
	for (size_t i = 0; i < model->function_count; i++)
		calls += (double)model->functions[i].calls;
	return (struct range){ calls * each.low, calls * each.high };
}

/* The program's CPU time per sampled CPU time. */
static double whole_of(const struct hp_model *model, const struct hp_sampling_sums *sums)
{
	double sampled = (double)(sums->program_ns + sums->our_ns);

	return sampled > 0 && (double)model->cpu_ns > sampled ? (double)model->cpu_ns / sampled : 1;
}

/* Our code, according to samples. Time without a sample may have as large a share of it. */
static struct range code_of(const struct hp_model *model, const struct hp_sampling_sums *sums)
{
	const struct hp_model_sampling *sampling = &model->sampling;
	double n = hp_sampling_effective(sampling, sums->our_samples, sums->our_ns);
	double each = (double)sums->program_ns / (double)sampling->record.samples;
	struct range range = poisson(n), bare = bare_of(model);
	/* The error of the bare hooks is larger, and contains it. */
	struct range part =
		bare.high > 0 ? (struct range){ 1, 1 } : (struct range){ CODE_LOW, CODE_HIGH };

	if (n > 0)
		each = (double)sums->our_ns / n;
	range.low = fmax(range.low * each * part.low - bare.high, 0);
	range.high =
		fmax(range.high * each * part.high * whole_of(model, sums) - bare.low, range.low);
	return range;
}

/* Lost records are mostly of context switches, so the lost samples are not known from them. */
static struct range events_of(const struct hp_model *model, const struct hp_sampling_sums *sums)
{
	double ns = (double)model->interrupt_ns, switches = 0;
	double samples = (double)model->sampling.record.samples;
	struct range each = { ns * INTERRUPT_LOW, ns * INTERRUPT_HIGH };

	if (ns <= 0)
		each = (struct range){ INTERRUPT_MIN_NS, INTERRUPT_MAX_NS };
	for (size_t i = 0; i < model->run_count; i++)
		switches += (double)model->runs[i].switches;
	return (struct range){ samples * each.low + switches * SWITCH_MIN_NS,
			       samples * whole_of(model, sums) * each.high +
				       switches * SWITCH_MAX_NS };
}

/* The hooks' own figure is of elapsed time, and others are upper bounds. */
static struct range within(struct range range, double most)
{
	if (most <= 0)
		return range;
	return (struct range){ fmin(range.low, most), fmin(range.high, most) };
}

struct hp_cost hp_cost_of(const struct hp_model *model)
{
	struct hp_sampling_sums sums = hp_sampling_sum(&model->sampling);
	struct range range, start = start_of(model);
	struct hp_cost cost = { .helper_ns = (double)model->helper_cpu_ns };

	cost.is_least = !model->sampling.is_there || !model->sampling.record.samples;
	if (cost.is_least)
		range.low = range.high = (double)model->overhead_ns + start.low;
	else
		range = sum(sum(code_of(model, &sums), events_of(model, &sums)), start);
	range = within(range, (double)model->cpu_ns);
	cost.low_ns = range.low;
	cost.high_ns = range.high;
	cost.ns = (range.low + range.high) / 2;
	cost.error_ns = (range.high - range.low) / 2;
	return cost;
}
