/* SPDX-License-Identifier: MIT */
/*
 * disk_per_record.c - a function waits for the disk again and again.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/cpu/cpu.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define BLOCKED_MIN 0.15	/* of the wall time */
#define SYNCS_MIN 20
#define READS_MIN 50 /* fewer may be a file that was not in the cache */
#define AROUND_MIN 0.1 /* of the gain: less need not be explained */
#define UNKNOWN_MAX 0.2 /* of all blocked time without a stack, to count as measured */

static const struct hp_stall *most_of(const struct hp_survey *survey)
{
	const struct hp_stall *most = NULL;

	for (size_t i = 0; i < survey->stall_count; i++) {
		const struct hp_stall *block = &survey->stalls[i];

		if (strcmp(block->on, "disk") == 0 && block->function != HP_NONE &&
		    (!most || block->ns > most->ns))
			most = block;
	}
	return most;
}

/* A thread that waits for the disk while another one computes does not delay the program. */
static double gain_of(const struct hp_survey *survey, double ns)
{
	double most = survey->wall_ns - (survey->worked > 1 ? survey->ran_ns / survey->cores : 0);

	return ns < most ? ns : most;
}

/*
 * Another way of writing avoids the call. With one thread, everything except its work elsewhere and
 * its waits for other things may be due to these calls: waking up takes time as well.
 */
static double without_syncs_ns(const struct hp_survey *survey, const struct hp_stall *block)
{
	double cpu = hp_survey_cpu_of(survey, block->function);
	double gain = (double)block->ns + hp_survey_worth(survey, cpu), rest;

	if (survey->worked > 1 || survey->has_programs || survey->cpu_ns <= 0)
		return gain;
	rest = survey->ran_ns * (1 - cpu / survey->cpu_ns);
	for (size_t i = 0; i < survey->stall_count; i++)
		if (strcmp(survey->stalls[i].on, "disk") != 0 &&
		    strcmp(survey->stalls[i].on, "-") != 0)
			rest += (double)survey->stalls[i].ns;
	return survey->wall_ns - rest > gain ? survey->wall_ns - rest : gain;
}

/* Of a function that does not wait for its own fsync. */
static const char *advice_of(const struct hp_stall *block)
{
	if (block->write_ns > block->ns / 2)
		return "waits for the disk in writes: write less, or let another thread do it.";
	if (block->file_ns > block->ns / 2)
		return "waits for the disk when it opens, creates or removes files: use fewer and "
		       "larger ones.";
	return "waits for the disk: read ahead, or read larger pieces.";
}

static char *facts_of(const struct hp_stall *block, double gain)
{
	struct hp_text_cell count, waits, time;
	const char *mark = hp_stall_mark(block);
	double around = gain - (double)block->ns;

	hp_format_count(&count, block->waits);
	hp_format_time(&waits, (double)block->ns);
	if (around < AROUND_MIN * gain)
		return hp_xprintf("%s%s waits for the disk, %s%s in all", mark, count.text, mark,
				  waits.text);
	return hp_xprintf("%s%s waits for the disk, %s%s in all, and up to %s around them", mark,
			  count.text, mark, waits.text, hp_format_time(&time, around));
}

static void find(struct hp_survey *survey)
{
	const struct hp_stall *block = most_of(survey);
	double blocked, gain;
	struct hp_finding *finding;
	char *where;

	if (!block || !hp_owner_is_named(survey->report, block->function))
		return;
	blocked = (double)block->ns;
	gain = blocked;
	if (block->is_sync)
		gain = without_syncs_ns(survey, block);
	gain = gain_of(survey, gain);
	if (blocked < BLOCKED_MIN * survey->wall_ns || !hp_survey_is_worth(survey, gain) ||
	    block->waits < (block->is_sync ? SYNCS_MIN : READS_MIN))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_disk_per_record, block->function);
	where = hp_finding_where(finding);
	finding->advice =
		block->is_sync
			? hp_xprintf(
				  "Write many records per fsync: %s waits for the disk again and again.",
				  where)
			: hp_xprintf("%s %s", where, advice_of(block));
	finding->facts = facts_of(block, gain);
	finding->gain_ns = gain;
	finding->confidence =
		block->is_sync && hp_stall_is_measured(block) &&
				hp_survey_blocked(survey, "-") <
					UNKNOWN_MAX * (double)survey->report->model.sampling.record
							      .blocked_ns
			? HP_MEASURED
			: HP_LIKELY;
	hp_finding_evidence(finding, &hp_offcpu_section, hp_survey_row(survey, block->function),
			    hp_xprintf("%s, blocked on disk%s", finding->facts,
				       block->is_sync ? ", in fsync or fdatasync" : ""));
	free(where);
}

static const struct hp_rule_over over[] = { { "small-io", true }, { NULL, false } };

const struct hp_rule hp_rule_disk_per_record = {
	.key = "disk-per-record",
	.find = find,
	.over = over,
	.pattern =
		"A function is blocked on the disk for at least 15% of the wall time, at least 50 "
		"times, or in fsync, fdatasync or similar calls at least 20 times.  The gain is the "
		"blocked time; with fsync, since a different way of writing avoids the call, also "
		"the function's CPU time, and with one thread everything except its work "
		"elsewhere.",
	.wrong = "Each record must be on disk before the next one may be written; or the data "
		 "were not in the cache, and are read only once.",
	.verify = "Write some records before each fsync (or one transaction for all of them), and "
		  "compare both with hotpath compare.  For reads: run it twice, the second time "
		  "with the files cached.",
};
