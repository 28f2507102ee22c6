/* SPDX-License-Identifier: MIT */
/*
 * leak.c - small blocks that are sometimes freed, but often not.
 */
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/site.h"
#include "report/section/memory/view.h"

#define BLOCKS_MIN 1000	/* that live at the end */
#define BLOCK_SIZE_MAX 4096	/* bytes, on average */
#define BYTES_MIN (1 << 20)
#define PEAK_MIN 0.1 /* of the heap's peak */
#define FREED_MIN 0.3 /* of the path's blocks */
#define AGES_MIN 8 /* sampled blocks that were freed, to know how long blocks live */
#define CACHE_MAX 4 /* times as many blocks as live at once in a steady state: still a cache */
#define CLASS_TICKS 1024.0 /* ages up to this and its doubles */
#define CLASS_MEAN 0.75 /* of a class's end, on average */
#define LOST_MIN 0.5 /* of those that live: nothing points to them */

static bool is_large(const struct hp_survey *survey, uint64_t blocks, uint64_t bytes)
{
	return blocks >= BLOCKS_MIN && bytes >= BYTES_MIN && bytes / blocks <= BLOCK_SIZE_MAX &&
	       (double)bytes >= PEAK_MIN * (double)survey->answer->heap_peak;
}

/* The mean age of freed blocks, from a sample; 0 = too few are known. */
static double age_ns(struct hp_survey *survey, const struct hp_alloc_row *row)
{
	struct hp_alloc_sampled sampled = hp_alloc_row_sampled(survey->report, row);
	double ticks = 0, end = CLASS_TICKS, count = 0;

	for (int i = 0; i < HP_LIFE_CLASSES; i++, end *= 2) {
		count += (double)sampled.lives[i];
		ticks += (double)sampled.lives[i] * CLASS_MEAN * end;
	}
	return count < AGES_MIN ? 0 : ticks / count * survey->report->model.ns_per_tick;
}

/*
 * In a steady state, as in a cache that drops its oldest blocks, as many blocks live as are made
 * during the life of one (Little's law). With a leak, many more live: the blocks that are freed are
 * freed early.
 */
static bool is_cache(struct hp_survey *survey, const struct hp_alloc_row *row,
		     const struct hp_alloc_sum *sum, uint64_t live)
{
	double made = (double)(sum->count - sum->temporary);
	double steady = made * age_ns(survey, row) / survey->wall_ns;

	return (double)live <= CACHE_MAX * steady;
}

/* Blocks that nothing points to are lost; others may be a cache. */
static bool is_leak(struct hp_survey *survey, const struct hp_alloc_row *row,
		    const struct hp_alloc_sum *sum)
{
	uint64_t live = sum->live > 0 ? (uint64_t)sum->live : 0;
	uint64_t bytes = sum->live_bytes > 0 ? (uint64_t)sum->live_bytes : 0;

	if (!is_large(survey, live, bytes))
		return false;
	if (hp_site_knows_lost(survey))
		return (double)sum->lost >= LOST_MIN * (double)live;
	if (is_cache(survey, row, sum, live))
		return false;
	return (double)sum->frees >= FREED_MIN * (double)sum->count;
}

static void site_add(struct hp_survey *survey, struct hp_alloc_row *row,
		     const struct hp_alloc_sum *sum)
{
	struct hp_finding *finding =
		hp_finding_add(survey, &hp_rule_leak, hp_site_name(survey, row));
	struct hp_text_cell live, all, bytes, lost;
	bool is_known = hp_site_knows_lost(survey);

	finding->advice = hp_xprintf("Free the blocks of %s when they are no longer needed.",
				     finding->subject);
	finding->facts = hp_xprintf("%s of %s blocks were not freed, %s%s%s%s",
				    hp_format_count(&live, (uint64_t)sum->live),
				    hp_format_count(&all, sum->count),
				    hp_format_bytes(&bytes, (uint64_t)sum->live_bytes),
				    is_known ? "; nothing points to " : "",
				    is_known ? hp_format_count(&lost, sum->lost) : "",
				    is_known ? " of them" : "");
	finding->gain_bytes = (uint64_t)sum->live_bytes;
	finding->confidence = is_known ? HP_MEASURED : HP_LIKELY;
	hp_finding_evidence(finding, &hp_leaks_section, hp_site_row(survey, row),
			    hp_xstrdup(finding->facts));
}

static void find(struct hp_survey *survey)
{
	size_t count = survey->report->record.is_live ? 0 : hp_site_count(survey);
	const struct hp_alloc_sum *sum;

	for (size_t i = 0; i < count; i++) {
		struct hp_alloc_row *row = hp_site_at(survey, i, &sum);

		if (is_leak(survey, row, sum) && hp_site_is_named(survey, row))
			site_add(survey, row, sum);
	}
}

const struct hp_rule hp_rule_leak = {
	.key = "leak",
	.find = find,
	.after = "alloc-churn", /* a container that only grows makes everything slower */
	.pattern =
		"One call path has at least 1,000 live blocks of at most 4 KB at the end, 1 MB and "
		"10% of the heap's peak in all; at least 30% of its blocks were freed, so the "
		"program normally frees them; and more than 4 times as many live as are made in the "
		"mean life of a freed one, which is how a cache differs.  If blocks were checked "
		"for pointers to them (--report leaks), half of those that live are lost instead.",
	.wrong = "It is a cache, or the blocks are left to the process's end on purpose.",
	.verify = "Run it twice as long: a leak grows, a cache does not.  hotpath report --report "
		  "leaks shows the paths.",
};
