/* SPDX-License-Identifier: MIT */
/*
 * exposition.h - writes metric families in the Prometheus format.
 *
 *   hp_family_begin, then hp_sample or hp_spread for each series
 *
 * A family's header is written with its first series, so families without data
 * are omitted. Label values are escaped here: names of functions, locks and
 * threads are untrusted.
 */
#ifndef HP_LIVE_EXPORT_EXPOSITION_H
#define HP_LIVE_EXPORT_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "report/base/map.h"
#include "report/read/model.h"
#include "segment/layout/lock.h"

#define HP_BOUNDS_MAX 64

/* UNKNOWN: a number whose name is written as it is. */
enum hp_family_kind { HP_FAMILY_COUNTER, HP_FAMILY_GAUGE, HP_FAMILY_HISTOGRAM, HP_FAMILY_UNKNOWN };

struct hp_label_pair {
	const char *name;
	const char *value;
};

/* Upper bounds of buckets, ascending, seconds. */
struct hp_bounds {
	size_t count;
	double at[HP_BOUNDS_MAX];
};

struct hp_exposition {
	FILE *out;
	bool is_openmetrics;
	const char *name;	/* of the family; a counter's without _total */
	const char *help;
	enum hp_family_kind kind;
	bool has_head;
	struct hp_map seen;	/* hashes of the family's label sets */
};

/* Values of a histogram: `zeros` are further values of 0; NULL groups are empty. */
struct hp_values {
	const struct hp_histogram *histogram;
	double unit; /* seconds, or other units of the family, of each counted one */
	uint64_t zeros;
};

/* The default ones if `text` is NULL or not ascending numbers. */
void hp_bounds_init(struct hp_bounds *bounds, const char *text, const double *usual, size_t count);

void hp_exposition_init(struct hp_exposition *to, FILE *out, bool is_openmetrics);
void hp_exposition_finish(struct hp_exposition *to);

void hp_family_begin(struct hp_exposition *to, enum hp_family_kind kind, const char *name,
		     const char *help);

/* Writes one series; `labels` end with a NULL name. A series with repeated labels is omitted. */
void hp_sample(struct hp_exposition *to, const struct hp_label_pair *labels, double value);
void hp_spread(struct hp_exposition *to, const struct hp_label_pair *labels,
	       const struct hp_values *values, const struct hp_bounds *bounds);

#endif
