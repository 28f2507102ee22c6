/* SPDX-License-Identifier: MIT */
/*
 * size.h - how large the program was, over time, as far as the helper looked.
 */
#ifndef HP_REPORT_READ_SIZE_H
#define HP_REPORT_READ_SIZE_H

#include "report/read/model.h"

struct hp_size_moment {
	uint64_t ns;	/* since the session's start */
	uint64_t rss_bytes;	/* of all its processes together */
	uint64_t live_bytes;	/* of the blocks that they held; 0 = none, or not recorded */
};

/* Fresh, in the order of time; NULL and 0 = nothing is known. */
struct hp_size_moment *hp_sizes_read(const struct hp_model *model, size_t *count);

/* How many bytes were held over time, a character each moment, fresh; NULL = too few moments. */
char *hp_sizes_live_text(const struct hp_model *model);

#endif
