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
#define LARGE (UINT64_C(1) << 30) /* a heap that is worth a look, whatever it is for */
#define GROWING_MIN 1000 /* blocks: it is a container that grows, not some buffers */
#define GROWN_MIN 0.9 /* of all bytes that the path ever allocated: there at the peak */
#define YOUNG_MAX 0.25 /* of the wall time */
#define YOUNG_MIN 0.1 /* of its blocks */
#define FAULTS_MIN 0.5 /* of the CPU time: page faults */
#define LEFT_MIN 0.9 /* of the path's bytes at the peak: it was not freed before the end */

/*
 * Nothing was freed before the peak, however many blocks were added; and they were added all the
 * time, not at once: some of those that are freed at the end are young, and some are old.
 */
static bool is_growing(struct hp_survey *survey, struct hp_alloc_row *row,
		       const struct hp_alloc_sum *sum)
{
	double young = hp_site_short_share(survey, row, YOUNG_MAX * survey->wall_ns);

	return sum->count >= GROWING_MIN &&
	       (double)sum->peak_bytes >= GROWN_MIN * (double)sum->bytes &&
	       (young < 0 || (young >= YOUNG_MIN && young <= 1 - YOUNG_MIN));
}

/* To touch it for the first time takes a good part of the CPU time. */
static bool is_costly(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_FAULT];
	return ns > 0 && hp_survey_is_part(survey, ns, FAULTS_MIN);
}

static char *advice_of(const char *path, bool is_left, bool is_adding)
{
	if (is_adding)
		return hp_xprintf("%s allocates, and nothing was freed before memory "
				  "peaked.  If not all are needed, remove old ones.",
				  path);
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
	bool is_left, is_adding;

	if (!row || !hp_site_is_named(survey, row) || heap < HEAP_MIN ||
	    (double)rss < RSS_MIN * (double)heap ||
	    (double)sum->peak_bytes < PATH_MIN * (double)heap)
		return;
	is_adding = is_growing(survey, row, sum);
	/* Some blocks that are there until the end are simply its data. */
	if (heap < LARGE && !is_adding && !is_costly(survey))
		return;
	finding = hp_finding_add(survey, &hp_rule_peak, hp_site_name(survey, row));
	is_left = !survey->report->record.is_live && sum->live > 0 &&
		  (double)sum->live_bytes >= LEFT_MIN * (double)sum->peak_bytes;
	finding->advice = advice_of(finding->subject, is_left, is_adding);
	finding->facts = facts_of(sum, heap, rss, is_left);
	finding->gain_bytes = (uint64_t)sum->peak_bytes;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_alloc_sites_section, hp_site_row(survey, row),
			    hp_xstrdup(finding->facts));
}

const struct hp_rule hp_rule_peak = {
	.key = "peak",
	.find = find,
	.pattern =
		"The heap's peak is at least 100 MB, one call path has at least 40% of it, and "
		"the peak RSS is at least 70% of it: the memory was used, not only reserved.  "
		"Below 1 GiB only if the path never frees (1,000 blocks or more, 90% of all of "
		"its bytes are there at the peak, and when they are freed, a tenth of them are younger than a "
		"quarter of the run, and a tenth older), or if page faults take half of the CPU time.",
	.wrong = "All of the data must be there at once.",
	.verify = "Handle the data in pieces, and compare both with hotpath compare.",
};
