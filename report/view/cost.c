/* SPDX-License-Identifier: MIT */
/* cost.c - see cost.h. */
#include "report/view/cost.h"

#include <math.h>

#include "report/section/cpu/cpu.h"

#define SAMPLES_MIN 8	/* fewer are less accurate than the hooks' calibration */

struct hp_cost hp_cost_of(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	const struct hp_cpu *cpu = hp_cpu_is_made(report) ? hp_report_cpu(report) : NULL;
	struct hp_cost cost = { .ns = (double)model->overhead_ns,
				.helper_ns = (double)model->helper_cpu_ns };

	if (!cpu || cpu->profiler_samples < SAMPLES_MIN || !model->cpu_ns ||
	    cpu->profiler_ns < model->overhead_ns)
		return cost;
	cost.is_sampled = true;
	cost.ns = (double)cpu->profiler_ns;
	cost.error_ns = 1.96 * cost.ns /
			sqrt(hp_sampling_effective(&model->sampling, cpu->profiler_samples,
						   cpu->profiler_ns));
	return cost;
}
