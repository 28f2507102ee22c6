/* SPDX-License-Identifier: MIT */
/*
 * trend.c - see trend.h.
 *
 * Rates are differences between two answers divided by the difference of their
 * uptimes, so a late answer causes no dip. If the uptime did not advance
 * between two answers, nothing is added.
 */
#include "live/console/state/trend.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "live/console/state/cell.h"
#include "live/console/state/text.h"

void hp_trend_init(struct hp_trend *trend)
{
	*trend = (struct hp_trend){ .uptime_ns = -1, .cpu_ns = -1, .wait_ns = -1 };
}

static void add(struct hp_trend *trend, double cpu, double bytes, double wait)
{
	trend->at[HP_TREND_CPU][trend->next] = cpu;
	trend->at[HP_TREND_BYTES][trend->next] = bytes;
	trend->at[HP_TREND_WAIT][trend->next] = wait;
	trend->next = (trend->next + 1) % HP_TREND_MAX;
	if (trend->count < HP_TREND_MAX)
		trend->count++;
}

static double number_at(const cJSON *object, const char *key)
{
	const cJSON *value = hp_json_at(object, key);
	double number;

	if (cJSON_IsNumber(value))
		return value->valuedouble;
	return cJSON_IsString(value) && hp_console_number(value->valuestring, &number) ? number
										       : NAN;
}

bool hp_trend_is_in(const cJSON *status)
{
	return !isnan(number_at(status, "cpu_ns")) && !isnan(number_at(status, "uptime_ns"));
}

/* Percent of the time between the answers. */
static double rate(double now, double before, double ns)
{
	if (isnan(now) || before < 0 || now < before)
		return NAN;
	return (now - before) / ns * 100;
}

void hp_trend_add_status(struct hp_trend *trend, const cJSON *status)
{
	double uptime = number_at(status, "uptime_ns"), ns = uptime - trend->uptime_ns;
	double cpu = number_at(status, "cpu_ns"), wait = number_at(status, "lock_wait_ns");

	if (isnan(uptime) || (trend->uptime_ns >= 0 && !(ns > 0)))
		return;
	if (trend->uptime_ns >= 0)
		add(trend, rate(cpu, trend->cpu_ns, ns), number_at(status, "live_bytes"),
		    rate(wait, trend->wait_ns, ns));
	trend->uptime_ns = uptime;
	trend->cpu_ns = isnan(cpu) ? -1 : cpu;
	trend->wait_ns = isnan(wait) ? -1 : wait;
}

void hp_trend_add_threads(struct hp_trend *trend, const cJSON *threads)
{
	double uptime = number_at(threads, "current_elapsed_ns"), sum = 0;
	const cJSON *thread;

	if (!(uptime > trend->uptime_ns))
		return;
	trend->uptime_ns = uptime;
	cJSON_ArrayForEach(thread, hp_json_at(threads, "data"))
	{
		double load = number_at(thread, "cpu_percent");

		sum += isnan(load) ? 0 : load;
	}
	add(trend, sum, number_at(threads, "alloc_dealloc_diff"), NAN);
}

double hp_trend_at(const struct hp_trend *trend, enum hp_trend_line line, size_t back)
{
	if (back >= trend->count)
		return NAN;
	return trend->at[line][(trend->next + HP_TREND_MAX - 1 - back) % HP_TREND_MAX];
}

double hp_trend_most(const struct hp_trend *trend, enum hp_trend_line line, size_t count)
{
	double most = 0;

	for (size_t back = 0; back < count && back < trend->count; back++) {
		double value = hp_trend_at(trend, line, back);

		if (value > most)
			most = value;
	}
	return most;
}
