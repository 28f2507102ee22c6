/* SPDX-License-Identifier: MIT */
/*
 * peak.c - one call path holds most of the memory at the peak.
 */
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/finding/site.h"

#define HEAP_MIN (UINT64_C(100) << 20)
#define PATH_MIN 0.4 /* of the heap's peak */
#define RSS_MIN 0.7 /* of the heap's peak: requested memory was used */

static void find(struct hp_survey *survey)
{
	const struct hp_alloc_sum *sum;
	struct hp_alloc_row *row = hp_site_most(survey, HP_SITE_PEAK, &sum);
	uint64_t heap = survey->answer->heap_peak;
	double rss = 1024 * (double)survey->report->model.peak_rss_kb;
	struct hp_finding *finding;
	struct hp_text_cell bytes, all, resident;

	if (!row || !hp_site_is_named(survey, row) || heap < HEAP_MIN ||
	    rss < RSS_MIN * (double)heap || (double)sum->peak_bytes < PATH_MIN * (double)heap)
		return;
	finding = hp_finding_add(survey, &hp_rule_peak, hp_site_name(survey, row));
	finding->advice = hp_xprintf("Hold less at once: %s holds most of the memory at its peak.",
				     finding->subject);
	finding->facts =
		hp_xprintf("%s of %s on the heap; peak RSS %s",
			   hp_format_bytes(&bytes, (uint64_t)sum->peak_bytes),
			   hp_format_bytes(&all, heap), hp_format_bytes(&resident, (uint64_t)rss));
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
