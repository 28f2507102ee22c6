/* SPDX-License-Identifier: MIT */
/*
 * exposition.c - see exposition.h.  Formats: prometheus.io/docs/instrumenting/exposition_formats,
 * and OpenMetrics 1.0 (there a counter's family has no _total, and an end marker is required).
 */
#include "live/export/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "segment/histogram.h"
#include "util/hash.h"

static const char *const kind_names[] = { "counter", "gauge", "histogram", "unknown" };

/* Digits and a dot, whatever the locale. */
static bool bound_read(const char **at, double *bound)
{
	double number = 0, scale = 1;
	const char *c = *at;

	for (; *c >= '0' && *c <= '9'; c++)
		number = number * 10 + (*c - '0');
	for (c += *c == '.'; *c >= '0' && *c <= '9'; c++)
		number += (*c - '0') * (scale /= 10);
	if (c == *at)
		return false;
	*at = c;
	*bound = number;
	return true;
}

static bool bounds_read(struct hp_bounds *bounds, const char *text)
{
	bounds->count = 0;
	while (text && *text && bounds->count < HP_BOUNDS_MAX) {
		double *bound = &bounds->at[bounds->count];

		if (!bound_read(&text, bound) || (bounds->count && *bound <= bound[-1]) ||
		    (*text && *text != ','))
			return false;
		bounds->count++;
		text += *text == ',';
	}
	return bounds->count > 0;
}

void hp_bounds_init(struct hp_bounds *bounds, const char *text, const double *usual, size_t count)
{
	if (bounds_read(bounds, text))
		return;
	memcpy(bounds->at, usual, count * sizeof(*usual));
	bounds->count = count;
}

void hp_exposition_init(struct hp_exposition *to, FILE *out, bool is_openmetrics)
{
	*to = (struct hp_exposition){ .out = out, .is_openmetrics = is_openmetrics };
}

void hp_exposition_finish(struct hp_exposition *to)
{
	if (to->is_openmetrics)
		fputs("# EOF\n", to->out);
	hp_map_release(&to->seen);
}

void hp_family_begin(struct hp_exposition *to, enum hp_family_kind kind, const char *name,
		     const char *help)
{
	to->name = name;
	to->help = help;
	to->kind = kind;
	to->has_head = false;
	hp_map_clear(&to->seen);
}

/* --- texts --- */

static void value_write(struct hp_exposition *to, const char *value)
{
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			fputc('\\', to->out);
		if (*value == '\n')
			fputs("\\n", to->out);
		else
			fputc(*value, to->out);
	}
}

/* `le` is the bound of a bucket, NULL = not a bucket. */
static void labels_write(struct hp_exposition *to, const struct hp_label_pair *labels,
			 const char *le)
{
	const char *gap = "{";

	for (; labels && labels->name; labels++, gap = ",") {
		fprintf(to->out, "%s%s=\"", gap, labels->name);
		value_write(to, labels->value ? labels->value : "");
		fputc('"', to->out);
	}
	if (le)
		fprintf(to->out, "%sle=\"%s\"", gap, le);
	if (le || *gap == ',')
		fputc('}', to->out);
}

/* The shortest representation of the number. */
static const char *number_text(char room[40], double number)
{
	if (number >= 0 && number < 1e15 && number <= floor(number))
		snprintf(room, 40, "%.0f", number);
	else
		snprintf(room, 40, "%.9g", number);
	return room;
}

/* --- series --- */

static bool is_new(struct hp_exposition *to, const struct hp_label_pair *labels)
{
	uint64_t hash = 29;
	bool is_first;

	for (; labels && labels->name; labels++)
		hash = hp_fnv_text(hash, labels->value ? labels->value : "");
	hp_map_at(&to->seen, hash | 1, &is_first);
	return is_first;
}

static bool series_begin(struct hp_exposition *to, const struct hp_label_pair *labels)
{
	const char *total = to->kind == HP_FAMILY_COUNTER && !to->is_openmetrics ? "_total" : "";

	if (!is_new(to, labels))
		return false;
	if (!to->has_head)
		fprintf(to->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", to->name, total, to->help,
			to->name, total, kind_names[to->kind]);
	return to->has_head = true;
}

void hp_sample(struct hp_exposition *to, const struct hp_label_pair *labels, double value)
{
	char room[40];

	if (!series_begin(to, labels))
		return;
	fprintf(to->out, "%s%s", to->name, to->kind == HP_FAMILY_COUNTER ? "_total" : "");
	labels_write(to, labels, NULL);
	fprintf(to->out, " %s\n", number_text(room, value));
}

/* The number of values in each bucket, the last beyond all bounds; and their sum. */
static double spread_count(const struct hp_values *values, const struct hp_bounds *bounds,
			   uint64_t *counts)
{
	uint64_t room[HP_GROUP_SIZE];
	double sum = 0;

	counts[0] += values->zeros;
	for (unsigned g = 0; g < HP_GROUPS; g++) {
		const uint64_t *group = hp_histogram_see(values->histogram, g, room);

		for (unsigned i = 0; group && i < HP_GROUP_SIZE; i++) {
			double value = (double)hp_bucket_value(g, i) * values->unit;
			size_t at = 0;

			while (group[i] && at < bounds->count && value > bounds->at[at])
				at++;
			counts[at] += group[i];
			sum += (double)group[i] * value;
		}
	}
	return sum;
}

static void spread_line(struct hp_exposition *to, const struct hp_label_pair *labels,
			const char *suffix, const char *le, double value)
{
	char room[40];

	fprintf(to->out, "%s%s", to->name, suffix);
	labels_write(to, labels, le);
	fprintf(to->out, " %s\n", number_text(room, value));
}

void hp_spread(struct hp_exposition *to, const struct hp_label_pair *labels,
	       const struct hp_values *values, const struct hp_bounds *bounds)
{
	uint64_t counts[HP_BOUNDS_MAX + 1] = { 0 }, below = 0;
	double sum = spread_count(values, bounds, counts);
	char room[40];

	if (!series_begin(to, labels))
		return;
	for (size_t i = 0; i < bounds->count; i++) {
		below += counts[i];
		snprintf(room, sizeof(room), "%.12g", bounds->at[i]);
		spread_line(to, labels, "_bucket", room, (double)below);
	}
	below += counts[bounds->count];
	spread_line(to, labels, "_bucket", "+Inf", (double)below);
	spread_line(to, labels, "_sum", NULL, sum);
	spread_line(to, labels, "_count", NULL, (double)below);
}
