/* SPDX-License-Identifier: MIT */
/*
 * lines.c - see lines.h.
 */
#include "report/compare/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "report/base/memory.h"
#include "report/section/core/section.h"

#define SIDE_BY_SIDE 5	/* rows of times, where none is judged */

/* --- numbers --- */

static void value_write(struct hp_text_cell *cell, enum hp_compare_unit unit, double value)
{
	if (isnan(value))
		strcpy(cell->text, "?");
	else if (unit == HP_COMPARE_TIME)
		hp_format_time(cell, fabs(value));
	else if (unit == HP_COMPARE_BYTES)
		hp_format_bytes(cell, hp_whole(fabs(value)));
	else
		hp_format_count(cell, hp_whole(fabs(value)));
}

static void cells_fill(struct hp_compare_line *line)
{
	const struct hp_compare_row *row = line->row;
	enum hp_compare_unit unit = row->measure->unit;
	double percent = hp_compare_percent(row), change = row->b - row->a;
	struct hp_text_cell value;

	value_write(&line->a, unit, row->a);
	value_write(&line->b, unit, row->b);
	/* Two different numbers that look the same: with all their digits. */
	if (unit == HP_COMPARE_BYTES && change != 0 && !isnan(change) &&
	    strcmp(line->a.text, line->b.text) == 0) {
		snprintf(line->a.text, sizeof(line->a.text), "%s B",
			 hp_format_count(&value, hp_whole(row->a)));
		snprintf(line->b.text, sizeof(line->b.text), "%s B",
			 hp_format_count(&value, hp_whole(row->b)));
	}
	value_write(&value, unit, change);
	snprintf(line->change.text, sizeof(line->change.text), "%s%.40s", change < 0 ? "-" : "+",
		 value.text);
	if (isnan(percent) || change == 0)
		strcpy(line->change.text, change == 0 ? "0" : "");
	if (isfinite(percent) && change != 0)
		snprintf(line->percent.text, sizeof(line->percent.text), "%+.*f%%",
			 fabs(percent) < 0.1 ? 3 : 1, percent);
	else if (isinf(percent))
		strcpy(line->percent.text, "new");
}

/* --- failures --- */

static double total_of(const struct hp_compare *compare, const struct hp_compare_measure *measure)
{
	double a = 0, b = 0;

	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].measure == measure) {
			a += isnan(compare->rows[i].a) ? 0 : compare->rows[i].a;
			b += isnan(compare->rows[i].b) ? 0 : compare->rows[i].b;
		}
	return fmax(a, b);
}

bool hp_compare_fails(const struct hp_compare *compare, const struct hp_compare_row *row,
		      const struct hp_compare_ask *ask)
{
	const struct hp_policy_rule *rule = hp_policy_of(&ask->policy, row);

	if (rule)
		return hp_policy_fails(rule, row);
	if (ask->above < 0 || (row->verdict != HP_COMPARE_MORE && row->verdict != HP_COMPARE_NEW))
		return false;
	return hp_compare_percent(row) > ask->above &&
	       fmax(row->a, row->b) >= ask->least / 100 * total_of(compare, row->measure);
}

/* --- lines --- */

static char *remark_of(const struct hp_compare *compare, const struct hp_compare_row *row)
{
	const char *fit = !isnan(row->unseen) ? "" : "; no change could be detected";

	switch (row->verdict) {
	case HP_COMPARE_GONE:
		return hp_xstrdup("gone");
	case HP_COMPARE_UNSURE:
		return hp_xstrdup(row->is_varying ? "unsure, it varies"
						  : "unsure, 1 run of threads");
	case HP_COMPARE_UNJUDGED:
		return hp_xstrdup(compare->refused ? "not judged" : "too small to judge");
	case HP_COMPARE_UNKNOWN:
		return hp_xstrdup("unknown: a report is limited");
	default:
		break;
	}
	if (!hp_compare_is_time(row->measure) || isnan(row->chance))
		return hp_xstrdup("");
	if (row->verdict == HP_COMPARE_SAME)
		return hp_xprintf("no change%s", fit);
	if (!isnan(row->relative))
		return hp_xprintf("against other functions, chance %.2g%s", row->chance,
				  compare->is_weak ? ", weak" : "");
	return hp_xprintf("chance %.2g%s", row->chance, compare->is_weak ? ", weak" : "");
}

static void line_add(struct hp_compare_lines *lines, const struct hp_compare *compare,
		     const struct hp_compare_row *row, const struct hp_compare_ask *ask)
{
	struct hp_compare_line line = { .row = row, .remark = remark_of(compare, row) };

	cells_fill(&line);
	if (hp_compare_fails(compare, row, ask)) {
		char *failed = hp_xprintf("%s%sFAILS", line.remark, *line.remark ? ", " : "");

		free(line.remark);
		line.remark = failed;
	}
	lines->list = hp_xgrow(lines->list, lines->count, &lines->room, sizeof(line));
	lines->list[lines->count++] = line;
}

/* Counts that differ, unsure ones last. */
static void counts_list(struct hp_compare_text *text, const struct hp_compare *compare,
			const struct hp_compare_ask *ask)
{
	size_t left_out = 0, all = 0, paths = 0;

	for (int unsure = 0; unsure < 2; unsure++)
		for (size_t i = 0; i < compare->row_count; i++) {
			const struct hp_compare_row *row = &compare->rows[i];
			bool is_told = unsure ? row->verdict == HP_COMPARE_UNSURE
					      : hp_compare_is_change(row);

			if (hp_compare_is_time(row->measure))
				continue;
			all += !unsure && !row->measure->is_detail;
			/* Every comparison would mention this figure, because of the machine's
			 * part in it. */
			is_told &= !unsure || row->measure->kind == HP_COMPARE_EXACT;
			if (!is_told)
				continue;
			if (row->measure->is_detail && !ask->is_all)
				paths++;
			else if (ask->rows && text->counts.count >= ask->rows)
				left_out++;
			else
				line_add(&text->counts, compare, row, ask);
		}
	if (left_out)
		text->counts.note = hp_xprintf("%zu more differ: --limit=0 lists them.", left_out);
	else if (text->counts.count)
		text->counts.note = hp_xprintf("No other of the %zu counts differs.%s", all,
					       paths ? " --all lists the call paths." : "");
	else
		text->counts.note = hp_xprintf("None of %zu counts differs.", all);
}

/* For the judged rows: the smallest change that would have been detected. */
static char *unseen_text(const struct hp_compare *compare)
{
	double least = INFINITY, most = 0;
	size_t blind = 0, count = 0;

	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hp_compare_row *row = &compare->rows[i];

		if (isnan(row->chance) || row->verdict != HP_COMPARE_SAME)
			continue;
		count++;
		blind += isnan(row->unseen);
		if (!isnan(row->unseen)) {
			least = fmin(least, row->unseen);
			most = fmax(most, row->unseen);
		}
	}
	if (!count)
		return hp_xstrdup("");
	if (blind == count)
		return hp_xstrdup("No change of any size could be detected: make more runs.");
	if (blind)
		return hp_xprintf(
			"None of %zu figures differs beyond chance; a change below %.0f%% would "
			"not be seen, nor one of any size in %zu of them: make more runs.",
			count, 100 * least, blind);
	if (most - least < 0.015)
		return hp_xprintf("None of %zu figures differs beyond chance; a change below about "
				  "%.0f%% would not be seen.",
				  count, 100 * most);
	return hp_xprintf(
		"None of %zu figures differs beyond chance; a change below %.0f%% to %.0f%%, by "
		"figure, would not be seen.",
		count, 100 * least, 100 * most);
}

static int compare_weights(const void *left, const void *right)
{
	const struct hp_compare_row *a = *(struct hp_compare_row *const *)left;
	const struct hp_compare_row *b = *(struct hp_compare_row *const *)right;
	double weight_a = fmax(a->a, a->b), weight_b = fmax(b->a, b->b);

	if (!(weight_a == weight_b))
		return weight_a > weight_b || isnan(weight_b) ? -1 : 1;
	return a < b ? -1 : 1;
}

/* If no verdict is possible: the largest rows, side by side. */
static void largest_list(struct hp_compare_text *text, const struct hp_compare *compare,
			 const struct hp_compare_ask *ask)
{
	const struct hp_compare_row **rows = hp_xcalloc(compare->row_count + 1, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].measure->section &&
		    hp_compare_is_time(compare->rows[i].measure))
			rows[count++] = &compare->rows[i];
	if (count)
		qsort(rows, count, sizeof(*rows), compare_weights);
	for (size_t i = 0; i < count && (i < SIDE_BY_SIDE || !ask->rows); i++)
		line_add(&text->times, compare, rows[i], ask);
	free(rows);
}

static void times_list(struct hp_compare_text *text, const struct hp_compare *compare,
		       const struct hp_compare_ask *ask)
{
	size_t left_out = 0;

	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hp_compare_row *row = &compare->rows[i];

		if (!hp_compare_is_time(row->measure) ||
		    (row->measure->section && !hp_compare_is_change(row)))
			continue;
		if (ask->rows && text->times.count >= ask->rows)
			left_out++;
		else
			line_add(&text->times, compare, row, ask);
	}
	if (compare->refused) {
		largest_list(text, compare, ask);
		text->times.note = hp_xprintf("Not judged: %s.", compare->refused);
		return;
	}
	text->times.note = unseen_text(compare);
	if (left_out) {
		free(text->times.note);
		text->times.note = hp_xprintf("%zu more differ: --limit=0 lists them.", left_out);
	}
}

/* --- the sides --- */

/* "exit status 1", if that is how all of its runs ended; "" = 0, or not known. */
static char *status_text(const struct hp_compare_side *side)
{
	double status = side->count ? side->runs[0].status : NAN;

	for (size_t i = 0; i < side->count; i++)
		if (side->runs[i].status != status && !isnan(side->runs[i].status))
			return hp_xstrdup(", not all of them ended alike");
	if (isnan(status) || status == 0)
		return hp_xstrdup("");
	if (WIFSIGNALED((int)status))
		return hp_xprintf(", ended by signal %d", WTERMSIG((int)status));
	return hp_xprintf(", exit status %d", WEXITSTATUS((int)status));
}

static char *side_text(const struct hp_compare_side *side)
{
	char *status = status_text(side), *text;
	char *clean = hp_text_clean(side->name);

	text = hp_xprintf("%s, %zu run%s%s", clean, side->count, side->count == 1 ? "" : "s",
			  status);
	free(clean);
	free(status);
	return text;
}

/* One run of each cannot show natural variation. */
static const char *single_note(const struct hp_compare *compare, const struct hp_compare_text *text)
{
	bool is_single = compare->a.count < 2 || compare->b.count < 2;

	return is_single && text->counts.count
		       ? "With one run a side, counts that vary from run to run (time, hash "
			 "seeds) look like a change: --runs=3 tells them apart.\n"
		       : "";
}

static char *notes_text(const struct hp_compare *compare, const struct hp_compare_text *text)
{
	char *notes = hp_xstrdup(single_note(compare, text));

	for (size_t i = 0; i < hp_compare_measure_count; i++) {
		const struct hp_section *section = hp_compare_measures[i].section;
		const char *why = compare->sections[i];
		char *more;

		if (!why || strcmp(why, "not recorded") == 0 ||
		    hp_compare_measures[i].kind == HP_COMPARE_SAMPLED ||
		    (i && section == hp_compare_measures[i - 1].section))
			continue;
		more = hp_xprintf("%s%s: left out, %s.\n", notes, section ? section->key : "total",
				  why);
		free(notes);
		notes = more;
	}
	return notes;
}

void hp_compare_text_init(struct hp_compare_text *text, const struct hp_compare *compare,
			  const struct hp_compare_ask *ask)
{
	*text = (struct hp_compare_text){
		.a = side_text(&compare->a),
		.b = side_text(&compare->b),
	};
	counts_list(text, compare, ask);
	times_list(text, compare, ask);
	text->notes = notes_text(compare, text);
}

static void lines_release(struct hp_compare_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		free(lines->list[i].remark);
	free(lines->list);
	free(lines->note);
}

void hp_compare_text_release(struct hp_compare_text *text)
{
	free(text->a);
	free(text->b);
	lines_release(&text->counts);
	lines_release(&text->times);
	free(text->notes);
}
