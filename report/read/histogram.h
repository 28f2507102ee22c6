/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - counts of values by bucket (segment/histogram.h), small while there are few values:
 * most locks of a large program have been held once or twice.
 */
#ifndef HP_REPORT_READ_HISTOGRAM_H
#define HP_REPORT_READ_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/* All zero = empty. */
struct hp_histogram {
	uint64_t total;	/* values */
	uint64_t *few;	/* `total` values one by one; NULL = counted in groups */
	uint64_t **groups;	/* HP_GROUPS of them, each NULL or HP_GROUP_SIZE counters; NULL = none */
};

/* The counters of a group, NULL = none; without few values. */
static inline uint64_t *hp_histogram_counters(const struct hp_histogram *histogram, unsigned group)
{
	return histogram->groups ? histogram->groups[group] : NULL;
}

/* The same with few values: these are counted in `room`. */
const uint64_t *hp_histogram_see(const struct hp_histogram *histogram, unsigned group,
				 uint64_t room[HP_GROUP_SIZE]);

/* Counters to change, few values included; the caller adds to `total`. */
uint64_t *hp_histogram_group(struct hp_histogram *histogram, unsigned group);

void hp_histogram_add(struct hp_histogram *histogram, uint64_t value);

/* Empties `from`. */
void hp_histogram_move(struct hp_histogram *to, struct hp_histogram *from);

/* The middle of the bucket that holds the value of this rank (from 1); UINT64_MAX = none does. */
uint64_t hp_histogram_value(const struct hp_histogram *histogram, uint64_t rank);

/* Leaves it empty. */
void hp_histogram_release(struct hp_histogram *histogram);

#endif
