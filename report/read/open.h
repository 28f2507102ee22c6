/* SPDX-License-Identifier: MIT */
/*
 * open.h - time of open calls until the end, or until now.
 */
#ifndef HP_REPORT_READ_OPEN_H
#define HP_REPORT_READ_OPEN_H

#include "report/base/map.h"
#include "report/read/model.h"

/* The open calls of a row. */
struct hp_open {
	double calls;
	double self;	/* ticks, without instrumented callees */
	double outer;	/* ticks of calls not nested in another call of the function */
	double late_self;	/* of these, at most so many passed after their process was killed */
	double late_outer;
};

struct hp_opens {
	struct hp_map rows;	/* offset -> place + 1 */
	struct hp_open *opens;
	size_t count;
	size_t room;
};

/* The model knows all records.  `now` is the last moment known, in ticks. */
void hp_opens_init(struct hp_opens *opens, struct hp_model *model, uint64_t now);
void hp_opens_release(struct hp_opens *opens);

/* The open calls of the row at an offset; NULL = none. */
const struct hp_open *hp_opens_find(const struct hp_opens *opens, uint64_t row);

#endif
