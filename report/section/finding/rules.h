/* SPDX-License-Identifier: MIT */
/*
 * rules.h - the list of all rules.  A new one is a file with its hp_rule_NAME, and a line here.
 */
#ifndef HP_REPORT_SECTION_FINDING_RULES_H
#define HP_REPORT_SECTION_FINDING_RULES_H

#include "report/section/finding/rule.h"

#define HP_RULES(X) \
	X(lock_across_io) \
	X(lock_contention) \
	X(library_lock) \
	X(disk_per_record) \
	X(waits_for_children) \
	X(waits_for_threads) \
	X(process_per_item) \
	X(thread_per_item) \
	X(queue_full) \
	X(queue_empty) \
	X(one_busy_thread) \
	X(linear_search) \
	X(moves_elements) \
	X(sorts_again) \
	X(string_scan) \
	X(copies_values) \
	X(copies) \
	X(clears) \
	X(prepare_per_item) \
	X(exceptions) \
	X(connect_per_item) \
	X(open_per_item) \
	X(small_io) \
	X(call_per_item) \
	X(map_per_item) \
	X(formats_text) \
	X(reserves_again) \
	X(alloc_churn) \
	X(leak) \
	X(page_faults) \
	X(imbalance) \
	X(oversubscribed) \
	X(wakes_many) \
	X(hand_over_per_item) \
	X(yield_spin) \
	X(spin) \
	X(busy_wait) \
	X(busy_poll) \
	X(delayed_ack) \
	X(socket_io) \
	X(recursion) \
	X(gil) \
	X(sleeps) \
	X(timed_waits) \
	X(loop_lag) \
	X(peak)

#define HP_RULE_EXTERN(name) extern const struct hp_rule hp_rule_##name;
HP_RULES(HP_RULE_EXTERN)
#undef HP_RULE_EXTERN

#endif
