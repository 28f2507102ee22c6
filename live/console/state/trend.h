/* SPDX-License-Identifier: MIT */
/*
 * trend.h - what a program used in each interval of late: CPU, bytes that it
 * holds, time that its threads waited for locks.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TREND_H
#define HP_LIVE_CONSOLE_STATE_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define HP_TREND_MOST 512	/* intervals that are kept */

enum hp_trend_line { HP_TREND_CPU, HP_TREND_BYTES, HP_TREND_WAIT, HP_TREND_LINES };

struct hp_trend {
	double at[HP_TREND_LINES][HP_TREND_MOST];	/* a ring; NAN = not known */
	size_t next;
	size_t count;
	double uptime_ns, cpu_ns, wait_ns;	/* of the last answer; < 0 = none */
};

void hp_trend_init(struct hp_trend *trend);

/* Of our /profiler_status; and of the Rust crate's /threads, which has no sums. */
void hp_trend_add_status(struct hp_trend *trend, const struct cJSON *status);
void hp_trend_add_threads(struct hp_trend *trend, const struct cJSON *threads);

/* Does this status have what a trend needs? */
bool hp_trend_is_in(const struct cJSON *status);

/*
 * `back` intervals ago, 0 = the last one; NAN = not known.  CPU and waits in
 * percent of one core or thread, else bytes.
 */
double hp_trend_at(const struct hp_trend *trend, enum hp_trend_line line, size_t back);

/* The largest of the last so many; 0 = none is known. */
double hp_trend_most(const struct hp_trend *trend, enum hp_trend_line line, size_t count);

#endif
