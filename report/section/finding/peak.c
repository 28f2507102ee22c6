/* SPDX-License-Identifier: MIT */
/*
 * peak.c - one call path holds most of the memory at the peak.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/site.h"

#define HEAP_MIN (UINT64_C(100) << 20)
#define PATH_MIN 0.4 /* of the heap's peak */
#define RSS_MIN 0.7 /* of the heap's peak: requested memory was used */
#define LEFT_MIN 0.9 /* of the path's bytes at the peak: it was not freed before the end */

static char *advice_of(const char *path, bool is_left)
{
	return is_left ? hp_xprintf("Free what %s allocates when it is no longer needed, or hold "
				    "less at once: most of the memory at the peak is from there, "
				    "and was not freed.",
				    path)
		       : hp_xprintf("Hold less at once: %s holds most of the memory at its peak.",
				    path);
}

static char *facts_of(const struct hp_alloc_sum *sum, uint64_t heap, uint64_t rss, bool is_left)
{
	struct hp_text_cell bytes, all, resident, blocks;
	char *left = is_left ? hp_xprintf(" in %s blocks that were not freed",
					  hp_format_count(&blocks, (uint64_t)sum->live))
			     : hp_xstrdup("");
	char *text = hp_xprintf("%s of %s on the heap%s; peak RSS %s",
				hp_format_bytes(&bytes, (uint64_t)sum->peak_bytes),
				hp_format_bytes(&all, heap), left, hp_format_bytes(&resident, rss));

	free(left);
	return text;
}

static void find(struct hp_survey *survey)
{
	const struct hp_alloc_sum *sum;
	struct hp_alloc_row *row = hp_site_most(survey, HP_SITE_PEAK, &sum);
	uint64_t heap = survey->answer->heap_peak;
	uint64_t rss = survey->report->model.peak_rss_kb * 1024;
	struct hp_finding *finding;
	bool is_left;

	if (!row || !hp_site_is_named(survey, row) || heap < HEAP_MIN ||
	    (double)rss < RSS_MIN * (double)heap ||
	    (double)sum->peak_bytes < PATH_MIN * (double)heap)
		return;
	finding = hp_finding_add(survey, &hp_rule_peak, hp_site_name(survey, row));
	is_left = !survey->report->record.is_live && sum->live > 0 &&
		  (double)sum->live_bytes >= LEFT_MIN * (double)sum->peak_bytes;
	finding->advice = advice_of(finding->subject, is_left);
	finding->facts = facts_of(sum, heap, rss, is_left);
	finding->gain_bytes = (uint64_t)sum->peak_bytes;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_alloc_sites_section, hp_site_row(survey, row),
			    hp_xstrdup(finding->facts));
}

const struct hp_rule hp_rule_peak = {
	.key = "peak",
	.find = find,
	.pattern = "The heap's peak is at least 100 MB, one call path has at least 40% of it, and "
		   "the peak RSS is at least 70% of it: the memory was used, not only reserved.",
	.wrong = "All of the data must be there at once.",
	.verify = "Handle the data in pieces, and compare both with hotpath compare.",
};
