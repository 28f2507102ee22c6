/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - bucket of a value, value of a bucket.
 *
 * Log-linear, as in HdrHistogram (Tene, "HdrHistogram: A High Dynamic Range
 * Histogram"): 64 buckets for each power of two.  Group 0 holds 0..63 one by
 * one; group g >= 1 holds [2^(g+5), 2^(g+6)) in steps of 2^(g-1).  Writers and
 * readers share this file, so they cannot disagree.
 */
#ifndef HP_SEGMENT_HISTOGRAM_H
#define HP_SEGMENT_HISTOGRAM_H

#include "segment/layout/header.h"

/* The group that counts `value`: 0 .. HP_GROUPS - 1. */
static inline unsigned hp_bucket_group(uint64_t value)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll(value | (HP_GROUP_SIZE - 1));

	return octave - (HP_GROUP_BITS - 1);
}

/* Its place in that group: 0 .. HP_GROUP_SIZE - 1. */
static inline unsigned hp_bucket_place(uint64_t value, unsigned group)
{
	unsigned shift = group ? group - 1 : 0;

	return (unsigned)(value >> shift) & (HP_GROUP_SIZE - 1);
}

/* Least value of a bucket, and how many values it holds. */
static inline uint64_t hp_bucket_least(unsigned group, unsigned place)
{
	if (group == 0)
		return place;
	return (uint64_t)(HP_GROUP_SIZE + place) << (group - 1);
}

static inline uint64_t hp_bucket_width(unsigned group)
{
	return group ? UINT64_C(1) << (group - 1) : 1;
}

/* The value reported for a bucket: its middle, within 1/128 of every value in it. */
static inline uint64_t hp_bucket_value(unsigned group, unsigned place)
{
	return hp_bucket_least(group, place) + hp_bucket_width(group) / 2;
}

#endif
