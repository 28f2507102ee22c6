/* SPDX-License-Identifier: MIT */
/*
 * trend.h - a program's usage in recent intervals: CPU, allocated bytes, its
 * threads' wait for locks.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TREND_H
#define HP_LIVE_CONSOLE_STATE_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define HP_TREND_MAX 512	/* intervals that are kept */

enum hp_trend_line { HP_TREND_CPU, HP_TREND_BYTES, HP_TREND_WAIT, HP_TREND_LINES };

struct hp_trend {
	double at[HP_TREND_LINES][HP_TREND_MAX];	/* a ring; NAN = not known */
	size_t next;
	size_t count;
	double uptime_ns, cpu_ns, wait_ns;	/* of the last answer; < 0 = none */
};

void hp_trend_init(struct hp_trend *trend);

/* Add our /profiler_status, or the Rust crate's /threads, which has no sums. */
void hp_trend_add_status(struct hp_trend *trend, const struct cJSON *status);
void hp_trend_add_threads(struct hp_trend *trend, const struct cJSON *threads);

/* Does this status have the values for a trend? */
bool hp_trend_is_in(const struct cJSON *status);

/*
 * `back` intervals ago, 0 = the last one; NAN = not known.  CPU and waits in
 * percent of one core or thread, else bytes.
 */
double hp_trend_at(const struct hp_trend *trend, enum hp_trend_line line, size_t back);

/* The largest of the last `count` values; 0 = none known. */
double hp_trend_most(const struct hp_trend *trend, enum hp_trend_line line, size_t count);

#endif
