/* SPDX-License-Identifier: MIT */
/*
 * size.h - the program's size over time, as sampled by the helper.
 */
#ifndef HP_REPORT_READ_SIZE_H
#define HP_REPORT_READ_SIZE_H

#include "report/read/model.h"

struct hp_size_moment {
	uint64_t ns;	/* since the session's start */
	uint64_t rss_bytes;	/* of all its processes together */
	uint64_t live_bytes;	/* of allocated blocks; 0 = none, or not recorded */
};

/* Descriptors that were open in all processes together at the last scan. */
struct hp_size_descriptors {
	uint32_t last;	/* 0 = unknown */
	uint32_t most;	/* that a scan found */
};

struct hp_size_descriptors hp_model_descriptors(const struct hp_model *model);

/* Fresh, in time order; NULL and 0 = no data. */
struct hp_size_moment *hp_sizes_read(const struct hp_model *model, size_t *count);

/* Allocated bytes over time, one character per moment, fresh; NULL = too few moments. */
char *hp_sizes_live_text(const struct hp_model *model);

#endif
