/* SPDX-License-Identifier: MIT */
/*
 * input.h - opens the input of a report: a kept run or a segment, in a file or
 * a pipe.
 */
#ifndef HP_REPORT_STORE_INPUT_H
#define HP_REPORT_STORE_INPUT_H

#include <stdbool.h>

#include "report/section/core/facts.h"
#include "report/section/core/report.h"

struct hp_input {
	struct hp_segment segment;	/* hp_report_init takes it over */
	struct hp_facts facts;
	struct hp_record record;
	char *file;	/* the name of a kept run chosen by default; NULL = named explicitly */
};

/*
 * `path` is a file, "-" (stdin), or NULL for the newest kept run. If that file
 * doesn't exist, it may be a kept run's name, its pid, or its program's name.
 * On failure `complain` gets one line and `input` holds nothing.
 */
bool hp_input_open(struct hp_input *input, const char *path, hp_complain complain, void *context);

/* A hp_complain: "hotpath: LINE" on stderr. */
void hp_input_say(void *context, const char *line);

void hp_input_release(struct hp_input *input);

#endif
