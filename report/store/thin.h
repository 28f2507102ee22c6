/* SPDX-License-Identifier: MIT */
/*
 * thin.h - finds the parts of a segment that no report shows, so that they need
 * not be kept.
 *
 * With many threads most of a segment is redundant: each thread has a
 * histogram, the slowest and the last calls of each function, and the report
 * has one of each. So a kept segment has, of all records of a function,
 *
 *   the last calls that are among the newest of them all: as many as one thread
 *   keeps (`logs_limit`), or as a report shows,
 *   the slowest that are among the slowest HP_SLOWEST of them all,
 *   one histogram, in one of its records: the sum,
 *
 * and no frames of a thread without open calls.  It is a normal segment, and
 * its report is the same.  (64 threads x 1000 functions: 178 MB become 19.)
 */
#ifndef HP_REPORT_STORE_THIN_H
#define HP_REPORT_STORE_THIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/model.h"

/* Longest record that is changed. */
#define HP_THIN_RECORD_MAX (HP_LOGS_MAX * sizeof(struct hp_call) + HP_LINE)

struct hp_thin {
	const struct hp_model *model;
	uint32_t *marks;	/* by offset / HP_LINE; 0 = kept as it is */
	uint64_t lines;	/* how many there are */
	struct hp_thin_function *functions;	/* beside model->functions */
	char *more;	/* new records: the sums */
	size_t more_size;
	size_t more_room;
	uint64_t end;	/* offset of the first of them */
};

void hp_thin_init(struct hp_thin *thin, const struct hp_model *model);
void hp_thin_release(struct hp_thin *thin);

/* True if the line at `offset` is left out. */
bool hp_thin_drops(const struct hp_thin *thin, uint64_t offset);

/*
 * If a changed record begins at `offset`, writes it to `copy`
 * (HP_THIN_RECORD_MAX bytes) and returns its size, a multiple of HP_LINE; else
 * 0.
 */
size_t hp_thin_copy(const struct hp_thin *thin, uint64_t offset, char *copy);

#endif
