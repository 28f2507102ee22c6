/* SPDX-License-Identifier: MIT */
/*
 * name.c - how names are shortened in the default report and in findings.
 */
#include "report/name/name.h"

#include <stdlib.h>

#include "report/section/answer/answer.h"

char *hp_answer_name(const struct hp_report *report, const char *name)
{
	char *last = hp_name_short(name, (size_t)report->settings->name_depth);
	char *plain = hp_name_plain(last);

	free(last);
	return plain;
}
