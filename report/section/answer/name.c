/* SPDX-License-Identifier: MIT */
/*
 * name.c - how names are shortened in the default report and in findings.
 */
#include "report/name/short.h"
#include "report/section/answer/answer.h"
#include "report/section/cpu/cpu.h"

char *hp_answer_name(const struct hp_report *report, const char *name)
{
	return hp_name_display(name, (size_t)report->settings->name_depth, HP_NAME_SHORT);
}

/* Tables prefix main with its program to distinguish it; here it is main. */
char *hp_answer_function(struct hp_report *report, uint32_t function)
{
	const struct hp_cpu_function *f = &hp_report_cpu(report)->functions[function];
	const char *name = hp_cpu_name(report, f);

	return hp_answer_name(report, name == report->caller ? f->name : name);
}

char *hp_answer_path(const struct hp_report *report, const char *path)
{
	return hp_name_display_path(path, (size_t)report->settings->name_depth);
}
