/* SPDX-License-Identifier: MIT */
/*
 * lock_sum.c - see lock_sum.h.
 */
#include "report/read/lock_sum.h"

#include <math.h>

#include "report/base/memory.h"
#include "segment/histogram.h"
#include "segment/layout/lock.h"

void hp_lock_spread_add(struct hp_model *model, struct hp_model_histogram *histogram,
			uint32_t place)
{
	struct hp_reader *reader = &model->reader;
	struct hp_spread spread;

	if (!place || !hp_reader_copy(reader, (uint64_t)place * HP_LINE, &spread, sizeof(spread)))
		return;
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_reader_see(
			reader, (uint64_t)spread.groups[group] * HP_LINE, HP_GROUP_SIZE * 8);

		if (!counters)
			continue;
		if (!histogram->groups[group])
			histogram->groups[group] = hp_xcalloc(HP_GROUP_SIZE, sizeof(uint64_t));
		for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
			uint64_t count = *(const volatile uint64_t *)&counters[i];

			histogram->groups[group][i] += count;
			histogram->total += count;
		}
	}
}

/* The middle of the bucket that holds the value of this rank (from 1). */
static double value_at(const struct hp_model_histogram *histogram, uint64_t rank)
{
	for (unsigned group = 0; group < HP_GROUPS; group++)
		for (unsigned i = 0; histogram->groups[group] && i < HP_GROUP_SIZE; i++) {
			uint64_t count = histogram->groups[group][i];

			if (count >= rank)
				return (double)hp_bucket_value(group, i);
			rank -= count;
		}
	return -1;
}

static uint64_t rank_of(uint64_t total, double percent)
{
	uint64_t rank = (uint64_t)ceil(percent / 100 * (double)total - 1e-6);

	return rank < 1 ? 1 : rank > total ? total : rank;
}

double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent)
{
	uint64_t rank, at_once;
	double ticks;

	if (!sum->count)
		return -1;
	rank = rank_of(sum->count, percent);
	at_once = sum->count > sum->waits.total ? sum->count - sum->waits.total : 0;
	if (rank <= at_once)
		return 0;
	if (percent >= 100)
		return (double)sum->wait_most;
	ticks = value_at(&sum->waits, rank - at_once);
	return ticks < (double)sum->wait_most ? ticks : (double)sum->wait_most;
}

double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent)
{
	double ticks;

	if (!sum->holds.total)
		return -1;
	if (percent >= 100)
		return (double)sum->hold_most;
	ticks = value_at(&sum->holds, rank_of(sum->holds.total, percent));
	return ticks < (double)sum->hold_most ? ticks : (double)sum->hold_most;
}
