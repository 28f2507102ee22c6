/* SPDX-License-Identifier: MIT */
/*
 * runtime.h - all event loops together, with the names that clients of the Rust crate know.
 */
#ifndef HP_REPORT_SECTION_LOOP_RUNTIME_H
#define HP_REPORT_SECTION_LOOP_RUNTIME_H

#include "report/section/core/report.h"

struct cJSON;

/*
 * num_workers: loops. num_alive_tasks: descriptors that they watch. global_queue_depth: jobs that
 * wait for a pool, which are not recorded.  io_driver_*: descriptors added to and removed from
 * epoll instances, and events.  Members without a meaning for a loop, such as steals, are
 * omitted.
 */
void hp_runtime_add(struct hp_report *report, struct cJSON *to);

#endif
