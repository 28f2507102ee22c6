/* SPDX-License-Identifier: MIT */
/*
 * tab_part.h - macros for the tables of views; private to tab*.c.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TAB_PART_H
#define HP_LIVE_CONSOLE_STATE_TAB_PART_H

#include "live/console/state/tab.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIELDS(array) .fields = array, .field_count = COUNT(array)
#define LOGS(path, array, ...) \
	.logs = path, .log_rows = { __VA_ARGS__ }, .log_fields = array, \
	.log_field_count = COUNT(array)
#define DATA .rows = { "data" }, .raw = { "raw" }

extern const struct hp_tab hp_tab_table[HP_TAB_COUNT];

extern const struct hp_view *const hp_memory_views[];
extern const struct hp_view *const hp_wait_views[];
extern const struct hp_view *const hp_answer_views[];

#endif
