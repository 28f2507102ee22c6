/* SPDX-License-Identifier: MIT */
/*
 * top.h - the first rows of a list in order, without sorting the others.
 */
#ifndef HP_REPORT_BASE_TOP_H
#define HP_REPORT_BASE_TOP_H

#include <stddef.h>

/*
 * Moves the first `most` rows of the sorted order to the front, sorted; the
 * rest are unordered.  `compare` gets two places in `rows`, as qsort_r's.
 */
void hp_top_sort(const void **rows, size_t count, size_t most,
		 int (*compare)(const void *left, const void *right, void *context), void *context);

#endif
