/* SPDX-License-Identifier: MIT */
/*
 * report_main.c - hotpath-report.so: the report, for a copy of the helper's process
 * (sampler/session/end_fork.h).
 */
#include <stdint.h>

#include "report/base/stack.h"
#include "report/command/command.h"
#include "segment/layout/header.h"

#define EXPORT __attribute__((visibility("default")))

/* HP_FORMAT of the segments that it reads. */
EXPORT extern const uint32_t hp_report_format;
const uint32_t hp_report_format = HP_FORMAT;

/* `hotpath report`: argv[0] is "report". Returns its exit status. */
EXPORT int hp_report_main(int argc, char **argv);

int hp_report_main(int argc, char **argv)
{
	return hp_stack_run(hp_cmd_report, argc, argv);
}
