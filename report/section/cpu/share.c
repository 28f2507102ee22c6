/* SPDX-License-Identifier: MIT */
/*
 * share.c - how exact a share of the samples is.
 *
 * With a part m of the CPU time without samples, a share p of the samples is one between (1 - m) p
 * and (1 - m) p + m of the CPU time. So its error is that of the samples, (1 - m) e, and at most
 * m p or m (1 - p) beyond that.
 */
#include <math.h>

#include "report/section/cpu/cpu.h"

#define MISSED_MIN_NS UINT64_C(20000000)	/* of CPU without samples: less is chance, */
#define MISSED_SHARE 20	/* and so is one part in this many of the total */
#define Z 1.96	/* of 95 % */
#define SLIGHT 2	/* less than one part in this many of the samples' largest error does not count */
#define STEPS 100	/* between the shares that are tried */

uint64_t hp_cpu_missed_ns(const struct hp_report *report)
{
	const struct hp_sampling *record = &report->model.sampling.record;
	uint64_t cpu_ns = report->model.cpu_ns;

	if (!report->model.sampling.is_there || record->fault ||
	    record->source == HP_SAMPLING_NONE || cpu_ns <= record->cpu_ns)
		return 0;
	uint64_t missed_ns = cpu_ns - record->cpu_ns;
	bool is_much = missed_ns >= MISSED_MIN_NS && missed_ns * MISSED_SHARE > cpu_ns;
	return is_much ? missed_ns : 0;
}

static bool is_user_only(const struct hp_sampling *record)
{
	return !record->has_kernel && record->source != HP_SAMPLING_SAMPLY;
}

/* The part of all threads' CPU time in user code, as far as it is known. */
static double user_part(const struct hp_model *model)
{
	double all = 0, user = 0;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct hp_model_thread *thread = &model->threads[i];

		if (thread->user_share < 0)
			continue;
		all += (double)thread->cpu_ns;
		user += (double)thread->cpu_ns * thread->user_share;
	}
	return all > 0 ? user / all : 1;
}

double hp_cpu_missed_part(const struct hp_report *report)
{
	const struct hp_sampling *record = &report->model.sampling.record;
	double all = (double)report->model.cpu_ns, sampled = (double)record->cpu_ns;
	bool is_exact = record->source == HP_SAMPLING_CLOCK && !is_user_only(record);

	/* Elsewhere a small difference may be chance. */
	if (!report->model.sampling.is_there || record->fault || sampled <= 0 ||
	    (!is_exact && !hp_cpu_missed_ns(report)))
		return 0;
	if (is_user_only(record))
		all *= user_part(&report->model);
	return all > sampled ? 1 - sampled / all : 0;
}

/* Wilson's, which also has a width without samples and with all of them (JASA 22, 1927). */
static double wilson(double p, double n)
{
	return Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n);
}

/* For half of all samples. */
static double largest(double n)
{
	return Z / (2 * sqrt(n));
}

double hp_cpu_share_error(double p, double n, double missed)
{
	double error = wilson(p, n);

	if (missed * SLIGHT < largest(n))
		return error;
	return (1 - missed) * error + missed * fmax(p, 1 - p);
}

double hp_cpu_share_error_most(double n, double missed)
{
	double most = largest(n);

	for (int i = 0; i <= STEPS; i++)
		most = fmax(most, hp_cpu_share_error((double)i / STEPS, n, missed));
	return most;
}
