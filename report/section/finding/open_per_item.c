/* SPDX-License-Identifier: MIT */
/*
 * open_per_item.c - a file is opened and closed for each line or item.
 *
 * Opening many files looks the same in samples.  The stand-ins of fopen count each place's FILEs,
 * and how many of them had the name of the first one.  For other calls that is unknown, so there the
 * advice has a condition.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/short.h"
#include "report/name/symbol.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"
#include "report/section/stream/stream.h"

#define OPEN_MIN 0.1 /* of the function: opening files */
#define BOTH_MIN 0.2 /* of it: opening and closing them */
#define WHOLE_MIN 0.6 /* of it, with reading and writing: it does little else */
#define FILES_MIN 100 /* FILEs that the function opened */
#define ENTRIES_MAX 100 /* of directories: beyond, files are opened because they are there */

/* FILEs that a function opened. */
struct opened {
	uint64_t count;
	uint64_t same;	/* of those: the same file as the first one at that place */
	const struct hp_stream_row *most;	/* the place with most of them */
};

static bool is_file(const struct hp_stream_row *row)
{
	return row->origin == HP_STREAM_OPENED &&
	       (row->kind == HP_STREAM_FILE || row->kind == HP_STREAM_WRITTEN);
}

/* NULL = of the C++ library. */
static bool is_in(struct hp_report *report, const struct hp_stream_row *row, const char *function)
{
	const struct hp_symbol_spot *spot = hp_stream_spot(report, row);
	char *name;
	bool is_it;

	if (!spot || !spot->name)
		return false;
	if (!function)
		return strncmp(spot->name, "std::", 5) == 0;
	name = hp_answer_name(report, spot->name);
	is_it = strcmp(name, function) == 0;
	free(name);
	return is_it;
}

/* NULL: those that the C++ library opened for any function. */
static struct opened opened_in(struct hp_survey *survey, const char *function)
{
	const struct hp_streams *streams = hp_streams_of(survey->report);
	struct opened opened = { .count = 0 };

	for (size_t i = 0; i < streams->all; i++) {
		const struct hp_stream_row *row = &streams->rows[i];

		if (!is_file(row) || !is_in(survey->report, row, function))
			continue;
		opened.count += row->instances;
		opened.same += row->same;
		if (row->path && (!opened.most || row->same > opened.most->same))
			opened.most = row;
	}
	return opened;
}

static struct opened opened_by(struct hp_survey *survey, uint32_t function)
{
	char *name = hp_answer_function(survey->report, function);
	struct opened opened = opened_in(survey, name);

	free(name);
	return opened.count ? opened : opened_in(survey, NULL);
}

/* The program walks directories. */
static bool has_entries(struct hp_survey *survey)
{
	const struct hp_streams *streams = hp_streams_of(survey->report);
	uint64_t entries = 0;

	for (size_t i = 0; i < streams->count; i++)
		if (streams->rows[i].kind == HP_STREAM_DIR)
			entries += streams->rows[i].items;
	return entries > ENTRIES_MAX;
}

static bool is_pattern(const struct hp_survey *survey, const struct hp_cost *cost)
{
	double opens = (double)cost->marked_ns[HP_SIGN_OPEN];
	double closes = (double)cost->marked_ns[HP_SIGN_CLOSE];

	return hp_cost_is_named(survey, cost) && opens + closes >= HP_GAIN_MIN * survey->cpu_ns &&
	       opens >= OPEN_MIN * (double)cost->ns &&
	       opens + closes >= BOTH_MIN * (double)cost->ns &&
	       cost->marked_samples[HP_SIGN_OPEN] + cost->marked_samples[HP_SIGN_CLOSE] >=
		       HP_RULE_SAMPLES_OF;
}

/*
 * Of all functions, since another one may close the file (or be said to: a call at the end of a
 * function is a jump).  A file that stays open needs no reads and writes of its own for each item,
 * either.
 */
static double gain_of(const struct hp_survey *survey)
{
	double sum = 0;

	for (size_t i = 0; i < survey->cost_count; i++) {
		const struct hp_cost *cost = &survey->costs[i];
		double ns =
			(double)(cost->marked_ns[HP_SIGN_OPEN] + cost->marked_ns[HP_SIGN_CLOSE]);
		double all = (double)cost->ns;

		if (ns >= BOTH_MIN * all)
			ns += (double)cost->marked_ns[HP_SIGN_FILE];
		sum += ns >= WHOLE_MIN * all ? all : ns;
	}
	return hp_survey_worth(survey, sum);
}

static char *file_of(const struct opened *opened)
{
	const char *slash = strrchr(opened->most->path, '/');

	return hp_text_clean(slash && slash[1] ? slash + 1 : opened->most->path);
}

static void texts_set(struct hp_finding *finding, const struct opened *opened, char *cpu)
{
	char *where = hp_finding_where(finding), *file;
	struct hp_text_cell count;

	if (opened->most) {
		file = file_of(opened);
		finding->advice = hp_xprintf("%s opens and closes %s for each item: keep it open.",
					     where, file);
		finding->facts = hp_xprintf("opened %s times; %s",
					    hp_format_count(&count, opened->same), cpu);
		finding->confidence = HP_MEASURED;
		free(file);
	} else {
		finding->advice = hp_xprintf(
			"%s opens and closes a file for each item: keep it open, if it is always "
			"the same.",
			where);
		finding->facts = hp_xstrdup(cpu);
		finding->confidence = HP_POSSIBLE;
	}
	free(where);
}

/* A share that would be 0% is left out. */
static char *cpu_text(const struct hp_survey *survey, double opens, double closes)
{
	struct hp_text_cell open_time, close_time, open_share, close_share;

	hp_format_time(&open_time, opens);
	hp_survey_share(survey, opens, &open_share);
	if (closes < 0.005 * survey->cpu_ns)
		return hp_xprintf("opening takes %s of CPU time (%s)", open_time.text,
				  open_share.text);
	return hp_xprintf("opening takes %s of CPU time (%s), closing %s (%s)", open_time.text,
			  open_share.text, hp_format_time(&close_time, closes),
			  hp_survey_share(survey, closes, &close_share));
}

static void cost_add(struct hp_survey *survey, const struct hp_cost *cost,
		     const struct opened *opened)
{
	char *cpu = cpu_text(survey, (double)cost->marked_ns[HP_SIGN_OPEN],
			     (double)cost->marked_ns[HP_SIGN_CLOSE]);
	struct hp_finding *finding =
		hp_finding_add_function(survey, &hp_rule_open_per_item, cost->function);

	texts_set(finding, opened, cpu);
	finding->gain_ns = gain_of(survey);
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, cost->function),
			    hp_xstrdup(finding->facts));
	free(cpu);
}

static void find(struct hp_survey *survey)
{
	for (size_t i = 0; i < survey->cost_count && hp_survey_has_samples(survey); i++) {
		const struct hp_cost *cost = &survey->costs[i];
		struct opened opened;

		if (!is_pattern(survey, cost) || !hp_survey_is_worth(survey, gain_of(survey)))
			continue;
		opened = opened_by(survey, cost->function);
		if (opened.count ? opened.same < FILES_MIN || 2 * opened.same < opened.count
				 : has_entries(survey))
			continue;
		cost_add(survey, cost, &opened);
	}
}

static const struct hp_rule_over over[] = {
	{ "small-io", .is_of_subject = true },
	{ .rule = NULL },
};

const struct hp_rule hp_rule_open_per_item = {
	.key = "open-per-item",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of a function's CPU time is spent in opening files, and 20% in opening "
		"and closing them.  If it calls fopen, it opened the same file at least 100 times, "
		"and no other files more often; otherwise that is unknown, so the finding is only "
		"possible, and there is none in programs that read directories.  The gain is the "
		"CPU time for opening, closing, reading and writing in all functions with the "
		"pattern, and all of a function's if that is 60% of it.",
	.wrong = "The files differ, or another process replaces the file meanwhile.",
	.verify =
		"Count the calls and look at the names: strace -e openat.  Then open the file once "
		"(and flush it where others must see each line), and compare both with hotpath "
		"compare.",
};
