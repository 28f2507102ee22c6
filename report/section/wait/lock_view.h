/* SPDX-License-Identifier: MIT */
/*
 * lock_view.h - shared by the files that show a report's locks.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_VIEW_H
#define HP_REPORT_SECTION_WAIT_LOCK_VIEW_H

#include "report/section/wait/lock_section.h"

struct hp_lock_view {
	struct hp_locks locks;
	char **names;	/* parallel to locks.rows; NULL = not requested yet */
	struct hp_lock_line *lines;	/* of all sides that were used */
	size_t line_count;
	struct hp_lock_waiting *waits;
	size_t wait_count;
	struct hp_lock_cycle *cycles;
	size_t cycle_count;
};

#endif
