/* SPDX-License-Identifier: MIT */
/*
 * small_io.c - reads and writes so small that the calls cost more than the data.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define KERNEL_MIN 0.3	/* of the function, below read and write */
#define CALL_MIN 0.2	/* of that: each call's fixed cost */
#define DATA_MAX 0.45	/* of that: data are copied */
#define WHOLE_MIN 0.6	/* of the function: it does little else */
#define OPEN_MAX 0.2	/* of it, opening and closing: a buffer does not help then */
#define MIXED_MIN 0.1	/* of these calls, for the rarer of reads and writes */
#define DISK_MAX 0.05	/* of the wall time */
/*
 * Of the calls' time, what a fix gains as well: flushes in the C library, and the program's own
 * code, which is slower after each call.  An std::endl for each line had 51 % of the CPU time in
 * write; without it, 62 % less was used.
 */
#define AROUND 0.25

static bool is_small(const struct hp_survey *survey, const struct hp_cost *cost, enum hp_sign mark)
{
	double ns = (double)cost->marked_ns[mark];
	double call = (double)cost->marked_ns[HP_SIGN_CALL];
	double data = (double)cost->marked_ns[HP_SIGN_DATA];

	double opens = (double)(cost->marked_ns[HP_SIGN_OPEN] + cost->marked_ns[HP_SIGN_CLOSE]);

	return hp_cost_is_named(survey, cost) && opens < OPEN_MAX * (double)cost->ns &&
	       cost->marked_samples[mark] >= HP_RULE_SAMPLES_OF &&
	       ns >= KERNEL_MIN * (double)cost->ns && call >= CALL_MIN * ns && data < DATA_MAX * ns;
}

enum way { READS, WRITES, BOTH };

static const struct {
	const char *advice;	/* after the function */
	const char *calls;
} ways[] = {
	[READS] = { "reads very little with each call: use a buffer, or, for random places, map "
		    "the file.",
		    "read" },
	[WRITES] = { "writes very little with each call: collect it in a buffer, and flush it "
		     "rarely.",
		     "write" },
	[BOTH] = { "reads and writes very little with each call: use buffers.", "read and write" },
};

static enum way way_of(const struct hp_cost *cost, double ns)
{
	double share = (double)cost->marked_ns[HP_SIGN_WRITE] / ns;

	return share > 1 - MIXED_MIN ? WRITES : share < MIXED_MIN ? READS : BOTH;
}

static void cost_add(struct hp_survey *survey, const struct hp_cost *cost)
{
	double ns = (double)cost->marked_ns[HP_SIGN_FILE];
	double around = (1 + AROUND) * ns < (double)cost->ns ? (1 + AROUND) * ns : (double)cost->ns;
	bool is_whole = ns >= WHOLE_MIN * (double)cost->ns;
	double gain = hp_survey_worth_hooked(survey, is_whole ? (double)cost->ns : around,
					     (double)cost->hooks_ns);
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	enum way way;
	char *where;

	if (!hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_small_io, cost->function);
	where = hp_finding_where(finding);
	way = way_of(cost, ns);
	finding->advice = hp_xprintf("%s %s", where, ways[way].advice);
	finding->facts = hp_xprintf(
		"%s of CPU time (%s) in %s calls, only %.0f%% of that for the data themselves",
		hp_format_time(&time, ns), hp_survey_share(survey, ns, &share), ways[way].calls,
		100 * (double)cost->marked_ns[HP_SIGN_DATA] / ns);
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, cost->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

static void find(struct hp_survey *survey)
{
	if (!hp_survey_has_samples(survey) ||
	    hp_survey_blocked(survey, "disk") >= DISK_MAX * survey->wall_ns)
		return;
	for (size_t i = 0; i < survey->cost_count; i++)
		if (is_small(survey, &survey->costs[i], HP_SIGN_FILE) &&
		    survey->costs[i].marked_ns[HP_SIGN_SOCKET] <
			    survey->costs[i].marked_ns[HP_SIGN_FILE] / 2)
			cost_add(survey, &survey->costs[i]);
}

const struct hp_rule hp_rule_small_io = {
	.key = "small-io",
	.find = find,
	.pattern =
		"At least 30% of a function's CPU time is spent below read, write, pread, pwrite "
		"or lseek of files and pipes, less than 45% of that on copying data, and at "
		"least 20% on each call's fixed cost; less than 20% on opening and closing files; and there "
		"are hardly any waits for the disk.  If that is 60% "
		"of the function, the gain is all of its CPU time; else that of the calls, and a quarter more for "
		"flushes and for code that is slower after each call.",
	.wrong =
		"The other side needs each piece at once; or the file does not support larger pieces, "
		"like some devices.",
	.verify = "Count the calls: strace -c -e read,write.  Then use stdio or a buffer of 64 KB, "
		  "and compare both with hotpath compare.",
};
