/* SPDX-License-Identifier: MIT */
/*
 * policy.h - which changes are too large: a file with one rule per line.
 *
 *	# section          function        metric      limit
 *	functions-timing   parse*          calls       0%
 *	alloc              *               blocks      5%
 *	total              -               wall        10%
 *	alloc              cache_fill      bytes       +64K
 *
 * A limit is by how much B may exceed A: in percent of A, or as an absolute number after a +,
 * with K, M or G for 1024 and so on, or a time with ns, us, ms or s.  "off" exempts a row.
 * The first line that matches a row decides.  `*` in a function stands for any text, `-` for the
 * whole run.  Times that are not judged never fail.
 */
#ifndef HP_REPORT_COMPARE_POLICY_H
#define HP_REPORT_COMPARE_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "report/compare/compare.h"

struct hp_policy_rule {
	const char *section, *function, *metric;	/* in the policy's text */
	double limit;	/* percent, or in the metric's unit */
	bool is_percent;
	bool is_off;
};

struct hp_policy {
	char *text;
	struct hp_policy_rule *rules;
	size_t count, room;
};

/* A failure is reported in one line on stderr, and then the policy is empty. */
bool hp_policy_read(struct hp_policy *policy, const char *path);
void hp_policy_release(struct hp_policy *policy);

/* The rule that decides on the row; NULL = none. */
const struct hp_policy_rule *hp_policy_of(const struct hp_policy *policy,
					  const struct hp_compare_row *row);

/* True if the row grew by more than its rule allows. */
bool hp_policy_fails(const struct hp_policy_rule *rule, const struct hp_compare_row *row);

#endif
